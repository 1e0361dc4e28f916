"""Reads a journal from a file of JSON lines, as `fixpoint trace` and `run --log` write it.

A file may end in the middle of a line: its writer was killed, or it was cut on its way. What is
whole is taken, and the torn end is told of once. Anything else that is no step is a journal that
cannot be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from controller.api.errors import JournalError, UserError
from controller.api.step import ResearchStep
from controller.loop.migration import MIGRATIONS, Migration, read_step
from controller.store.validation import faults

_OBJECT: Final = TypeAdapter(dict[str, Any])


@dataclass(frozen=True)
class JournalFile:
    """The steps of a file, and what is wrong with its end, if anything is."""

    steps: tuple[ResearchStep, ...]
    torn: str | None = None


def read_journal_file(path: Path) -> JournalFile:
    """Return the steps of a file.

    Raises:
        UserError: it cannot be read.
        JournalError: a whole line of it is no step that can be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"the journal {path} cannot be read: {error.strerror}; name a file that "
            "`fixpoint trace` wrote"
        ) from error
    return parse_journal(data)


def parse_journal(data: bytes, migrations: Mapping[int, Migration] = MIGRATIONS) -> JournalFile:
    """Return the steps of a journal in JSON lines.

    A last line without its newline is taken if it is a whole object, which no beginning of one
    is; it is told of as torn either way.

    Raises:
        JournalError: a whole line is no step that can be read.
    """
    *lines, tail = data.split(b"\n")
    steps = [
        _step(_parsed(line, number), number, migrations)
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    number = len(lines) + 1
    if not tail.strip():
        return JournalFile(tuple(steps))
    try:
        stored = _OBJECT.validate_json(tail)
    except ValidationError:
        torn = f"line {number} is torn after {len(tail)} bytes; it is left out"
        return JournalFile(tuple(steps), torn)
    steps.append(_step(stored, number, migrations))
    torn = f"line {number} lacks its newline; it is whole, and taken"
    return JournalFile(tuple(steps), torn)


def _parsed(line: bytes, number: int) -> dict[str, Any]:
    try:
        return _OBJECT.validate_json(line)
    except ValidationError as error:
        raise JournalError("UnreadableStep", f"line {number} is no JSON object") from error


def _step(stored: dict[str, Any], number: int, migrations: Mapping[int, Migration]) -> ResearchStep:
    try:
        return read_step(stored, migrations)
    except ValidationError as error:
        raise JournalError(
            "UnreadableStep", f"line {number} is no step: {'; '.join(faults(error))}"
        ) from error
