"""The closed table of actions: for each name what carries it out (requirement S0.12)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from controller.actions import model, publish, research, reverify
from controller.actions.context import Context
from controller.api.records import AskRecord, NoteRecord
from controller.api.step import ActionName
from controller.loop.found import Found
from controller.loop.intents import AskArguments, Intent, NoteArguments


async def perform(context: Context, intent: Intent) -> Found:
    """Carry out an intent.

    Raises:
        ActionError: it could not be done.
        StoreError: the store did not answer.
    """
    if intent.reservation is not None:
        return await model.perform(context, intent)
    return await _ACTIONS[intent.action](context, intent.arguments)


async def ask(_: Context, arguments: AskArguments) -> Found:
    """Name the fields that only the user can fill; the status asks for them."""
    return Found(
        summary=f"asked for {', '.join(arguments.fields)}", ask=AskRecord(fields=arguments.fields)
    )


async def note(_: Context, arguments: NoteArguments) -> Found:
    """Record that the state moved without an action."""
    record = NoteRecord(
        kind=arguments.kind,
        reason=arguments.reason,
        message=arguments.message,
        draft_digest=arguments.draft_digest,
    )
    return Found(summary=f"{arguments.kind}: {arguments.message}", note=record)


# `Propose` and `Summarize` have a reservation: a model carries them out, or they are not decided.
# An intent's arguments are of its action's type: both come from `loop.intents.ARGUMENTS`.
_ACTIONS: Final[Mapping[ActionName, Callable[[Context, Any], Awaitable[Found]]]] = {
    ActionName.PLAN: research.plan,
    ActionName.SEARCH: research.search,
    ActionName.READ: research.read,
    ActionName.EXTRACT: research.extract,
    ActionName.REFINE: research.refine,
    ActionName.CONCLUDE: research.conclude,
    ActionName.REVERIFY: reverify.reverify,
    ActionName.ASK: ask,
    ActionName.DRAFT: publish.draft,
    ActionName.PUBLISH: publish.publish,
    ActionName.NOTE: note,
}
