"""Why a file is no document: the classes of what can be wrong with it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class DocumentFault(StrEnum):
    """The classes of unreadable documents; docs/readers.md explains each."""

    UNSUPPORTED_TYPE = "UnsupportedType"
    BAD_CHARSET = "BadCharset"
    TOO_LARGE = "TooLarge"
    MALFORMED = "Malformed"
    ENCRYPTED = "Encrypted"
    NO_TEXT_LAYER = "NoTextLayer"
    PARTIAL_TEXT = "PartialText"


_HIDES_NOTHING: Final = frozenset({DocumentFault.UNSUPPORTED_TYPE})


class UnreadableDocumentError(Exception):
    """A file cannot be a document: the class of what is wrong, the rule it breaks, the mend."""

    def __init__(self, fault: DocumentFault, rule: str, mend: str) -> None:
        super().__init__(f"{rule}; {mend}")
        self.fault = fault
        self.rule = rule
        self.mend = mend

    @property
    def bars_absence(self) -> bool:
        """Whether an answer may be hidden in the file: then nothing is certified absent."""
        return bars_absence(self.fault)


def bars_absence(fault: DocumentFault) -> bool:
    """Say whether a fault may hide text: all do but that of a file that is no text at all."""
    return fault not in _HIDES_NOTHING
