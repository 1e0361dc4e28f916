"""The operator's configuration: one frozen object, read once at the start.

The command line fills it (`controller.__main__`); each option has an environment variable, which
is what a pod sets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from controller.access import EVERYTHING_OPEN, CorpusAccess
from controller.api.base import MONEY_PATTERN, Money
from controller.api.errors import UserError
from controller.connections import NOTHING_OPENED, OpenedOrigins
from controller.logs import LogFormat, LogLevel

DEFAULT_CORPUS_ROOT: Final = Path("/corpora")
DEFAULT_WORKERS: Final = 32
"""A worker waits for the API server most of the time: 16 left 8 % of two processors idle."""

DEFAULT_CACHE_DIRECTORY: Final = Path("/var/cache/fixpoint")

OTHER_JOB_CLASS: Final = "other"
"""How the metrics call every job class that the operator was not told of."""

NO_JOB_CLASS: Final = "none"
"""How the metrics call tasks without a job class."""

_LABEL: Final = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the operator is told by its owner; durations are in seconds.

    Attributes:
        kubeconfig: how to reach the cluster; None: KUBECONFIG, the pod's account, or the home's.
        namespace: the only namespace whose tasks are worked on; None: all.
        corpus_root: the directory below which all corpus directories lie.
        corpus_access: which of them a namespace may read.
        opened_origins: the origins of models and sources that are reached whatever their
            addresses are.
        contact: how a site's owner reaches the operator's, told with each request of a source.
        opened_delay_seconds: the least time between two requests of sources to one host, where
            the owner has opened its origin.
        cache_directory: where search indexes are kept; they can be made again.
        workers: how many tasks are worked on at the same moment.
        max_cost_usd: what all tasks may cost together; None: no limit of the operator's own.
        job_classes: the values of `spec.jobClass` that the metrics distinguish.
        health_host: the address that probes and metrics are answered on.
        health_port: the port that they are answered on; 0: a free one, named in the log.
        log_format: how a log line is written.
        log_level: the least severe records that are logged.
        report_sweep_seconds: how often it is looked whether every report is still there.
        task_sweep_seconds: how often all tasks are listed, beside the watch.
        corpus_check_seconds: how often a corpus is looked at for changes.
        grace_seconds: how long work may go on after a request to stop.
    """

    kubeconfig: Path | None = None
    namespace: str | None = None
    corpus_root: Path = DEFAULT_CORPUS_ROOT
    corpus_access: CorpusAccess = EVERYTHING_OPEN
    opened_origins: OpenedOrigins = NOTHING_OPENED
    contact: str | None = None
    opened_delay_seconds: float = 1.0
    cache_directory: Path = DEFAULT_CACHE_DIRECTORY
    workers: int = DEFAULT_WORKERS
    max_cost_usd: Money | None = None
    job_classes: tuple[str, ...] = ()
    health_host: str = "0.0.0.0"  # noqa: S104 - the kubelet asks from outside the pod
    health_port: int = 8080
    log_format: LogFormat = LogFormat.PLAIN
    log_level: LogLevel = LogLevel.INFO
    report_sweep_seconds: float = 45
    task_sweep_seconds: float = 600
    corpus_check_seconds: float = 180
    grace_seconds: float = 120


def checked_contact(text: str) -> str:
    """Return a contact that a `User-Agent` can name.

    Raises:
        UserError: it cannot.
    """
    from controller.sources.web.fetcher import user_agent

    user_agent(text)
    return text


def checked_money(text: str) -> Money:
    """Return an amount of US dollars.

    Raises:
        UserError: it is none: digits, at most 6 of them after a point.
    """
    if not re.fullmatch(MONEY_PATTERN, text):
        raise UserError(
            f"{text!r} is no amount of US dollars: it must be digits with at most 6 decimals, "
            "such as 25 or 0.50"
        )
    return text


def checked_job_classes(names: Sequence[str]) -> tuple[str, ...]:
    """Return the job classes that the metrics shall distinguish, each once.

    Raises:
        UserError: a name is no DNS label, or means something else in the metrics.
    """
    for name in names:
        if name in {OTHER_JOB_CLASS, NO_JOB_CLASS} or not _LABEL.fullmatch(name):
            raise UserError(
                f"{name!r} cannot be a job class of the metrics: it must be a DNS label, such as "
                f"weekly-report, and not {OTHER_JOB_CLASS} or {NO_JOB_CLASS}, which they use"
            )
    return tuple(dict.fromkeys(names))
