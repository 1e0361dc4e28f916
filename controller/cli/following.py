"""The work of `fixpoint watch`: looks at a task until it has ended, and says how."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from controller.api.reasons import TERMINAL
from controller.api.task import ResearchTask
from controller.cli import wording
from controller.cli.homes import Home, open_home
from controller.cli.live import LiveProgress
from controller.cli.observer import Follower, RunObserver
from controller.cli.plain import PlainProgress
from controller.cli.terminal import Verbosity, is_live, labelled, output, write
from controller.gathering import is_settled
from controller.ports import TaskKey

_LOOK_SECONDS: Final = 0.5


def watch_task(home: Home, key: TaskKey, verbosity: Verbosity, *, plain: bool) -> int:
    """Follow a task to its end; return the exit code of its ending.

    Raises:
        StoreError: the store does not answer, refuses, or has no such task.
        JournalError: a stored step cannot be read as one.
    """
    return asyncio.run(_watch(home, key, verbosity, plain=plain))


async def _watch(home: Home, key: TaskKey, verbosity: Verbosity, *, plain: bool) -> int:
    console = output()
    async with open_home(home) as opened:
        with contextlib.ExitStack() as stack:
            progress: RunObserver = PlainProgress(console, verbosity)
            if is_live(console) and not plain and verbosity >= Verbosity.MILESTONES:
                progress = stack.enter_context(LiveProgress(console, verbosity))
            follower = Follower(opened, key, [progress])
            task = await _end_of(follower)
    if verbosity >= Verbosity.MILESTONES:
        commands = f"fixpoint report {key.name} {home.options}".rstrip()
        lines = ("", *wording.closing(task), wording.next_line(task))
        for line in (*lines, labelled("report", commands)):
            write(console, line)
    reason = task.status.terminal_reason
    assert reason is not None
    return TERMINAL[reason].exit_code


async def _end_of(follower: Follower) -> ResearchTask:
    """Look until the task has ended. Polling one object suits either home, and needs no watch."""
    while True:
        task = await follower.look()
        if is_settled(task):
            return task
        await asyncio.sleep(_LOOK_SECONDS)
