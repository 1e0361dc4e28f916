"""`python -m controller`: the operator. Each option has an environment variable, for the pod."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controller.access import EVERYTHING_OPEN, read_corpus_access
from controller.api.errors import UserError
from controller.connections import OpenedOrigins
from controller.logs import LogFormat, LogLevel
from controller.settings import (
    DEFAULT_CACHE_DIRECTORY,
    DEFAULT_CORPUS_ROOT,
    DEFAULT_WORKERS,
    Settings,
    checked_contact,
    checked_job_classes,
    checked_money,
)


def operator(
    *,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            envvar="FIXPOINT_KUBECONFIG",
            help="How to reach the cluster; else KUBECONFIG, the pod's account, ~/.kube/config.",
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(envvar="FIXPOINT_NAMESPACE", help="Work on this namespace only."),
    ] = None,
    corpus_root: Annotated[
        Path,
        typer.Option(
            envvar="FIXPOINT_CORPUS_ROOT",
            help="The directory below which the directories of ResearchSources lie.",
        ),
    ] = DEFAULT_CORPUS_ROOT,
    corpus_access: Annotated[
        Path | None,
        typer.Option(
            envvar="FIXPOINT_CORPUS_ACCESS",
            help="A YAML or JSON file that lists the corpus directories each namespace may read, "
            "such as {team-a: [django-docs], '*': [public]}; without it, all may read all.",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            envvar="FIXPOINT_ALLOW_ORIGINS",
            metavar="ORIGIN",
            help="An origin that models and sources may have though its address is private, such "
            "as http://ollama.models.svc:11434: exactly this scheme, host and port. May be given "
            "several times; in the variable, separated by spaces.",
        ),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            envvar="FIXPOINT_CONTACT",
            help="How the owner of a site reaches you, an address or a URL: told in the "
            "User-Agent of each request of a source.",
        ),
    ] = None,
    opened_delay_seconds: Annotated[
        float,
        typer.Option(
            envvar="FIXPOINT_OPENED_DELAY_SECONDS",
            min=0,
            max=60,
            help="How long sources leave a host alone between two requests where you have opened "
            "its origin; any other host has 1 s at least.",
        ),
    ] = 1.0,
    cache_directory: Annotated[
        Path,
        typer.Option(
            envvar="FIXPOINT_CACHE_DIRECTORY",
            help="Where search indexes are kept; it may be emptied at any time.",
        ),
    ] = DEFAULT_CACHE_DIRECTORY,
    workers: Annotated[
        int,
        typer.Option(
            envvar="FIXPOINT_WORKERS", min=1, max=256, help="Tasks worked on at the same moment."
        ),
    ] = DEFAULT_WORKERS,
    max_cost_usd: Annotated[
        str | None,
        typer.Option(
            envvar="FIXPOINT_MAX_COST_USD",
            help="What all tasks that exist may cost together, in US dollars, such as 25 or 0.50; "
            "at the limit, tasks wait as Queued before a call to a model that costs something.",
        ),
    ] = None,
    job_class: Annotated[
        list[str] | None,
        typer.Option(
            envvar="FIXPOINT_JOB_CLASS",
            help="A value of spec.jobClass that the metrics distinguish; any other counts as "
            "`other`. May be given several times; in the variable, separated by spaces.",
        ),
    ] = None,
    health_host: Annotated[
        str,
        typer.Option(
            envvar="FIXPOINT_HEALTH_HOST",
            help="The address that probes and metrics are answered on.",
        ),
    ] = "0.0.0.0",  # noqa: S104 - the kubelet asks from outside the pod
    health_port: Annotated[
        int,
        typer.Option(
            envvar="FIXPOINT_HEALTH_PORT",
            min=0,
            max=65535,
            help="The port that they are answered on; 0: a free one, named in the log.",
        ),
    ] = 8080,
    log_format: Annotated[
        LogFormat, typer.Option(envvar="FIXPOINT_LOG_FORMAT", help="How a log line is written.")
    ] = LogFormat.PLAIN,
    log_level: Annotated[
        LogLevel,
        typer.Option(envvar="FIXPOINT_LOG_LEVEL", help="The least severe records to log."),
    ] = LogLevel.INFO,
    report_sweep_seconds: Annotated[
        float,
        typer.Option(
            envvar="FIXPOINT_REPORT_SWEEP_SECONDS",
            min=1,
            help="How often it is looked whether every report is still there: one list for all.",
        ),
    ] = 45,
    task_sweep_seconds: Annotated[
        float,
        typer.Option(
            envvar="FIXPOINT_TASK_SWEEP_SECONDS",
            min=60,
            help="How often, at least, all tasks are listed beside the watch: one list for all.",
        ),
    ] = 600,
    corpus_check_seconds: Annotated[
        float,
        typer.Option(
            envvar="FIXPOINT_CORPUS_CHECK_SECONDS",
            min=1,
            help="How often a corpus is looked at for changes.",
        ),
    ] = 180,
    grace_seconds: Annotated[
        float,
        typer.Option(
            envvar="FIXPOINT_GRACE_SECONDS",
            min=0,
            help="How long work may go on after a request to stop; keep the pod's "
            "terminationGracePeriodSeconds 15 s above it.",
        ),
    ] = 120,
) -> None:
    """Run the Fixpoint operator until it is told to stop.

    Exit status 0 after SIGTERM or SIGINT, 1 after anything else, with the cause in the last line.
    """
    try:
        access = EVERYTHING_OPEN if corpus_access is None else read_corpus_access(corpus_access)
        opened = OpenedOrigins.parse(allow_origin or ())
        job_classes = checked_job_classes(job_class or ())
        ceiling = None if max_cost_usd is None else checked_money(max_cost_usd)
        contact = None if contact is None else checked_contact(contact)
    except UserError as error:
        raise typer.BadParameter(str(error)) from error
    settings = Settings(
        kubeconfig=kubeconfig,
        namespace=namespace,
        corpus_root=corpus_root,
        corpus_access=access,
        opened_origins=opened,
        contact=contact,
        opened_delay_seconds=opened_delay_seconds,
        cache_directory=cache_directory,
        workers=workers,
        max_cost_usd=ceiling,
        job_classes=job_classes,
        health_host=health_host,
        health_port=health_port,
        log_format=log_format,
        log_level=log_level,
        report_sweep_seconds=report_sweep_seconds,
        task_sweep_seconds=task_sweep_seconds,
        corpus_check_seconds=corpus_check_seconds,
        grace_seconds=grace_seconds,
    )
    # Imported now, so that --help and a wrong option answer at once.
    from controller.operator import run

    raise typer.Exit(run(settings))


def main() -> None:
    """Parse the command line and run the operator."""
    application = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
    )
    application.command()(operator)
    application(prog_name="python -m controller")


if __name__ == "__main__":
    main()
