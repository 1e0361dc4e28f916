"""`fixpoint replay`: does the journal of a task still come out as it is recorded?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controller.api.errors import UserError
from controller.api.reasons import ExitCode
from controller.cli.options import (
    FileOption,
    KubeconfigOption,
    LocalOption,
    NameArgument,
    NamespaceOption,
    StoreOption,
    chosen_task,
)
from controller.cli.terminal import count, labelled, output, visible, write

if TYPE_CHECKING:
    from controller.cli.homes import Home
    from controller.cli.replaying import Replayable, Result
    from controller.ports import TaskKey

DIVERGED = 1
"""The exit code of a journal that does not come out as it is recorded."""


def replay(
    *,
    name: NameArgument = None,
    file: FileOption = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            "--journal",
            metavar="FILE",
            help="A journal that `fixpoint trace` wrote, instead of a task's own.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        list[Path] | None,
        typer.Option(
            "--task",
            metavar="FILE",
            help="The task as it was when the journal was written. More than one, each with its "
            "metadata.generation, for a task that was changed.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
    local: LocalOption = False,
    kubeconfig: KubeconfigOption = None,
    namespace: NamespaceOption = None,
) -> int:
    """Compute again what the journal of a task records, from the journal alone.

    Folds it and compares the fold with the status, makes each decision again, and performs again
    what needs no source or model. Exits with 0 if all is as recorded, with 1 at the first
    difference, which is named with its step, and with 6 if the journal cannot be trusted.
    """
    from controller.cli.replaying import from_files, replayed

    others = tuple(task or ())
    if journal is None:
        home, key = chosen_task(
            name, file, store=store, local=local, kubeconfig=kubeconfig, namespace=namespace
        )
        found = asyncio.run(_from_home(home, key, others))
    elif any((name, file, store, local, kubeconfig, namespace)):
        raise UserError("--journal reads a file alone; leave NAME and the options of a home out")
    else:
        found = from_files(journal, others)
    result = replayed(found)
    _show(found, result)
    return DIVERGED if result.divergences else ExitCode.GOAL_REACHED


async def _from_home(home: Home, key: TaskKey, others: Sequence[Path]) -> Replayable:
    from controller.cli.homes import open_home
    from controller.cli.replaying import from_store

    async with open_home(home) as opened:
        return await from_store(opened, key, others)


def _show(found: Replayable, result: Result) -> None:
    say = partial(write, output())
    done = result.replayed
    say(labelled("task", f"{found.task.metadata.namespace}/{found.task.metadata.name}"))
    say(labelled("journal", f"{count(len(found.steps), 'step')}, digests hold"))
    if found.torn is not None:
        say(labelled("torn", visible(found.torn)))
    say(labelled("status", result.status))
    say(labelled("decisions", f"{done.decisions} of {done.steps} made again"))
    say(labelled("actions", f"{done.actions} performed again, compared byte for byte"))
    if done.unknown_spec:
        say(labelled("left out", f"{count(done.unknown_spec, 'step')} of generations whose spec"))
        say(labelled("", "is not known; give each with --task"))
    if done.carried_over:
        say(labelled("begins", "with a later round: the steps before it are deleted, and what"))
        say(labelled("", "its first step carries over of them is taken as it is"))
    if done.in_doubt:
        say(labelled("in doubt", f"{count(done.in_doubt, 'step')} begun by a process that is gone"))
    for divergence in result.divergences:
        say(labelled("DIVERGED", visible(f"ReplayDivergence at {divergence}")))
    if not result.divergences:
        say(labelled("replayed", "everything comes out as it is recorded"))
