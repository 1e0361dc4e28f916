"""Asks for settings: the real loop and the real index, over corpora on disk, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from controller.actions.publish import JSON_FILE
from controller.api.meta import ObjectMeta
from controller.api.source import Corpus, ResearchSource, ResearchSourceSpec, SourceType
from controller.cli.checking import check_report
from controller.evidence.report_format import Report, ReportQuestion
from controller.ports import Source
from controller.sources.corpus import ConfigMaps, make_source
from tests.contradictions.corpora import question
from tests.world import World

QUESTIONS_PER_TASK: Final = 20


async def asked(
    folder: Path, sources: Mapping[str, Path], names: Sequence[str]
) -> dict[str, ReportQuestion]:
    """Return what the reports say of the default of each setting, by its name.

    Args:
        folder: an empty one, for the store and the indexes.
        sources: directories by the names of their sources.
        names: of settings.
    """
    world = World(folder)
    world.references.sources = {
        name: _corpus(name, directory, folder) for name, directory in sources.items()
    }
    found: dict[str, ReportQuestion] = {}
    try:
        for at in range(0, len(names), QUESTIONS_PER_TASK):
            some = names[at : at + QUESTIONS_PER_TASK]
            found |= await _report(world, f"task-{at}", list(sources), some)
    finally:
        world.close()
    return found


async def _report(
    world: World, task: str, sources: Sequence[str], names: Sequence[str]
) -> dict[str, ReportQuestion]:
    key = world.apply(
        task,
        topic="The settings of Django",
        questions=[{"id": f"q{n}", "text": question(name)} for n, name in enumerate(names)],
        sourceRefs=[{"name": name} for name in sources],
        budgets={"maxSteps": 500, "activeDeadlineSeconds": 100_000},
    )
    await world.run(key, turns=5000)
    ended = await world.task(key)
    stored = await world.store.get_report(ended)
    assert stored is not None
    assert check_report(ended, await world.steps(key), stored).lies == ()
    report = Report.model_validate_json(stored.files[JSON_FILE])
    return {names[int(q.id[1:])]: q for q in report.questions}


def _corpus(name: str, directory: Path, folder: Path) -> Source:
    spec = ResearchSourceSpec(type=SourceType.CORPUS, corpus=Corpus(directory=directory.name))
    return make_source(
        ResearchSource(metadata=ObjectMeta(name=name), spec=spec),
        corpus_root=directory.parent,
        cache_directory=folder / "cache",
        load_config_maps=_no_config_maps,
    )


async def _no_config_maps(_namespace: str, names: Sequence[str]) -> ConfigMaps:
    return ConfigMaps({}, tuple(names))
