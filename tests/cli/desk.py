"""A small corpus with a task over it, and a command line that is called in process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.base import API_VERSION
from controller.cli.main import main

LAMP_MANUAL = """\
# The lamp

## Settings

### GLOW_LEVEL

Default: 40 lumens at the lowest dimmer position of the lamp.

### GLOW_COLOUR

Default: warm white, which is 2700 kelvin on every lamp of the series.

## Safety

The lamp switches itself off when its housing is hotter than 85 degrees.
"""

QUESTIONS = [
    {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
    {"id": "safety", "text": "When does the lamp switch itself off?"},
    {"id": "absent", "text": "What is the default of GLOW_FLAVOUR?"},
]


@dataclass(frozen=True)
class Said:
    """What a command line answered."""

    code: int
    out: str
    err: str


class Desk:
    """A folder with `corpora/lamp`, a task file, and a local store of its own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.task = folder / "task.yaml"
        self.store = folder / "store.db"
        self.report = folder / "report"
        self._capture = capture
        manual = folder / "corpora" / "lamp" / "manual.md"
        manual.parent.mkdir(parents=True)
        manual.write_text(LAMP_MANUAL, encoding="utf-8")
        self.write_task()

    def write_task(self, **spec: Any) -> None:  # noqa: ANN401 - any field
        """Write the task file, with these fields of the spec added or replaced."""
        manifest = {
            "apiVersion": API_VERSION,
            "kind": "ResearchTask",
            "metadata": {"name": "lamp"},
            "spec": {
                "topic": "The lamp",
                "questions": QUESTIONS,
                "sourceRefs": [{"name": "lamp"}],
                **spec,
            },
        }
        self.task.write_text(yaml.safe_dump(manifest, sort_keys=False), encoding="utf-8")

    def fixpoint(self, *arguments: str | Path) -> Said:
        """Call a command line."""
        self._capture.readouterr()
        code = main([str(argument) for argument in arguments])
        said = self._capture.readouterr()
        return Said(code, said.out, said.err)

    def run(self, *arguments: str | Path) -> Said:
        """Call `fixpoint run` on the task file."""
        corpora = self.folder / "corpora"
        return self.fixpoint(
            "run", "-f", self.task, "--corpus-root", corpora, "--store", self.store,
            "--output", self.report, *arguments,
        )  # fmt: skip

    def ask(self, command: str, *arguments: str | Path) -> Said:
        """Call a command that reads the task from the store."""
        return self.fixpoint(command, "lamp", "--store", self.store, *arguments)
