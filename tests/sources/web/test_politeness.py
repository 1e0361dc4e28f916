"""Politeness: one request at a time to a host, and a pause between two, without real time."""

from __future__ import annotations

import asyncio

import pytest

from controller.sources.web.fetcher import Delays
from controller.sources.web.politeness import Turns
from controller.sources.web.request import FetchRules, Request
from tests.sources.web.site import Reply, Site, page
from tests.sources.web.timing import Time
from tests.sources.web.world import PLAIN, World, own


async def test_a_host_is_left_alone_between_two_requests() -> None:
    time = Time()
    turns = time.turns()
    for _ in range(3):
        async with turns.turn("a.example", 1):
            time.now += 0.25
    assert time.slept == [1, 1], "from the end of one to the beginning of the next"
    time.now += 5
    async with turns.turn("a.example", 1):
        pass
    assert time.slept == [1, 1]


async def test_hosts_do_not_wait_for_each_other() -> None:
    time = Time()
    turns = time.turns()
    async with turns.turn("a.example", 1), turns.turn("b.example", 1):
        pass
    assert time.slept == []


async def test_one_request_at_a_time_is_sent_to_a_host_first_come_first_served() -> None:
    turns = Time().turns()
    inside, order = 0, []

    async def visit(number: int) -> None:
        nonlocal inside
        async with turns.turn("a.example", 1):
            inside += 1
            assert inside == 1
            order.append(number)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(visit(number) for number in range(20)))
    assert order == list(range(20))


async def test_who_gives_up_waiting_keeps_nobody_else() -> None:
    turns = Time().turns()
    async with turns.turn("a.example", 1):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0), turns.turn("a.example", 1):
                raise AssertionError("it is somebody else's turn")
    async with turns.turn("a.example", 1):
        pass


async def test_a_request_that_failed_counts_as_one() -> None:
    time = Time()
    turns = time.turns()
    with pytest.raises(KeyError):
        async with turns.turn("a.example", 1):
            raise KeyError
    async with turns.turn("a.example", 1):
        pass
    assert time.slept == [1]


async def test_what_is_remembered_of_hosts_is_bounded() -> None:
    time = Time()
    turns = time.turns()
    for number in range(5000):
        async with turns.turn(f"h{number}.example", 1):
            time.now += 0.1
    assert len(turns._hosts) <= 1024
    async with turns.turn("h4999.example", 1):
        pass
    assert time.slept == [1], "who was asked a moment ago is not forgotten"


async def test_a_host_with_a_long_pause_is_not_forgotten_before_it_is_over() -> None:
    time = Time()
    turns = time.turns()
    async with turns.turn("slow.example", 600):
        pass
    for number in range(3000):
        async with turns.turn(f"h{number}.example", 1):
            time.now += 0.05
    async with turns.turn("slow.example", 600):
        pass
    assert time.slept == [450]


async def fetched_in(time: Time, robots: bytes, rules: FetchRules, delays: Delays) -> list[bool]:
    """Fetch a page three times; return whether each fetch says that it was slowed."""
    async with Site({"/robots.txt": page(robots), "/": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher(turns=time.turns(), delays=delays) as fetcher:
            request = Request(url="http://a.example/")
            return [(await fetcher.fetch(request, rules)).is_slowed for _ in range(3)]


@pytest.mark.parametrize(
    ("crawl_delay", "rules", "slept", "is_slowed"),
    [
        (None, FetchRules(), 1, False),
        (0.2, FetchRules(), 1, False),
        (4, FetchRules(), 4, False),
        (10, FetchRules(), 10, False),
        (3600, FetchRules(), 10, True),
        (4, FetchRules(least_delay_seconds=6), 6, False),
        (None, FetchRules(least_delay_seconds=3), 3, False),
        (3600, FetchRules(obey_robots=False), 1, False),
    ],
)
async def test_the_pause_is_the_longest_that_somebody_asks_for_up_to_ten_seconds(
    crawl_delay: float | None, rules: FetchRules, slept: float, *, is_slowed: bool
) -> None:
    time = Time()
    robots = f"User-agent: *\nCrawl-delay: {crawl_delay}\n" if crawl_delay else ""
    assert await fetched_in(time, robots.encode(), rules, Delays()) == [is_slowed] * 3
    # The robots file is a request as well, and the first page waits after it.
    assert time.slept == [slept] * (3 if rules.obey_robots else 2)


async def test_the_pause_can_be_turned_off_for_origins_that_the_owner_has_opened() -> None:
    time = Time()
    async with Site({"/": page(b"ok")}) as site:
        world = World()
        async with world.fetcher(
            site.origin, network=None, turns=time.turns(), delays=Delays(opened=0)
        ) as fetcher:
            for _ in range(3):
                await fetcher.fetch(Request(url=f"{site.origin}/"), own(site.origin))
    assert time.slept == []
    assert await fetched_in(time, b"", own("http://a.example"), Delays(opened=0)) == [False] * 3
    assert time.slept == [1, 1], "a public origin is not opened by being named"


async def test_a_redirect_waits_for_its_turn_as_well() -> None:
    time = Time()
    moved = Reply([b"HTTP/1.1 302 Found\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n"])
    async with Site({"/": moved, "/new": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher(turns=time.turns(), delays=Delays()) as fetcher:
            await fetcher.fetch(Request(url="http://a.example/"), PLAIN)
    assert time.slept == [1]


async def test_waiting_for_a_turn_is_not_on_the_time_of_the_fetch_but_of_its_caller() -> None:
    async with Site({"/": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        turns = Turns()
        async with world.fetcher(turns=turns) as fetcher:
            request, rules = Request(url="http://a.example/"), own(seconds=0.1)
            async with turns.turn("a.example", 0):
                waiting = asyncio.create_task(fetcher.fetch(request, rules))
                await asyncio.sleep(0.3)
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await fetcher.fetch(request, rules)
            assert (await waiting).body == b"ok"
    assert len(site.requests) == 1


async def test_many_at_once_are_served_one_after_the_other() -> None:
    time = Time()
    async with Site({"/": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher(turns=time.turns(), delays=Delays()) as fetcher:
            found = await asyncio.gather(
                *(fetcher.fetch(Request(url="http://a.example/"), PLAIN) for _ in range(10))
            )
    assert [one.body for one in found] == [b"ok"] * 10
    assert time.slept == [1] * 9
