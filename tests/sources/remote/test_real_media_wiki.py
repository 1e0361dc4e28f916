"""The adapter against a real MediaWiki 1.39: what the scripted shapes stand for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from controller.api.reasons import TerminalReason
from controller.api.records import QuestionState, SearchStatus
from controller.clock import SteppedClock
from controller.connections import ConnectionGuard, OpenedOrigins
from controller.sources.making import REMOTE
from controller.sources.remote.base import Network, NoKey, RemoteSource
from controller.sources.web.fetcher import Delays, Fetcher
from tests.sources.remote.adapters import resource, searched
from tests.sources.remote.debian import DebianUnavailableError
from tests.sources.remote.real_wiki import RealWiki
from tests.sources.remote.shapes import GLOW
from tests.sources.web.world import NOW
from tests.world import World

TEXT = f"The lamp has one dial.\n\n== GLOW_LEVEL ==\n{GLOW}\n\n* An item.\n"


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealWiki]:
    """A wiki with two pages; without Debian's packages there is none, and these are skipped."""
    try:
        made = RealWiki(tmp_path_factory.mktemp("wiki"))
    except DebianUnavailableError as error:
        pytest.skip(f"no MediaWiki here: {error}")
    made.edit("Settings of the lamp", TEXT)
    made.edit("Care", "The glass of the lamp is wiped with a dry cloth.")
    with made.serving():
        yield made


@pytest.fixture
async def source(wiki: RealWiki) -> AsyncIterator[RemoteSource]:
    made = resource(type="MediaWiki", mediaWiki={"apiURL": wiki.api_url})
    guard = ConnectionGuard(OpenedOrigins.parse([wiki.origin]))
    clock = SteppedClock(NOW, timedelta(0))
    async with Fetcher(guard, clock=clock, delays=Delays(usual=0, opened=0)) as fetcher:
        yield REMOTE[made.spec.type](made, Network(fetcher=fetcher, guard=guard, key=NoKey()))


async def test_its_search_is_understood(source: RemoteSource) -> None:
    await source.observe()
    found = await searched(source, "default GLOW_LEVEL")
    (hit,) = found.hits
    assert hit.title == "Settings of the lamp"
    assert hit.snippet.startswith("== GLOW_LEVEL ==")
    assert (found.status, found.total) == (SearchStatus.COMPLETE, 1)
    assert (await searched(source, "nothing of the kind")).hits == ()


async def test_its_pages_are_read_with_their_headings(source: RemoteSource) -> None:
    (hit,) = (await searched(source, "GLOW_LEVEL")).hits
    read = await source.read(hit.locator)
    assert read.document is not None
    assert read.document.title == "Settings of the lamp"
    assert "&oldid=" in read.document.locator
    (block,) = [b for b in read.blocks if b.text == GLOW]
    assert block.heading_path == ("Settings of the lamp", "GLOW_LEVEL")


async def test_a_moved_page_is_found_again_in_its_newest_revision(
    wiki: RealWiki, source: RemoteSource
) -> None:
    wiki.edit("Colours", "The colour of the lamp is warm white by default.")
    (hit,) = (await searched(source, "warm white")).hits
    before = (await source.read(hit.locator)).document
    assert before is not None
    wiki.move("Colours", "Colours of the lamp")
    after = (await source.read(before.locator)).document
    assert after is not None
    assert (before.title, after.title) == ("Colours", "Colours of the lamp")
    assert after.locator != before.locator
    assert after.locator.partition("&")[0] == before.locator.partition("&")[0]


async def test_a_deleted_page_is_not_there(wiki: RealWiki, source: RemoteSource) -> None:
    wiki.edit("Short-lived", "This page about ephemera will be deleted.")
    (hit,) = (await searched(source, "ephemera")).hits
    cited = (await source.read(hit.locator)).document
    assert cited is not None
    wiki.delete("Short-lived")
    assert (await source.read(hit.locator)).document is None
    assert (await source.read(cited.locator)).document is None


async def test_a_task_is_answered_from_it(source: RemoteSource, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.references.sources["library"] = source
    absent = {"id": "absent", "text": "What is the default of FROST_LEVEL?"}
    glow = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
    key = world.apply(
        questions=[glow, absent],
        sourceRefs=[{"name": "library"}],
        progressPolicy={"maxStalledSteps": 50},
    )
    await world.run(key)
    task = await world.task(key)
    world.close()
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert [q.state for q in task.status.questions] == [
        QuestionState.ANSWERED,
        QuestionState.NOT_FOUND,
    ]
