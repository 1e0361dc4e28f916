"""`fixpoint report`: the published report of a task, for people or as data."""

from __future__ import annotations

import asyncio
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
from controller.cli.terminal import complain, is_live, output

if TYPE_CHECKING:
    from controller.cli.homes import Home
    from controller.ports import TaskKey


def report(
    *,
    name: NameArgument = None,
    file: FileOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print report.json, the report as data.")
    ] = False,
    output_file: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file.", show_default=False),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print the Markdown as it is, on a terminal too.")
    ] = False,
    draft: Annotated[
        bool,
        typer.Option("--draft", help="Show the draft that waits for approval, not the report."),
    ] = False,
    store: StoreOption = None,
    local: LocalOption = False,
    kubeconfig: KubeconfigOption = None,
    namespace: NamespaceOption = None,
) -> int:
    """Print the report that a task has published.

    On a terminal the Markdown is drawn; into a pipe or a file it is written as it is.
    """
    from rich.markdown import Markdown

    from controller.actions.publish import JSON_FILE, MARKDOWN_FILE

    home, key = chosen_task(
        name, file, store=store, local=local, kubeconfig=kubeconfig, namespace=namespace
    )
    file_name = JSON_FILE if as_json else MARKDOWN_FILE
    text = asyncio.run((_draft if draft else _text)(home, key, file_name))
    if text is None:
        return ExitCode.PROVIDER
    console = output()
    if output_file is not None:
        _write(output_file, text)
    elif as_json or plain or not is_live(console):
        console.out(text, end="", highlight=False)
    else:
        console.print(Markdown(text, hyperlinks=False), soft_wrap=False)
    return ExitCode.GOAL_REACHED


async def _text(home: Home, key: TaskKey, file: str) -> str | None:
    """Return a file of the report, or say why there is none."""
    from controller.cli.homes import open_home
    from controller.cli.observer import activity
    from controller.gathering import is_settled

    async with open_home(home) as store:
        task = await store.get_task(key)
        stored = await store.get_report(task)
    if stored is not None and file in stored.files:
        return stored.files[file]
    if is_settled(task):
        why = f"it ended without one ({task.status.terminal_reason})"
    else:
        command = f"fixpoint watch {key.name} {home.options}".rstrip()
        why = f"it has not ended ({activity(task)}); follow it with `{command}`"
    complain(f"the ResearchTask {key} has no {file}: {why}")
    return None


async def _draft(home: Home, key: TaskKey, file: str) -> str | None:
    """Return a file of the drafted report, or say that there is no draft."""
    from controller.actions.publish import drafted_report
    from controller.cli.homes import open_home

    async with open_home(home) as store:
        task = await store.get_task(key)
        steps = await store.list_steps(task, 0)
    drafted = drafted_report(task, steps)
    if drafted is not None:
        return drafted.files[file]
    complain(f"the ResearchTask {key} has no draft of what it has found so far")
    return None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}; name another file") from error
