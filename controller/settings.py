"""The operator's configuration: one frozen object, read once at the start.

The command line fills it (`controller.__main__`); each option has an environment variable, which
is what a pod sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from controller.access import EVERYTHING_OPEN, CorpusAccess
from controller.logs import LogFormat, LogLevel

DEFAULT_CORPUS_ROOT: Final = Path("/corpora")
DEFAULT_CACHE_DIRECTORY: Final = Path("/var/cache/fixpoint")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the operator is told by its owner; durations are in seconds.

    Attributes:
        kubeconfig: how to reach the cluster; None: KUBECONFIG, the pod's account, or the home's.
        namespace: the only namespace whose tasks are worked on; None: all.
        corpus_root: the directory below which all corpus directories lie.
        corpus_access: which of them a namespace may read.
        cache_directory: where search indexes are kept; they can be made again.
        workers: how many tasks are worked on at the same moment.
        health_host: the address that the probes are answered on.
        health_port: the port that the probes are answered on; 0: a free one, named in the log.
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
    cache_directory: Path = DEFAULT_CACHE_DIRECTORY
    workers: int = 8
    health_host: str = "0.0.0.0"  # noqa: S104 - the kubelet asks from outside the pod
    health_port: int = 8080
    log_format: LogFormat = LogFormat.PLAIN
    log_level: LogLevel = LogLevel.INFO
    report_sweep_seconds: float = 45
    task_sweep_seconds: float = 600
    corpus_check_seconds: float = 180
    grace_seconds: float = 120
