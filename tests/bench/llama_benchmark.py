"""How true a report stays on a real, weak model: `python -m tests.bench llama`.

    python -m tests.bench.llama_benchmark [--questions N]

Prints JSON: of questions about settings of Django, in tasks of eight, how many quotes the model
proposed, how many were verified and why the others were not, how many questions were answered, what
it took, and how many quotes of the reports are false. That is found out by code that shares nothing
with the verifier: a quote must stand in the file that its citation names, letter for letter, when
both are stripped of markup. Needs the packages of requirements-llama.lock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from controller.actions.publish import JSON_FILE
from controller.api.records import QuestionState
from controller.api.step import ResearchStep
from controller.cli.homes import default_cache
from controller.models.endpoint import EndpointModel
from demo.corpus import django_docs
from tests.bench.index_benchmark import source_over
from tests.llama.real_model import PATIENCE_SECONDS, real_model
from tests.llama.server import LlamaServer, LlamaUnavailableError
from tests.model_runs import finished
from tests.world import World

A_TASK: Final = 8
"""Questions of one task."""

_SETTING: Final = re.compile(r"^``([A-Z][A-Z0-9_]+)``\n[-~]+\n\nDefault:{1,2} ?(.+)$", re.MULTILINE)
_SPEC: Final[dict[str, Any]] = {
    "topic": "Settings of Django 5.2",
    "sourceRefs": [{"name": "django-docs"}],
    "modelRef": {"name": "tiny"},
    "onModelFailure": "Extractive",
    "progressPolicy": {
        "stepTimeoutSeconds": PATIENCE_SECONDS,
        "planningInterval": 0,
        "maxStalledSteps": 50,  # each question is asked, however badly the last one went
        "maxActionRetries": 1,
    },
    "budgets": {"activeDeadlineSeconds": 86_400, "maxStepsPerQuestion": 4, "maxModelCalls": 40},
}


@dataclass
class Measured:
    """What all tasks came to."""

    tasks: int = 0
    questions: int = 0
    questions_that_the_model_read_for: int = 0
    answered: int = 0
    answered_with_the_default: int = 0
    quotes_proposed: int = 0
    facts_verified: int = 0
    facts_rejected: int = 0
    rejected_by_reason: Counter[str] = field(default_factory=Counter)
    model_calls: int = 0
    model_failures: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tokens_that_the_server_counted: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    quotes_published: int = 0
    false_quotes: list[str] = field(default_factory=list)


def settings_of(directory: Path) -> dict[str, str]:
    """Return the settings with a default, by name; those that two headings have are left out."""
    text = (directory / "docs" / "ref" / "settings.txt").read_text(encoding="utf-8")
    found = _SETTING.findall(text)
    names = Counter(name for name, _ in found)
    return {name: letters(value) for name, value in found if names[name] == 1}


def letters(text: str) -> str:
    """Return a text's letters and digits alone, with the titles of roles and links."""
    text = re.sub(r"(?::[a-z][\w:.+-]*:)?`([^`<]+?)\s*<[^`>]*>`_{0,2}", r"\1", text)
    text = re.sub(r":[a-z][\w:.+-]*:`~?(?:[^`<]*\.)?([^`<.]+)`", r"\1", text)
    return "".join(c for c in text if c.isalnum())


_MODEL: Final[dict[str, Any]] = {
    "contextWindowTokens": 1536,
    "maxOutputTokens": 128,
    "temperature": "0.8",  # what llama.cpp itself takes: the more kinds of nonsense, the better
}


async def measure(directory: Path, count: int) -> Measured:
    """Run the tasks one after another: the model is given all of the machine."""
    settings = settings_of(directory)
    every = sorted(name for name, value in settings.items() if value)
    chosen = [every[at * len(every) // count] for at in range(count)]
    tasks = [chosen[at : at + A_TASK] for at in range(0, count, A_TASK)]
    measured = Measured()
    with LlamaServer(slots=1, threads=os.cpu_count() or 1) as server:
        async with real_model(server, **_MODEL) as (model, _):
            for number, names in enumerate(tasks, start=1):
                await _run(measured, model, directory, {n: settings[n] for n in names})
                sys.stderr.write(f"task {number} of {len(tasks)} has ended: {measured}\n")
                sys.stderr.flush()
        measured.tokens_that_the_server_counted = server.tokens()
    return measured


async def _run(
    measured: Measured, model: EndpointModel, directory: Path, settings: dict[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.references.sources = {"django-docs": source_over(directory, default_cache())}
        world.references.models["tiny"] = model
        questions = [
            {"id": name.lower().replace("_", "-"), "text": f"What is the default value of {name}?"}
            for name in settings
        ]
        ran = await finished(world, world.apply(questions=questions, **_SPEC))
        stored = await world.store.get_report(ran.task)
        world.close()
    assert stored is not None
    report = json.loads(stored.files[JSON_FILE])
    measured.tasks += 1
    measured.questions += len(questions)
    measured.endings[ran.ending or "none"] += 1
    measured.model_calls += ran.usage.model_calls
    measured.prompt_tokens += ran.usage.prompt_tokens
    measured.completion_tokens += ran.usage.completion_tokens
    for step in ran.steps:
        _count_step(measured, step)
    read = {s.spec.question_id for s in ran.steps if s.spec.extract and s.spec.model_call}
    measured.questions_that_the_model_read_for += len(read)
    answered = [q.id for q in ran.task.status.questions if q.state is QuestionState.ANSWERED]
    measured.answered += len(answered)
    measured.quotes_published += len(report["references"])
    measured.false_quotes += false_quotes(directory, report)
    measured.answered_with_the_default += sum(
        any(_is_of(name, value, quoted) for quoted in _quoted(report, question["id"]))
        for question, (name, value) in zip(questions, settings.items(), strict=True)
        if question["id"] in answered
    )


def _count_step(measured: Measured, step: ResearchStep) -> None:
    spec = step.spec
    if spec.error is not None and spec.model_call is not None:
        measured.model_failures[spec.error.error_class] += 1
    if spec.model_call is None or spec.extract is None:
        return
    measured.quotes_proposed += int(spec.observation.summary.partition(" ")[0])
    for fact in spec.extract.facts:
        if fact.status == "Verified":
            measured.facts_verified += 1
            continue
        measured.facts_rejected += 1
        failed = next(verdict for verdict in fact.verdicts if not verdict.passed)
        measured.rejected_by_reason[f"{failed.predicate} {failed.reason}"] += 1


def _quoted(report: dict[str, Any], question: str) -> Iterator[dict[str, Any]]:
    """Yield the references of the statements on a question."""
    numbered = {r["number"]: r for r in report["references"]}
    for item in report["questions"]:
        if item["id"] == question:
            for statement in item["statements"]:
                yield from (numbered[number] for number in statement["citations"])


def _is_of(name: str, value: str, reference: dict[str, Any]) -> bool:
    """Say whether a quote has a setting's default, and is about that setting."""
    quote = letters(reference["quote"])
    return value in quote and letters(name) in letters(quote + str(reference["headingPath"]))


def false_quotes(directory: Path, report: dict[str, Any]) -> list[str]:
    """Return the quotes that do not stand in the file that their citation names."""
    false = []
    for reference in report["references"]:
        path = directory / reference["locator"].removeprefix("file:")
        if letters(reference["quote"]) not in letters(path.read_text(encoding="utf-8")):
            false.append(f"{reference['locator']}: {reference['quote']}")
    return false


def printed(measured: Measured, **taken: float) -> str:
    """Return a measurement as JSON. `asdict` would make keys of a counter's pairs."""
    return json.dumps({"benchmark": "llama", **vars(measured), **taken}, indent=2)


def main() -> int:
    """Measure; return 1 if a quote is false."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.llama_benchmark")
    parser.add_argument("--questions", type=int, default=40, metavar="N")
    options = parser.parse_args()
    directory = django_docs()
    began = time.monotonic()
    try:
        measured = asyncio.run(measure(directory, options.questions))
    except LlamaUnavailableError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    taken = {"seconds": round(time.monotonic() - began), "load": round(os.getloadavg()[0], 1)}
    print(printed(measured, **taken))
    return 1 if measured.false_quotes else 0


if __name__ == "__main__":
    sys.exit(main())
