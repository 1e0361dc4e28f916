"""The tables of reasons, made from `controller.api.reasons`: for the docs and the README."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.api.reasons import TERMINAL, TerminalReason
from controller.loop.decide import GUARDS


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def terminal_reasons_page() -> str:
    """Return `docs/terminal-reasons.md`."""
    rows = [
        (
            f"`{reason}`",
            "True" if reason is TerminalReason.GOAL_REACHED else "False",
            str(ending.exit_code.value),
            ending.meaning,
            ending.remedy,
        )
        for reason, ending in TERMINAL.items()
    ]
    return (
        "# Terminal reasons\n\n"
        "<!-- Generated from controller/api/reasons.py by `make docs`; do not edit. -->\n\n"
        "A run ends for exactly one of these reasons. `status.terminalReason`, the reason of\n"
        "`Finished=True` and the reason of `Succeeded` are always equal. The list is closed in\n"
        "this version and open to clients: treat a reason that you do not know as not\n"
        "successful. The exit codes are those of `fixpoint run` and `fixpoint watch`.\n\n"
        "Some reasons cannot occur yet: what leads to them (calls to models) is not part of this\n"
        "version.\n\n"
        + table(("reason", "`Succeeded`", "exit code", "meaning", "what to do"), rows)
    )


def guards_page() -> str:
    """Return `docs/guards.md`: the ordered guards, each with its sentence."""
    rows = [
        (str(at), f"`{guard.__name__}`", (guard.__doc__ or "").split("\n\n")[0].strip())
        for at, guard in enumerate(GUARDS, start=1)
    ]
    return (
        "# Guards\n\n"
        "<!-- Generated from controller/loop/decide.py by `make docs`; do not edit. -->\n\n"
        "Each turn of a task is decided by these guards, in this order; the first that applies\n"
        "wins. Each is a pure function of one frozen situation. [The loop](loop.md) explains\n"
        "how they fit together.\n\n" + table(("", "guard", "what it is for"), rows)
    )
