"""The golden runs as files: a folder each, with a journal, a task at each generation, a status."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from controller.api.step import ResearchStep
from controller.api.task import ResearchTask, ResearchTaskSpec
from controller.cli.journal_file import parse_journal
from tests.golden.scenarios import Made, Manifest, from_format_zero

FOLDER: Final = Path(__file__).parent
UPDATE: Final = "FIXPOINT_UPDATE_GOLDEN"
MIGRATIONS: Final = {0: from_format_zero}


@dataclass(frozen=True)
class Golden:
    """A golden run, read from its files."""

    task: ResearchTask
    steps: tuple[ResearchStep, ...]
    specs: dict[int, ResearchTaskSpec]


def read(name: str) -> Golden:
    """Return a golden run; one of an older format is read through the tests' migration."""
    tasks = [
        ResearchTask.model_validate(yaml.safe_load(path.read_text("utf-8")))
        for path in task_files(name)
    ]
    journal = parse_journal(journal_file(name).read_bytes(), MIGRATIONS)
    assert journal.torn is None
    newest = max(tasks, key=lambda task: task.metadata.generation)
    return Golden(
        ResearchTask.model_validate({**newest.to_json(), "status": read_status(name)}),
        journal.steps,
        {task.metadata.generation: task.spec for task in tasks},
    )


def journal_file(name: str) -> Path:
    return FOLDER / name / "journal.jsonl"


def task_files(name: str) -> list[Path]:
    """Return the files of a run's task, one for each generation, in their order."""
    return sorted((FOLDER / name).glob("task-*.yaml"))


def read_status(name: str) -> Manifest:
    status: Manifest = json.loads((FOLDER / name / "status.json").read_text("utf-8"))
    return status


def write(name: str, made: Made) -> None:
    """Replace the files of a golden run."""
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    journal_file(name).write_bytes(made.journal)
    for task in made.tasks:
        text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True)
        (folder / f"task-{task['metadata']['generation']}.yaml").write_text(text, encoding="utf-8")
    text = json.dumps(made.status, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    (folder / "status.json").write_text(text, encoding="utf-8")
