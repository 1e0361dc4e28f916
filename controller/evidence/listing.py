"""Word lists as they are read best: words in a text, a row or a word at a time."""

from __future__ import annotations


def listed(text: str, separator: str | None = None) -> tuple[str, ...]:
    """Return what a text lists, white space made one space: words, or rows between separators."""
    return tuple(" ".join(part.split()) for part in text.split(separator))
