"""The operator as a process of its own, for tests, benchmarks and the demonstration."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from tests.operator.forked import ForkedProcess, start

_POLL_SECONDS = 0.05
_PORT = re.compile(r"probes: http://127\.0\.0\.1:(\d+)/livez")


class OperatorError(Exception):
    """The operator did not do in time what was waited for; the end of its log is in the text."""


def wait_until(
    holds: Callable[[], bool], what: str, *, seconds: float = 30, every: float = _POLL_SECONDS
) -> None:
    """Poll until something holds; fail with what was waited for when the time is over."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {seconds:g} s, still not: {what}")
        time.sleep(every)


class OperatorProcess:
    """`python -m controller`, started by `with`, and ended with it at the latest.

    Args:
        kubeconfig: how it reaches the cluster.
        folder: where its log, and its search indexes, are kept.
        corpus_root: the directory below which corpora lie.
        options: further command line options.
        environment: further environment variables.
        is_forked: start it from a process that has imported its libraries: in a quarter of the
            time, and with as much more memory.
    """

    def __init__(
        self,
        kubeconfig: Path,
        folder: Path,
        *,
        corpus_root: Path,
        options: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        is_forked: bool = False,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log_file = folder / "operator.log"
        cache = folder / "indexes"
        self._is_forked = is_forked
        self._arguments = [
            f"--kubeconfig={kubeconfig}",
            f"--corpus-root={corpus_root}",
            f"--cache-directory={cache}",
            "--health-host=127.0.0.1",
            "--health-port=0",
            *options,
        ]
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("FIXPOINT_", "KUBE", "POD_NAME"))
        } | dict(environment or {})
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None

    def __enter__(self) -> Self:
        if self._is_forked:
            self._process = start("controller", self._arguments, self._environment, self._log_file)
            return self
        with self._log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "controller", *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=Path(__file__).resolve().parents[2],
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def log(self) -> str:
        """What the operator has logged so far."""
        return self._log_file.read_text(encoding="utf-8", errors="replace")

    @property
    def last_line(self) -> str:
        """The last line of the log."""
        return (self.log.splitlines() or [""])[-1]

    @property
    def port(self) -> int:
        """The port of the probes, once the log names it."""
        self._wait(lambda: _PORT.search(self.log) is not None, "the log names the probes' port", 30)
        found = _PORT.search(self.log)
        assert found is not None
        return int(found.group(1))

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._running().pid

    @property
    def rss_bytes(self) -> int:
        """The resident memory of the process."""
        return int(psutil.Process(self._running().pid).memory_info().rss)

    @property
    def cpu_seconds(self) -> float:
        """The processor time that the process has used."""
        times = psutil.Process(self._running().pid).cpu_times()
        return float(times.user + times.system)

    def probe(self, name: str) -> tuple[int, str]:
        """Ask `livez` or `readyz`; return the HTTP status and the text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with closing(connection):
            connection.request("GET", f"/{name}")
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def wait_ready(self, seconds: float = 60) -> None:
        """Return when `/readyz` says yes."""
        self._wait(self._is_ready, "ready", seconds)

    def wait_log(self, text: str, seconds: float = 30) -> None:
        """Return when the log holds a text."""
        self._wait(lambda: text in self.log, f"the log holds {text!r}", seconds)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._running().poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._running().send_signal(number)

    def stop(self, seconds: float = 60) -> int:
        """Send SIGTERM; return the exit status."""
        self._running().send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def kill(self) -> None:
        """End it at once (SIGKILL), if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def wait(self, seconds: float = 60) -> int:
        """Return the exit status when it has ended by itself."""
        try:
            return self._running().wait(seconds)
        except subprocess.TimeoutExpired:
            raise OperatorError(self._told(f"after {seconds:g} s, it still runs")) from None

    def _is_ready(self) -> bool:
        try:
            return self.probe("readyz")[0] == http.HTTPStatus.OK
        except ConnectionError:
            return False  # it is ending: the caller looks whether it has

    def _running(self) -> subprocess.Popen[bytes] | ForkedProcess:
        assert self._process is not None, "use it in a with statement"
        return self._process

    def _wait(self, holds: Callable[[], bool], what: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            status = self._running().poll()
            if status is not None:
                raise OperatorError(self._told(f"it ended with status {status} before: {what}"))
            if time.monotonic() > deadline:
                raise OperatorError(self._told(f"after {seconds:g} s, still not: {what}"))
            time.sleep(_POLL_SECONDS)

    def _told(self, problem: str) -> str:
        return "\n".join([problem, *self.log.splitlines()[-30:]])
