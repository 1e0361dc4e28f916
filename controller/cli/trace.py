"""`fixpoint trace`: the journal of a task as data, for other programs."""

from __future__ import annotations

import asyncio
import sys
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

if TYPE_CHECKING:
    from controller.cli.homes import Home
    from controller.ports import TaskKey


def trace(
    *,
    name: NameArgument = None,
    file: FileOption = None,
    output_file: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file.", show_default=False),
    ] = None,
    store: StoreOption = None,
    local: LocalOption = False,
    kubeconfig: KubeconfigOption = None,
    namespace: NamespaceOption = None,
) -> int:
    """Write the journal of a task as JSON lines: one step a line, in UTF-8, as it is stored.

    `fixpoint replay --journal FILE --task TASK.YAML` reads it again.
    """
    home, key = chosen_task(
        name, file, store=store, local=local, kubeconfig=kubeconfig, namespace=namespace
    )
    lines = asyncio.run(_lines(home, key))
    if output_file is None:
        sys.stdout.buffer.write(lines)
        sys.stdout.buffer.flush()
        return ExitCode.GOAL_REACHED
    try:
        output_file.write_bytes(lines)
    except OSError as error:
        raise UserError(
            f"{output_file} cannot be written: {error.strerror}; name another file"
        ) from error
    return ExitCode.GOAL_REACHED


async def _lines(home: Home, key: TaskKey) -> bytes:
    from controller.cli.homes import open_home
    from controller.cli.jsonl import line_of

    async with open_home(home) as opened:
        task = await opened.get_task(key)
        return "".join(map(line_of, await opened.list_steps(task, 0))).encode()
