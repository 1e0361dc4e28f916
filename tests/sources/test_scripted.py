"""The scripted source: it does what its script says, and the same each time."""

from __future__ import annotations

import asyncio

import pytest

from controller.api.errors import ActionError, PermanentError, RetryableError
from controller.api.records import SearchStatus
from controller.ports import Source
from controller.sources.scripted import ScriptedSearch, ScriptedSource

MANUAL = {
    "file:lamp.txt": {"GLOW_LEVEL": "Default: 40 lumens.", "Safety": "It switches itself off."},
    "file:wall.txt": {"Colour": "The wall is white by default."},
}


async def found(source: Source, query: str, limit: int = 10) -> list[str]:
    outcome = await source.search(query, limit=limit, terms=())
    return [passage.blocks[0].text for passage in outcome.passages]


async def outcome_of(source: ScriptedSource) -> str:
    try:
        return str(len(await found(source, "default")))
    except ActionError as error:
        return error.error_class


async def test_passages_are_found_by_the_words_they_share_the_best_first() -> None:
    source = ScriptedSource("lamp", MANUAL)
    best, *_ = await found(source, "default GLOW_LEVEL")
    assert best == "Default: 40 lumens."
    assert await found(source, "default", limit=1) == ["Default: 40 lumens."]
    assert await found(source, "frost") == []


async def test_the_script_is_followed_entry_by_entry_and_then_the_last_word_counts() -> None:
    source = ScriptedSource(
        "lamp",
        MANUAL,
        failures=[None, RetryableError("RateLimited", "wait", 7), PermanentError("Gone", "404")],
    )
    outcomes = [await outcome_of(source) for _ in range(4)]
    assert outcomes == ["2", "RateLimited", "Gone", "2"]
    source.lasting_failure = PermanentError("Tls", "bad certificate")
    assert [await outcome_of(source) for _ in range(2)] == ["Tls", "Tls"]
    assert [s.query for s in source.searches] == ["default"] * 6


async def test_what_was_asked_is_recorded_whole() -> None:
    source = ScriptedSource("lamp", MANUAL)
    outcome = await source.search("default", limit=3, terms=("lumens", "frost"))
    assert source.searches == [ScriptedSearch("default", 3, ("lumens", "frost"))]
    assert [w.document_frequency for w in outcome.term_weights] == [1, 0]


async def test_a_hook_makes_it_slow_or_changes_what_it_holds() -> None:
    source = ScriptedSource("lamp", MANUAL)
    before = await source.observe()

    async def grow(search: ScriptedSearch) -> None:
        await asyncio.sleep(0)
        source.hold({**MANUAL, "file:new.txt": {"New": f"{search.query}, by default"}})

    source.before_search = grow
    assert len(await found(source, "default")) == 3
    after = await source.observe()
    assert after.documents == 3
    assert after.digest != before.digest


@pytest.mark.parametrize("status", [SearchStatus.COMPLETE, SearchStatus.PARTIAL])
async def test_two_sources_with_the_same_script_answer_alike(status: SearchStatus) -> None:
    one, other = [ScriptedSource("lamp", MANUAL, status=status, is_remote=True) for _ in range(2)]
    answers = [await s.search("default", limit=5, terms=("wall",)) for s in (one, other)]
    assert answers[0] == answers[1]
    assert answers[0].status is status
    assert one.is_remote
