"""`fixpoint verify`: is each thing that a report says what the journal recorded?"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

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
from controller.cli.terminal import complain, count, labelled, output, visible, write

if TYPE_CHECKING:
    from controller.cli.checking import Checked
    from controller.cli.homes import Home
    from controller.ports import TaskKey

NOT_VERIFIED = 1
"""The exit code of a report that says something that the journal does not bear out."""


def verify(
    *,
    name: NameArgument = None,
    file: FileOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="List everything that does not hold, not the first only.")
    ] = False,
    store: StoreOption = None,
    local: LocalOption = False,
    kubeconfig: KubeconfigOption = None,
    namespace: NamespaceOption = None,
) -> int:
    """Check a report against its journal: every quote, character for character.

    Verdicts, certificates and the score are computed again; no source or model is asked. Exits
    with 0 if all holds, with 1 at the first statement, citation or record that does not.
    """
    home, key = chosen_task(
        name, file, store=store, local=local, kubeconfig=kubeconfig, namespace=namespace
    )
    checked = asyncio.run(_checked(home, key))
    if checked is None:
        complain(f"the ResearchTask {key} has published no report yet, so nothing can be verified")
        return NOT_VERIFIED
    _show(key, checked, every=every)
    return NOT_VERIFIED if checked.lies else ExitCode.GOAL_REACHED


async def _checked(home: Home, key: TaskKey) -> Checked | None:
    from controller.cli.checking import check_report
    from controller.cli.homes import open_home

    async with open_home(home) as store:
        task = await store.get_task(key)
        stored = await store.get_report(task)
        if stored is None:
            return None
        return check_report(task, await store.list_steps(task, 0), stored)


def _show(key: TaskKey, checked: Checked, *, every: bool) -> None:
    console = output()
    say = partial(write, console)
    say(labelled("task", str(key)))
    tally = checked.tally
    if tally is not None:
        say(labelled("journal", f"{count(tally.steps, 'step')} up to the report, digests hold"))
        say(labelled("statements", f"{tally.statements} checked"))
        say(labelled("citations", f"{tally.citations} compared with the recorded source text"))
        say(labelled("facts", f"{tally.facts} verified again, rejected ones too"))
        say(labelled("proofs", f"{count(tally.certificates, 'certificate')} of absence"))
        say(labelled("score", f"{tally.score} % published, {tally.score_again} % computed again"))
    if not checked.lies:
        say(labelled("verified", "everything holds"))
        return
    for lie in checked.lies if every else checked.lies[:1]:
        say(labelled("NOT HELD", visible(lie)))
    if not every and len(checked.lies) > 1:
        say(labelled("", f"and {len(checked.lies) - 1} more; --all lists them"))
