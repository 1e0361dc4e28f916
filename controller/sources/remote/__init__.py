"""Remote sources: one adapter a type, each behind the port `Source` (docs/sources.md)."""
