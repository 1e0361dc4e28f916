"""`fixpoint run`: one task from a file, on this machine, without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controller.cli.options import PlainOption, VerbosityOption
from controller.cli.terminal import Verbosity

_MODEL_PANEL = "A model that the file does not define"


def run(
    *,
    file: Annotated[
        Path,
        typer.Option(
            "--file",
            "-f",
            metavar="TASK.YAML",
            help="The task, and the sources, models and Secrets defined with it.",
        ),
    ],
    corpus_root: Annotated[
        Path | None,
        typer.Option(
            "--corpus-root",
            metavar="DIR",
            help="The folder below which the corpora's directories are; the default is the "
            "folder of the task's file. A source that the file does not define is taken for the "
            "directory of its name.",
            show_default=False,
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="FILE",
            help="The local store: one SQLite file with tasks, journals and reports. A run of a "
            "task that is in it goes on where that one stopped. The default is in your folder "
            "for state; `--local` names it in other commands.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="DIR",
            help="Where report.md and report.json are written; the default is NAME-report here.",
            show_default=False,
        ),
    ] = None,
    max_steps: Annotated[
        int | None,
        typer.Option(
            "--max-steps",
            metavar="N",
            min=1,
            help="Use this step budget instead of the file's.",
            show_default=False,
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log",
            metavar="FILE",
            help="Write the journal there, one line of JSON for each step; the file is replaced.",
            show_default=False,
        ),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret",
            metavar="NAME/KEY=VARIABLE",
            help="Take a key of a Secret from a variable of the environment, such as "
            "openai/api-key=OPENAI_API_KEY. It is kept in memory alone. May be given several "
            "times.",
            show_default=False,
        ),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            "--contact",
            metavar="TEXT",
            help="How the owner of a site reaches you, an address or a URL: told in the "
            "User-Agent of each request of a remote source.",
            show_default=False,
        ),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend",
            metavar="KIND",
            help="Do the task with a model: OpenAI (the key is taken from OPENAI_API_KEY), Ollama, "
            "LlamaCpp, VLLM or OpenAICompatible.",
            show_default=False,
            rich_help_panel=_MODEL_PANEL,
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            metavar="URL",
            help="Where the model is; the default is the usual address of its kind on this "
            "machine. Without --backend it is an OpenAI-compatible one.",
            show_default=False,
            rich_help_panel=_MODEL_PANEL,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="The model's name, as its endpoint knows it.",
            show_default=False,
            rich_help_panel=_MODEL_PANEL,
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Forget what the store knows of the task, and begin anew."),
    ] = False,
    verbosity: VerbosityOption = Verbosity.STEPS.value,
    plain: PlainOption = False,
) -> int:
    """Run a task here, without a cluster, and write its report.

    The same loop as in the cluster, on a local store. The exit code says how the run ended; see
    `fixpoint exits`. Ctrl-C stops it cleanly, and the same command goes on from there.
    """
    from controller.cli.given_model import GivenModel
    from controller.cli.local_run import run_file

    return run_file(
        file,
        corpus_root=corpus_root,
        store=store,
        folder=folder,
        max_steps=max_steps,
        log=log,
        secrets=secret or (),
        contact=contact,
        model=GivenModel(backend, base_url, model),
        fresh=fresh,
        verbosity=Verbosity(verbosity),
        plain=plain,
    )
