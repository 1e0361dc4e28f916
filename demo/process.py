"""The operator as a process of its own, under its own rights, and never left behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_STOP_SECONDS: Final = 20
_LINES_OF_A_FAILURE: Final = 30


class OperatorEndedError(Exception):
    """The operator ended by itself; the text has the end of its log."""


class OperatorProcess:
    """`python -m controller`, from the `with` statement's beginning to its end."""

    def __init__(
        self,
        *,
        kubeconfig: Path,
        corpus_root: Path,
        cache_directory: Path,
        log: Path,
        options: Sequence[str] = (),
    ) -> None:
        """Prepare a process; nothing runs yet.

        Args:
            kubeconfig: with the token of the operator's service account, never an administrator's.
            corpus_root: the directory below which corpora lie.
            cache_directory: where search indexes are kept between demonstrations.
            log: the file that its output goes to.
            options: further ones of its command line.
        """
        self._command = [
            sys.executable,
            "-m",
            "controller",
            f"--kubeconfig={kubeconfig}",
            f"--corpus-root={corpus_root}",
            f"--cache-directory={cache_directory}",
            "--health-host=127.0.0.1",
            "--health-port=0",
            *options,
        ]
        self._log = log
        self.process: subprocess.Popen[bytes] | None = None
        """The process, from the block's beginning on."""

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            # Apart from the terminal, whose Ctrl-C must reach it through us, after the tasks.
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        process = self.process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def require_running(self) -> None:
        """Check that it runs.

        Raises:
            OperatorEndedError: it does not.
        """
        assert self.process is not None
        status = self.process.poll()
        if status is not None:
            raise OperatorEndedError(f"the operator ended with status {status}")

    def log_tail(self) -> str:
        """Return the last lines of its log."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LINES_OF_A_FAILURE:])
