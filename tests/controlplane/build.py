"""Builds the control plane's executable file, once for each state of its sources.

The tests need the real etcd, API server and controller manager. Nobody should have to fetch
them by hand, so they are built from the Go module next to this file. `python -m
tests.controlplane.build` does it ahead of a test run, and prints the path of the result.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.controlplane.cache import cache_folder, exclusive, report
from tests.controlplane.toolchain import find_go, required_version

SOURCES = Path(__file__).parent
_SOURCE_FILES = ("main.go", "go.mod", "go.sum")
_PROGRESS_SECONDS = 15
_LINES_OF_A_FAILURE = 30


class BuildError(Exception):
    """The Go compiler refused, or its modules could not be had."""


def binary(sources: Path = SOURCES) -> Path:
    """Return the control plane's executable file, and build it first if it is not in the cache.

    Its first argument is one of etcd, kube-apiserver, kube-controller-manager and kubectl.
    """
    folder = cache_folder() / source_key(sources)
    executable = folder / "controlplane"
    if not executable.exists():
        with exclusive(folder.with_suffix(".lock"), waiting_for="it builds the control plane"):
            if not executable.exists():  # else the process that was waited for has built it
                folder.mkdir(exist_ok=True)
                _build(sources, executable)
    return executable


def source_key(sources: Path = SOURCES) -> str:
    """Return a name for everything that decides what the executable file is."""
    digest = hashlib.sha256()
    for name in _SOURCE_FILES:
        content = (sources / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    # A home folder can be shared by machines of several kinds.
    settings = (*build_flags(sources), platform.system(), platform.machine())
    digest.update("\n".join(settings).encode())
    return digest.hexdigest()[:16]


def kubernetes_version(sources: Path = SOURCES) -> tuple[int, int, int]:
    """Return the version of Kubernetes that the Go module requires."""
    go_mod = (sources / "go.mod").read_text(encoding="utf-8")
    found = re.search(r"^\tk8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)$", go_mod, re.MULTILINE)
    if found is None:
        raise ValueError(f"{sources / 'go.mod'} requires no release of k8s.io/kubernetes")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def build_flags(sources: Path = SOURCES) -> tuple[str, ...]:
    """Return the flags of `go build`.

    Kubernetes learns its version from the linker. Without it, it would call itself
    v0.0.0-master, which clients that look at the server's version take for a very old one.
    """
    major, minor, patch = kubernetes_version(sources)
    version = {
        "gitVersion": f"v{major}.{minor}.{patch}",
        "gitMajor": str(major),
        "gitMinor": str(minor),
    }
    linker_flags = ["-s", "-w"]  # no symbol table and no debugging information: a third smaller
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        linker_flags += [f"-X {package}.{name}={value}" for name, value in version.items()]
    return (
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        f"-ldflags={' '.join(linker_flags)}",
    )


def _build(sources: Path, executable: Path) -> None:
    go = find_go(required_version((sources / "go.mod").read_text(encoding="utf-8")))
    report("building etcd, kube-apiserver, kube-controller-manager and kubectl")
    report("the first time this takes 5 to 8 minutes on 2 cores, and 2.5 GB for Go's caches")
    # A build that is interrupted must not look like a result: the name comes last.
    unfinished = executable.with_suffix(".unfinished")
    log = executable.with_name("build.log")
    begin = time.monotonic()
    status = _run_with_progress(
        [str(go), "build", *build_flags(sources), "-o", str(unfinished), "."], sources, log
    )
    if status != 0:
        raise BuildError(f"go build ended with status {status}:\n{last_lines(log)}")
    unfinished.replace(executable)
    report(f"built {executable} in {time.monotonic() - begin:.0f} s")


def _run_with_progress(command: list[str], folder: Path, log: Path) -> int:
    """Run a command with its output in a file, say every while that it still runs."""
    begin = time.monotonic()
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            cwd=folder,
            env=_build_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            while True:
                try:
                    return process.wait(_PROGRESS_SECONDS)
                except subprocess.TimeoutExpired:
                    report(f"still building, {time.monotonic() - begin:.0f} s so far")
        finally:
            if process.returncode is None:  # interrupted
                process.kill()


def _build_environment() -> dict[str, str]:
    """Return the environment with the settings that make the build the same for everybody."""
    fixed = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    crossing = {"GOOS", "GOARCH"}  # the result is to run here
    return {name: value for name, value in os.environ.items() if name not in crossing} | fixed


def last_lines(file: Path, count: int = _LINES_OF_A_FAILURE) -> str:
    """Return the end of a log file, for the text of an error."""
    return "\n".join(file.read_text(encoding="utf-8", errors="replace").splitlines()[-count:])


if __name__ == "__main__":
    sys.stdout.write(f"{binary()}\n")
