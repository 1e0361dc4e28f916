"""`fixpoint exits`, `fixpoint version` and the help: complete, and quick to read."""

from __future__ import annotations

import re

import pytest

from controller import __version__
from controller.api.reasons import TERMINAL, ExitCode
from controller.cli.exits import MEANINGS
from controller.cli.main import app
from tests.cli.desk import Desk


def test_every_code_and_every_reason_is_there_once_and_in_its_place(desk: Desk) -> None:
    said = desk.fixpoint("exits")
    assert said.code == 0
    found: dict[str, int] = {}
    code = -1
    for line in said.out.splitlines():
        if match := re.match(r"(\d+)  ", line):
            code = int(match[1])
        elif match := re.match(r" +(\w+): ", line):
            assert match[1] not in found
            found[match[1]] = code
    assert found == {reason.value: ending.exit_code.value for reason, ending in TERMINAL.items()}
    assert set(MEANINGS) == set(ExitCode)


def test_the_version_is_the_package_s(desk: Desk) -> None:
    assert desk.fixpoint("version").out.startswith(f"fixpoint {__version__} (")


COMMANDS = ["run", "watch", "report", "verify", "trace", "replay", "exits", "version"]


def test_the_help_names_every_command(desk: Desk) -> None:
    said = desk.fixpoint("--help")
    assert said.code == 0
    assert {c.callback.__name__ for c in app.registered_commands if c.callback} == set(COMMANDS)
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", said.out)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(desk: Desk, command: str) -> None:
    said = desk.fixpoint(command, "--help")
    assert said.code == 0
    assert "Usage:" in said.out
