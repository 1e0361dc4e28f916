"""Answers the probes: whether the process lives, and whether it is at work.

The answers are computed, never assumed: a process whose watch has died is not alive. A loop that
hangs answers nothing at all, which the probe's timeout turns into the same. The metrics are served
beside them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus

from aiohttp import web

Check = Callable[[], Sequence[str]]
"""Returns what is wrong, one line each; empty when all is well."""

Page = Callable[[], tuple[bytes, str]]
"""Returns a page and its content type."""


@asynccontextmanager
async def serve_probes(
    host: str, port: int, *, live: Check, ready: Check, metrics: Page
) -> AsyncIterator[int]:
    """Serve `/livez`, `/readyz` and `/metrics` until the context ends; yield the port.

    The first two answer 200 and `ok`, or 503 and what is wrong.

    Args:
        host: the address to listen on.
        port: the port to listen on; 0: a free one.
        live: a process that has any of these problems must be restarted.
        ready: an operator that has any of these problems is not at work yet, or not now.
        metrics: makes the page of metrics, at each request.

    Raises:
        OSError: the address cannot be listened on.
    """
    application = web.Application()
    application.router.add_get("/livez", _handler(live))
    application.router.add_get("/readyz", _handler(ready))
    application.router.add_get("/metrics", _page_handler(metrics))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _handler(check: Check) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        problems = check()
        if problems:
            return web.Response(
                status=HTTPStatus.SERVICE_UNAVAILABLE, text="\n".join((*problems, ""))
            )
        return web.Response(text="ok\n")

    return answer


def _page_handler(page: Page) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        body, content_type = page()
        return web.Response(body=body, headers={"Content-Type": content_type})

    return answer
