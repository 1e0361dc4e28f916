"""DebDocs-R: questions over public manuals with gold that scripts make (docs/benchmark.md)."""
