"""The part of `report.json` that says where sources give one thing different values."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from controller.api.base import ApiModel, Count, Title


class Ruling(StrEnum):
    """Why one value of several stands first, or that none does."""

    QUALIFIERS = "Qualifiers"
    PRIORITY = "Priority"
    MAJORITY = "Majority"
    CONTESTED = "Contested"


class ValueKind(StrEnum):
    """What a value is; only values of one kind are compared."""

    NUMBER = "Number"
    DATE = "Date"
    BOOLEAN = "Boolean"
    VERSION = "Version"
    WORD = "Word"


class ReportValue(ApiModel):
    """One of the values: as its source writes it, and the numbers of its references.

    `qualifiers` are the versions and dates that it is said for.
    """

    value: Title
    citations: Annotated[tuple[Count, ...], Field(max_length=128)] = ()
    origins: Count
    qualifiers: Annotated[tuple[Title, ...], Field(max_length=32)] = ()


class ReportDisagreement(ApiModel):
    """Different values of one attribute of one subject, the preferred one first.

    `subject` are the names in the headings above it, outermost first, and the name itself.
    """

    subject: Annotated[tuple[Title, ...], Field(min_length=1, max_length=32)]
    attribute: Title
    kind: ValueKind
    ruling: Ruling
    values: Annotated[tuple[ReportValue, ...], Field(min_length=2, max_length=64)]
