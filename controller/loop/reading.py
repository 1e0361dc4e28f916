"""What becomes of a hit that cannot be read: which errors close it, and what that proves.

An error of a document says something of that document alone: it is closed for the round, and its
source is asked on. Where an answer may stand in what was not read, nothing is certified absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.api.records import ReadRecord
from controller.loop.found import Found
from controller.loop.intents import ReadArguments
from controller.loop.status import shortened

BARS_ABSENCE: Final[Mapping[str, bool]] = {
    "DocumentMissing": False,
    "Gone": False,
    "UnsupportedType": False,
    "Forbidden": True,
    "TooLarge": True,
    "Encrypted": True,
    "NoTextLayer": True,
    "PartialText": True,
    "RobotsDisallowed": True,
    "BadCharset": True,
    "SoftFailure": True,
    "BlockedAddress": True,
    "Unreadable": True,
}
"""The error classes that close a hit, and whether an answer may stand in it (docs/sources.md)."""

_MAX_MESSAGE: Final = 1024


def closed(arguments: ReadArguments, error_class: str, message: str) -> Found:
    """Return the record of a hit that is not read again in the round.

    A class that is not in the table is a failure of the source: an answer may stand in the hit.
    """
    message = shortened(message, _MAX_MESSAGE)
    record = ReadRecord(
        source_name=arguments.source_name,
        question_id=arguments.question_id,
        locator=arguments.locator,
        closed_by=error_class,
        bars_absence=BARS_ABSENCE.get(error_class, True),
        message=message,
    )
    return Found(summary=f"closed: {message}", read=record)
