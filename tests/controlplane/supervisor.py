"""The process that owns a control plane's processes, its port and its folder of data.

A test run can be killed at any moment, and must leave nothing behind. What has to be released is
therefore owned by this small process: it reads requests from a pipe whose other end only the
test run holds, and takes the end of that pipe for the end of the test run. Then it kills the
components, removes the folder and ends too. This needs no signal handler, no exit hook and
nothing of the operating system but pipes.

It is run as a script (`supervisor.py PARENT`, with the parent's process number) and uses only
the standard library, so that it starts in a few hundredths of a second. Each request and each
reply is one line of JSON:

    (none, once at the start)               {"folder": "/tmp/...", "port": 40123}
    {"start": NAME, "command": [...]}       {"process": 4711}
    {"stop": NAME}                          {}
    {"poll": NAME}                          {"status": null}  or the exit status

A component's output goes to the file NAME.log of the folder.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LOOK_FOR_PARENT_SECONDS = 1.0
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Supervisor:
    """The components of one control plane and what they use."""

    def __init__(self) -> None:
        self._port = _reserved_port()
        self._folder = Path(tempfile.mkdtemp(prefix="fixpoint-controlplane-"))
        # Standard input of the components. Its other end closes when this process ends, in
        # whatever way, and our executable file then ends by itself.
        self._lifeline, self._lifeline_end = os.pipe()
        self._components: dict[str, subprocess.Popen[bytes]] = {}

    def greeting(self) -> dict[str, Any]:
        """Return what the parent has to know."""
        return {"folder": str(self._folder), "port": self._port.getsockname()[1]}

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what a request asks for."""
        match request:
            case {"start": str(name), "command": list(command)}:
                return self._start(name, command)
            case {"stop": str(name)}:
                self._stop(name)
                return {}
            case {"poll": str(name)}:
                return {"status": self._components[name].poll()}
        raise ValueError(f"no such request: {request}")

    def release(self) -> None:
        """End the components, and remove all that they left."""
        for name in self._components:
            self._stop(name)
        shutil.rmtree(self._folder)
        self._port.close()

    def _start(self, name: str, command: list[str]) -> dict[str, Any]:
        self._stop(name)  # a name is one process
        with (self._folder / f"{name}.log").open("ab") as log:
            component = subprocess.Popen(
                command,
                # The sockets' names are relative to here: the path of a socket may have little
                # more than 100 characters, and the folder for temporary files can be deep.
                cwd=self._folder,
                env=os.environ | {"CONTROLPLANE_EXIT_WITH_STDIN": "1"},
                stdin=self._lifeline,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._components[name] = component
        return {"process": component.pid}

    def _stop(self, name: str) -> None:
        """Kill a component if it runs: its data are thrown away, or safe in etcd."""
        component = self._components.get(name)
        if component is not None:
            component.kill()
            component.wait()


def _reserved_port() -> socket.socket:
    """Take a free port, and keep it from others while the API server is not listening.

    The API server can use it all the same, as both ask for SO_REUSEPORT. Connections only ever
    go to sockets that listen, which this one does not.
    """
    port = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    port.bind(("127.0.0.1", 0))
    return port


def _requests(parent: int) -> Iterator[dict[str, Any]]:
    """Yield the requests of the parent until it is gone."""
    unfinished = b""
    # A child that the parent forked has a copy of the pipe's end, and may outlive the parent:
    # hence the look at the parent's number every while.
    while os.getppid() == parent:
        readable, _, _ = select.select([sys.stdin], [], [], _LOOK_FOR_PARENT_SECONDS)
        if not readable:
            continue
        received = os.read(sys.stdin.fileno(), 65536)
        if not received:
            return
        *lines, unfinished = (unfinished + received).split(b"\n")
        yield from map(json.loads, lines)


def _send(message: dict[str, Any]) -> None:
    # Not by sys.stdout, which would try at exit to write again what could not be written.
    os.write(sys.stdout.fileno(), json.dumps(message).encode() + b"\n")


def _end(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> None:
    """Serve the parent, and release everything when it is gone."""
    for number in _SIGNALS:
        signal.signal(number, _end)
    supervisor = Supervisor()
    try:
        _send(supervisor.greeting())
        for request in _requests(int(sys.argv[1])):
            _send(supervisor.reply(request))
    except BrokenPipeError:
        pass  # the parent went while it was owed a reply: as good an end as any
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # what has begun to be released all goes
        supervisor.release()


if __name__ == "__main__":
    main()
