"""Whole runs over remote sources: the loop, the adapters and the fetcher, on scripted servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from controller.api.reasons import TerminalReason
from controller.api.records import QuestionState
from controller.api.step import ActionName, ResearchStep
from controller.api.task import ResearchTask
from controller.cli.checking import check_report
from controller.loop.reading import BARS_ABSENCE
from controller.loop.replay import decided_again, reduced
from controller.sources.web.failures import RETRYABLE, FetchFailure
from tests.sources.remote import shapes
from tests.sources.remote.adapters import (
    KEY,
    SECRET,
    ByPath,
    HeldKey,
    article,
    as_html,
    as_json,
    source_of,
)
from tests.sources.web.conftest import sockets
from tests.sources.web.site import Received, Reply, Route, Site, page, redirect
from tests.sources.web.world import World as Internet
from tests.world import World

__all__ = ["sockets"]

PAGES = "http://pages.example"
ENGINE = "http://search.example"
SEARXNG: dict[str, Any] = {"type": "SearXNG", "searxng": {"baseURL": ENGINE}}
ABSENT = [{"id": "absent", "text": "What is the default of FROST_LEVEL?"}]
GLOW_PAGE = article("GLOW_LEVEL", shapes.GLOW, "Wipe the glass with a dry cloth.")
CARE = article("Care", "The glass of the lamp is wiped with a dry cloth, once a week or so.")


async def ended(
    world: World,
    source: Any,  # noqa: ANN401 - any source
    **spec: Any,  # noqa: ANN401 - any field
) -> tuple[ResearchTask, tuple[ResearchStep, ...]]:
    """Take a task to its end over every back-off; its journal replays, its report holds."""
    world.references.sources["library"] = source
    key = world.apply(sourceRefs=[{"name": "library"}], **spec)
    operator = world.operator()
    for _ in range(30):
        await world.run(key, operator)
        if (await world.task(key)).status.terminal_reason is not None:
            break
        world.clock.advance(61)
    task, steps = await world.task(key), await world.steps(key)
    assert task.status.terminal_reason is not None
    specs = {task.metadata.generation: task.spec}
    assert reduced(task, steps, specs) is None
    assert decided_again(task, steps, specs).divergence is None
    stored = await world.store.get_report(task)
    assert stored is not None
    assert check_report(task, steps, stored).lies == ()
    return task, steps


async def report(world: World, task: ResearchTask) -> str:
    stored = await world.store.get_report(task)
    assert stored is not None
    return "\n".join(stored.files.values())


def reads(steps: tuple[ResearchStep, ...]) -> list[ResearchStep]:
    return [step for step in steps if step.spec.action is ActionName.READ]


@asynccontextmanager
async def engine(
    pages: dict[str, Route], *found: shapes.Found, answer: Route | None = None
) -> AsyncIterator[tuple[Internet, Site, Site]]:
    """Serve pages, and an engine that finds these of them, or answers so."""
    route = answer or as_json(shapes.searxng(*found))
    async with Site(pages) as site, Site(ByPath({"/search": route})) as server:
        yield Internet({PAGES: site, ENGINE: server}), site, server


async def test_a_web_of_pages_is_read_and_quoted(world: World) -> None:
    home = article("Lamps", "All lamps of the series.", more='<a href="/glow">The glow</a>')
    routes: dict[str, Route] = {"/": home, "/glow": GLOW_PAGE}
    async with Site(routes) as site:
        spec: dict[str, Any] = {"type": "Web", "web": {"urls": [f"{PAGES}/"], "maxDepth": 1}}
        async with source_of(Internet({PAGES: site}), **spec) as source:
            task, steps = await ended(world, source)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    facts = [f for s in steps if s.spec.extract for f in s.spec.extract.facts]
    assert shapes.GLOW in {f.citations[0].quote for f in facts}
    assert f"{PAGES}/glow" in await report(world, task)
    assert task.status.usage is not None
    assert task.status.usage.source_calls == 1 + len(reads(steps))


async def test_what_an_engine_finds_is_read_and_quoted(world: World) -> None:
    async with (
        engine({"/glow": GLOW_PAGE, "/colour": CARE}, *shapes.PAGES) as (net, site, _),
        source_of(net, **SEARXNG) as source,
    ):
        task, steps = await ended(world, source)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert [s.spec.outcome for s in reads(steps)] == ["Completed", "Completed"]
    assert site.targets == ["/robots.txt", "/glow", "/colour"]
    published = await report(world, task)
    assert shapes.GLOW in published
    assert shapes.PAGES[0][2] not in published, "a snippet is never cited"


async def test_what_no_page_says_is_not_found_with_a_certificate(world: World) -> None:
    async with (
        engine({"/glow": GLOW_PAGE, "/colour": CARE}, *shapes.PAGES) as (net, _, _),
        source_of(net, **SEARXNG) as source,
    ):
        task, steps = await ended(world, source, questions=ABSENT)
    assert task.status.questions[0].state is QuestionState.NOT_FOUND
    (answer,) = [s.spec.answer for s in steps if s.spec.answer]
    assert answer.certificate is not None


async def test_pages_that_are_gone_or_of_no_type_are_closed_and_bar_nothing(world: World) -> None:
    pages: dict[str, Route] = {
        "/glow": page(b"", 410),
        "/colour": page(b"GIF89a\x00", content_type="image/gif"),
    }
    async with (
        engine(pages, *shapes.PAGES) as (net, _, _),
        source_of(net, **SEARXNG) as source,
    ):
        task, steps = await ended(world, source, questions=ABSENT)
    closed = [s.spec.read for s in reads(steps) if s.spec.read]
    assert [(r.closed_by, r.bars_absence) for r in closed] == [
        ("Gone", False),
        ("UnsupportedType", False),
    ]
    assert task.status.questions[0].state is QuestionState.NOT_FOUND


async def test_a_page_behind_a_login_bars_an_absence(world: World) -> None:
    login = as_html(
        "<title>Log in</title><body><h1>Please log in</h1><a href=/f>Forgot your password?</a>"
    )
    async with (
        engine({"/glow": GLOW_PAGE, "/colour": login}, *shapes.PAGES) as (net, _, _),
        source_of(net, **SEARXNG) as source,
    ):
        task, steps = await ended(world, source, questions=ABSENT)
    assert "SoftFailure" in {s.spec.read.closed_by for s in reads(steps) if s.spec.read}
    (question,) = task.status.questions
    assert (question.state, question.reason) == (QuestionState.UNRESOLVED, "SourcePartial")


async def test_an_engine_whose_engines_are_down_ends_as_unavailable(world: World) -> None:
    answer = as_json(shapes.searxng(unresponsive=(("google", "timeout"),)))
    async with (
        engine({}, answer=answer) as (net, _, server),
        source_of(net, **SEARXNG) as source,
    ):
        task, _ = await ended(world, source)
    assert task.status.terminal_reason is TerminalReason.SOURCES_UNAVAILABLE
    assert len(server.requests) == 3, "an attempt and two retries"
    (message,) = {c.message for c in task.status.conditions if c.type == "Succeeded"}
    assert "google" in message


async def test_some_engines_down_bar_an_absence_and_no_answer(world: World) -> None:
    down = as_json(shapes.searxng(*shapes.PAGES, unresponsive=(("google", "timeout"),)))
    both = [{"id": "glow", "text": "What is the default of GLOW_LEVEL?"}, *ABSENT]
    async with (
        engine({"/glow": GLOW_PAGE, "/colour": CARE}, answer=down) as (net, _, _),
        source_of(net, **SEARXNG) as source,
    ):
        task, _ = await ended(world, source, questions=both, progressPolicy={"maxStalledSteps": 50})
    assert [(q.state, q.reason) for q in task.status.questions] == [
        (QuestionState.ANSWERED, None),
        (QuestionState.UNRESOLVED, "SourcePartial"),
    ]


async def test_a_format_that_is_off_is_told_at_the_end(world: World) -> None:
    async with (
        engine({}, answer=page(b"", 403)) as (net, _, server),
        source_of(net, **SEARXNG) as source,
    ):
        task, _ = await ended(world, source)
    assert task.status.terminal_reason is TerminalReason.SOURCES_UNAVAILABLE
    assert len(server.requests) == 1, "it is not retried"
    (message,) = {c.message for c in task.status.conditions if c.type == "Succeeded"}
    assert "add json to search.formats" in message


async def test_a_key_that_is_refused_ends_a_run_after_one_request(world: World) -> None:
    spec: dict[str, Any] = {"type": "Tavily", "tavily": {"baseURL": ENGINE}}
    for answer, reason in (
        (page(b"", 401), TerminalReason.CREDENTIALS_REJECTED),
        (page(b"", 432), TerminalReason.QUOTA_EXHAUSTED),
    ):
        async with engine({}, answer=answer) as (net, _, server):
            made = {**spec, "credentialsSecretRef": SECRET}
            async with source_of(net, key=HeldKey(KEY), **made) as source:
                task, steps = await ended(world, source, requested_at=reason)
        assert task.status.terminal_reason is reason
        assert len(server.requests) == 1
        assert KEY not in "".join(s.spec.model_dump_json() for s in steps)
        assert KEY not in await report(world, task)
        world.store.delete_task(world.apply())


async def test_an_engine_that_asks_for_patience_is_not_asked_before(world: World) -> None:
    answers = iter([page(b"", 429, retry_after="30"), as_json(shapes.searxng(*shapes.PAGES))])

    def answered(_: Received) -> Reply:
        return next(answers)

    async with (
        engine({"/glow": GLOW_PAGE, "/colour": CARE}, answer=answered) as (net, _, _),
        source_of(net, **SEARXNG) as source,
    ):
        task, steps = await ended(world, source)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    first, second = [s.spec for s in steps if s.spec.action is ActionName.SEARCH]
    assert first.error is not None
    assert first.error.error_class == "RateLimited"
    assert (second.start_time - first.end_time).total_seconds() >= 30


async def test_reads_of_pages_never_cross_the_budget(world: World) -> None:
    async with (
        engine({"/glow": CARE, "/colour": CARE}, *shapes.PAGES) as (net, site, server),
        source_of(net, **SEARXNG) as source,
    ):
        task, _ = await ended(world, source, budgets={"maxSourceCalls": 2})
    assert task.status.terminal_reason is TerminalReason.SOURCE_CALL_BUDGET_EXHAUSTED
    assert len(server.requests) + len(set(site.targets) - {"/robots.txt"}) == 2


async def test_a_page_that_leads_inside_reads_nothing_there(world: World) -> None:
    async with Site({"/secret": GLOW_PAGE}) as inside:
        lures: dict[str, Route] = {
            "/glow": redirect(f"{inside.origin}/secret"),
            "/colour": redirect("http://169.254.169.254/latest/meta-data/"),
        }
        async with (
            engine(lures, *shapes.PAGES) as (net, _, _),
            source_of(net, opened=(ENGINE,), **SEARXNG) as source,
        ):
            _, steps = await ended(world, source)
        assert inside.connections == 0
    assert {s.spec.read.closed_by for s in reads(steps) if s.spec.read} == {"BlockedAddress"}


async def test_a_wiki_is_cited_by_revision_and_a_moved_page_is_found_again(world: World) -> None:
    pages = {7: shapes.wiki_page(7, "GLOW_LEVEL", 41, f"<p>{shapes.GLOW}</p>")}

    def answered(request: Received) -> Reply:
        if "action=parse" in request.target:
            return as_json(pages[7])
        return as_json(shapes.wiki_search((7, "GLOW_LEVEL", "Default")))

    spec: dict[str, Any] = {"type": "MediaWiki", "mediaWiki": {"apiURL": f"{PAGES}/w/api.php"}}
    async with (
        Site(ByPath({"/w/api.php": answered})) as site,
        source_of(Internet({PAGES: site}), **spec) as source,
    ):
        task, _ = await ended(world, source, refreshIntervalSeconds=3600)
        assert f"{PAGES}/w/index.php?curid=7&oldid=41" in await report(world, task)
        pages[7] = shapes.wiki_page(
            7, "GLOW_LEVEL of lamps", 52, f"<p>More.</p><p>{shapes.GLOW}</p>"
        )
        world.clock.advance(3601)
        await world.run(world.apply(sourceRefs=[{"name": "library"}], refreshIntervalSeconds=3600))
        task = await world.task(
            world.apply(sourceRefs=[{"name": "library"}], refreshIntervalSeconds=3600)
        )
    assert task.status.round == 1
    assert task.status.questions[0].state is QuestionState.ANSWERED
    assert f"{PAGES}/w/index.php?curid=7&oldid=52" in await report(world, task)


async def test_a_page_that_is_gone_at_the_next_round_takes_its_facts_with_it(world: World) -> None:
    pages: dict[str, Route] = {"/glow": GLOW_PAGE, "/colour": CARE}
    fields: dict[str, Any] = {
        "sourceRefs": [{"name": "library"}],
        "refreshIntervalSeconds": 3600,
    }
    async with (
        engine(pages, *shapes.PAGES) as (net, _, _),
        source_of(net, **SEARXNG) as source,
    ):
        await ended(world, source, refreshIntervalSeconds=3600)
        pages["/glow"] = page(b"", 404)
        world.clock.advance(3601)
        key = world.apply(**fields)
        for _ in range(10):
            await world.run(key)
            world.clock.advance(61)
        task = await world.task(key)
    assert task.status.round == 1
    assert task.status.questions[0].state is not QuestionState.ANSWERED


def test_the_errors_of_a_page_are_those_that_close_a_hit() -> None:
    of_pages = set(FetchFailure) - RETRYABLE - {FetchFailure.BAD_REQUEST}
    assert {failure.value for failure in of_pages} <= set(BARS_ABSENCE)
