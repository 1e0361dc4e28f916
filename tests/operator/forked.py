"""Starts Python modules as processes whose libraries are imported already.

Importing kopf and the Kubernetes client takes four fifths of an operator's start. Where hundreds
of processes are started to be killed, they are forked from one that has imported the libraries,
and none of our own modules: those are imported by each process, with its own environment.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final

_LIBRARIES: Final = [
    "aiohttp.web",
    "charset_normalizer",
    "kopf",
    "kubernetes.aio.client",
    "kubernetes.aio.config",
    "lxml.html",
    "markdown_it",
    "pydantic",
    "rich",
    "snowballstemmer",
    "typer",
    "yaml",
]

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(_LIBRARIES)


class ForkedProcess:
    """A process that `start` has started; the methods are those of `subprocess.Popen`."""

    def __init__(self, command: Sequence[str], process: ForkServerProcess) -> None:
        self._command = command
        self._process = process

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status when it has ended.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._command, timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it runs."""
        if self._process.exitcode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL, if it runs."""
        self.send_signal(signal.SIGKILL)


def start(
    module: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path
) -> ForkedProcess:
    """Start `python -m MODULE ARGUMENTS`, with exactly this environment; `log` is begun anew."""
    log.write_bytes(b"")
    process = _CONTEXT.Process(
        target=_run, args=(module, list(arguments), dict(environment), log), daemon=True
    )
    process.start()
    return ForkedProcess([sys.executable, "-m", module, *arguments], process)


def _run(module: str, arguments: list[str], environment: dict[str, str], log: Path) -> None:
    file = os.open(log, os.O_WRONLY | os.O_APPEND)
    for stream in (sys.stdout.fileno(), sys.stderr.fileno()):
        os.dup2(file, stream)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)
