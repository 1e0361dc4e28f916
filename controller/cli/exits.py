"""`fixpoint exits`: what each exit code says of a run."""

from __future__ import annotations

from typing import Final

from controller.api.reasons import TERMINAL, ExitCode
from controller.cli.terminal import output

INTERRUPTED: Final = 130
"""The exit code of a run that was stopped: 128 and the number of SIGINT, as shells have it."""

MEANINGS: Final[dict[ExitCode, str]] = {
    ExitCode.GOAL_REACHED: "The goal holds.",
    ExitCode.PROVIDER: "A model, a source or the program failed; also any unexpected error.",
    ExitCode.EXHAUSTED: "A budget is used up.",
    ExitCode.STUCK: "The run went nowhere, or the sources do not say it.",
    ExitCode.HAND_OFF: "A person was asked and did not answer, or the task is suspended.",
    ExitCode.CONFIGURATION: "The task, a file or the command line is wrong.",
    ExitCode.PERSON_NEEDED: "A person must look: what happened cannot be known.",
    ExitCode.CANCELLED: "The task was cancelled.",
}
"""One sentence for each code."""


def exits() -> int:
    """Show what the exit codes of `fixpoint run` and `fixpoint watch` mean."""
    console = output()
    for code, meaning in MEANINGS.items():
        console.print(f"{code.value}  {meaning}")
        for reason, ending in TERMINAL.items():
            if ending.exit_code is code:
                console.print(f"   {reason}: {ending.meaning}")
    console.print(f"{INTERRUPTED}  Stopped with Ctrl-C; what is recorded is kept.")
    return ExitCode.GOAL_REACHED
