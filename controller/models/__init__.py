"""Models: implementations of the `Model` port."""
