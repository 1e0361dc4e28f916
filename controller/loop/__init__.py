"""The loop, pure: fold the journal, assess it against the spec, decide, and show it as status."""
