"""The options that several commands share, each with its one help text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controller.api.errors import UserError

if TYPE_CHECKING:
    from controller.cli.homes import Home
    from controller.ports import TaskKey

_HOME_PANEL = "Where the task is"

NameArgument = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="The name of the ResearchTask.", show_default=False),
]

FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="Take the name and namespace of the task in this file instead of NAME.",
        show_default=False,
    ),
]

StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="FILE",
        help="The local store that `fixpoint run --store FILE` wrote.",
        show_default=False,
        rich_help_panel=_HOME_PANEL,
    ),
]

LocalOption = Annotated[
    bool,
    typer.Option(
        "--local",
        help="The usual local store, which `fixpoint run` writes without --store.",
        rich_help_panel=_HOME_PANEL,
    ),
]

KubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="How to reach the cluster; the default is that of kubectl.",
        show_default=False,
        rich_help_panel=_HOME_PANEL,
    ),
]

NamespaceOption = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="The task's namespace; the default is that of the kubeconfig's context, or `default`.",
        show_default=False,
        rich_help_panel=_HOME_PANEL,
    ),
]

VerbosityOption = Annotated[
    int,
    typer.Option(
        "--verbosity",
        min=0,
        max=3,
        metavar="0-3",
        help="0 says nothing, 1 milestones, 2 each step, 3 what each step decided and found.",
    ),
]

PlainOption = Annotated[
    bool, typer.Option("--plain", help="Plain lines on a terminal too, no view that is redrawn.")
]


def chosen_task(
    name: str | None,
    file: Path | None,
    *,
    store: Path | None,
    local: bool,
    kubeconfig: Path | None,
    namespace: str | None,
) -> tuple[Home, TaskKey]:
    """Return the home and the task that a command line means.

    Raises:
        UserError: options exclude each other, or no task is named.
    """
    from controller.cli.documents import read_task_file
    from controller.cli.homes import Home, default_store
    from controller.ports import TaskKey

    if (store is not None) + local + (kubeconfig is not None) > 1:
        raise UserError("--store, --local and --kubeconfig exclude each other; choose one")
    if (name is None) == (file is None):
        raise UserError("name one task: either NAME or --file FILE")
    home = Home(default_store() if local else store, kubeconfig, namespace)
    if file is None:
        assert name is not None
        return home, home.key(name)
    found = read_task_file(file)
    declared = found.task_manifest["metadata"].get("namespace")
    if namespace is None and declared is not None:
        return home, TaskKey(declared, found.key.name)
    return home, home.key(found.key.name)
