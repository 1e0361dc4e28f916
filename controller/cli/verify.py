"""`fixpoint verify`: is each thing that a report says what the journal recorded?"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
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
from controller.cli.terminal import complain, count, labelled, output, visible, write

if TYPE_CHECKING:
    from controller.cli.checking import Checked
    from controller.cli.homes import Home
    from controller.cli.sources_again import ReadAgain
    from controller.evidence.report_format import Report
    from controller.ports import TaskKey

_SOURCES_PANEL = "The sources as they are now"

NOT_VERIFIED = 1
"""The exit code of a report that says something that the journal does not bear out."""


def verify(
    *,
    name: NameArgument = None,
    file: FileOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="List everything that does not hold, not the first only.")
    ] = False,
    against_sources: Annotated[
        bool,
        typer.Option(
            "--against-sources",
            help="Read the sources again as well, and say of each citation whether it is the "
            "same, has moved, or is gone.",
            rich_help_panel=_SOURCES_PANEL,
        ),
    ] = False,
    corpus_root: Annotated[
        Path | None,
        typer.Option(
            "--corpus-root",
            metavar="DIR",
            help="The folder below which the corpora's directories are here; the default is the "
            "folder of the file, or this one.",
            show_default=False,
            rich_help_panel=_SOURCES_PANEL,
        ),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            "--contact",
            metavar="TEXT",
            help="How the owner of a site reaches you, an address or a URL.",
            show_default=False,
            rich_help_panel=_SOURCES_PANEL,
        ),
    ] = None,
    store: StoreOption = None,
    local: LocalOption = False,
    kubeconfig: KubeconfigOption = None,
    namespace: NamespaceOption = None,
) -> int:
    """Check a report against its journal: every quote, character for character.

    Verdicts, certificates and the score are computed again; no source or model is asked, but for
    --against-sources. Exits with 0 if all holds, with 1 at the first statement, citation or record
    that does not.
    """
    home, key = chosen_task(
        name, file, store=store, local=local, kubeconfig=kubeconfig, namespace=namespace
    )
    root = corpus_root or (file.absolute().parent if file else Path.cwd())
    if against_sources and not root.is_dir():
        raise UserError(f"the corpus root {root} is no folder; name one with --corpus-root")
    read = _Reading(root, contact) if against_sources else None
    checked = asyncio.run(_checked(home, key, read))
    if checked is None:
        complain(f"the ResearchTask {key} has published no report yet, so nothing can be verified")
        return NOT_VERIFIED
    found, again = checked
    _show(key, found, every=every)
    if again is not None:
        _show_again(*again)
    is_broken = found.lies or (again is not None and not again[0].holds)
    return NOT_VERIFIED if is_broken else ExitCode.GOAL_REACHED


@dataclass(frozen=True)
class _Reading:
    """How the sources are read again."""

    corpus_root: Path
    contact: str | None


async def _checked(
    home: Home, key: TaskKey, reading: _Reading | None
) -> tuple[Checked, tuple[ReadAgain, Report] | None] | None:
    """Check a report, and read its sources again if that is asked for and it can be read."""
    from controller.cli.checking import check_report
    from controller.cli.homes import open_home

    async with open_home(home) as store:
        task = await store.get_task(key)
        stored = await store.get_report(task)
        if stored is None:
            return None
        checked = check_report(task, await store.list_steps(task, 0), stored)
        if reading is None or checked.report is None:
            return checked, None
        from controller.cli.sources_again import opened_sources, read_again

        async with opened_sources(
            store,
            task,
            corpus_root=reading.corpus_root,
            contact=reading.contact,
            are_own=home.store is not None,
        ) as sources:
            return checked, (await read_again(checked.report, sources), checked.report)


def _show_again(again: ReadAgain, report: Report) -> None:
    from controller.cli.sources_again import lines_of

    say = partial(write, output())
    for line in lines_of(again, report):
        say(labelled("citation", visible(line)))
    fates = Counter(citation.fate.value for citation in again.citations)
    told = ", ".join(f"{number} {fate}" for fate, number in fates.items()) or "no citation"
    say(labelled("sources", told))
    if again.proofs:
        held = "hold" if not again.broken_proofs else "NOT HELD"
        say(labelled("proofs", f"{count(again.proofs, 'certificate')} run again: {held}"))
    for line in (*again.broken_proofs, *again.changed_corpora):
        say(labelled("", visible(line)))


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
