"""Contradictions that were planted, and a manual that has none: what the loop makes of both."""
