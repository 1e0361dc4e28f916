"""The lines of `report.md` that put side by side what sources say differently."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.evidence.markdown_text import escape, table
from controller.evidence.report_disagreements import ReportDisagreement, ReportValue, Ruling

_WHY: Final[dict[Ruling, str]] = {
    Ruling.QUALIFIERS: "They are said for different versions or dates, and both are kept.",
    Ruling.PRIORITY: "The first is that of the source with the highest priority.",
    Ruling.MAJORITY: "The first is what most of the distinct origins say.",
    Ruling.CONTESTED: "Nothing tells which of them is right.",
}


def render_disagreement(disagreement: ReportDisagreement) -> Iterator[str]:
    """Yield a sentence on what differs and why it stands so, and a table of the values."""
    *above, name = map(escape, disagreement.subject)
    owner = f" of {' and '.join(above)}" if above else ""
    yield (
        f"The sources give {name}{owner} different values of “{escape(disagreement.attribute)}”. "
        f"{_WHY[disagreement.ruling]}"
    )
    yield ""
    columns = 4 if any(value.qualifiers for value in disagreement.values) else 3
    head = ("Value", "Said by", "Origins", "For")
    yield from table(head[:columns], (_row(value)[:columns] for value in disagreement.values))


def said_values(disagreement: ReportDisagreement) -> str:
    """Return the values on one line, each with its references."""
    return " or ".join(
        " ".join((escape(v.value), _numbers(v))).strip() for v in disagreement.values
    )


def _row(value: ReportValue) -> tuple[str, ...]:
    qualifiers = ", ".join(map(escape, value.qualifiers))
    return escape(value.value), _numbers(value), str(value.origins), qualifiers


def _numbers(value: ReportValue) -> str:
    return " ".join(f"[{number}]" for number in value.citations)
