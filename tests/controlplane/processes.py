"""The test run's side of the supervisor: starts it, talks to it and ends it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_END_SECONDS = 30


class ControlPlaneError(Exception):
    """The control plane could not be started, or a part of it ended."""


class Processes:
    """The components of one control plane, which end with this process at the latest."""

    folder: Path
    """The data of the components, their logs and kubeconfigs; removed at the end."""

    port: int
    """A free port on 127.0.0.1, reserved for a component that asks for SO_REUSEPORT."""

    def __init__(self) -> None:
        # Apart from the terminal, whose interrupt goes to all of its processes: the components
        # must still answer while a test run that is interrupted winds down.
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SUPERVISOR), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,  # each message is written at once, and none is left to write at the end
        )
        try:
            greeting = self._receive()
        except ControlPlaneError:
            with self._supervisor:  # waits for it, and closes the pipes
                raise
        self.folder = Path(greeting["folder"])
        self.port = greeting["port"]

    def start(self, name: str, command: Sequence[str]) -> int:
        """Start a component, and return its process number.

        One that still runs under the same name is killed first.
        """
        number: int = self._ask({"start": name, "command": list(command)})["process"]
        return number

    def stop(self, name: str) -> None:
        """Kill a component if it runs, and return when it has ended."""
        self._ask({"stop": name})

    def require_running(self, name: str) -> None:
        """Raise an error with the end of its log if a component has ended."""
        status = self._ask({"poll": name})["status"]
        if status is not None:
            raise ControlPlaneError(f"{name} ended with status {status}\n{self.log(name)}")

    def log(self, name: str, lines: int = 20) -> str:
        """Return the last lines of a component's log."""
        file = self.folder / f"{name}.log"
        text = file.read_text(encoding="utf-8", errors="replace")
        return "\n".join([f"{file} ends with:", *text.splitlines()[-lines:]])

    def close(self) -> None:
        """End everything, and return when nothing is left. May be called more than once."""
        supervisor = self._supervisor
        if supervisor.stdin is None or supervisor.stdout is None or supervisor.stdin.closed:
            return
        supervisor.stdin.close()  # the end of its input is what it waits for
        try:
            status = supervisor.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            status = supervisor.wait()
        finally:
            supervisor.stdout.close()
        if status != 0:
            shutil.rmtree(self.folder, ignore_errors=True)  # which it may have done, or not
            raise ControlPlaneError(f"the supervisor ended with status {status}")

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        stdin = self._supervisor.stdin
        if stdin is None or stdin.closed:
            raise ControlPlaneError("this control plane has been stopped")
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
        except BrokenPipeError as error:
            raise ControlPlaneError("the supervisor ended; standard error says why") from error
        return self._receive()

    def _receive(self) -> dict[str, Any]:
        stdout = self._supervisor.stdout
        line = stdout.readline() if stdout is not None else b""
        if not line:
            raise ControlPlaneError("the supervisor ended; standard error says why")
        reply: dict[str, Any] = json.loads(line)
        return reply
