"""Deletes the steps of rounds that are kept no longer (`spec.historyLimit`)."""

from __future__ import annotations

import logging
from typing import Final

from controller.api.errors import RefusedError
from controller.api.task import ResearchTask
from controller.loop.rounds import expired
from controller.ports import TaskStore

_LOGGER: Final = logging.getLogger(__name__)


async def delete_old_rounds(store: TaskStore, task: ResearchTask) -> None:
    """Delete the steps of a task's oldest rounds, the lowest first.

    A crash in between leaves no hole: what is left of a round is passed over, and deleted next
    time. A store that refuses is told of in the log; the task is finished all the same.

    Raises:
        StoreError: the store did not answer.
    """
    steps = await store.list_steps(task, 0)
    try:
        for index in expired(steps, task.spec.history_limit):
            await store.delete_step(task, index)
    except RefusedError as error:
        _LOGGER.warning(
            "%s/%s: old rounds are kept: %s", task.metadata.namespace, task.metadata.name, error
        )
