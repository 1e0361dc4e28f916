"""The closed table of actions: for each name what carries it out (requirement S0.12)."""

from __future__ import annotations

from typing import assert_never

from controller.actions import publish, research
from controller.actions.context import Context
from controller.api.records import NoteRecord
from controller.api.step import ActionName
from controller.loop.intents import (
    DraftArguments,
    Intent,
    NoteArguments,
    PlanArguments,
    PublishArguments,
    QuestionArguments,
    SearchArguments,
)
from controller.loop.recording import Found


async def perform(context: Context, intent: Intent) -> Found:
    """Carry out an intent.

    Raises:
        ActionError: it could not be done.
        StoreError: the store did not answer.
    """
    match intent.arguments:
        case PlanArguments() as arguments:
            return await research.plan(context, arguments)
        case SearchArguments() as arguments:
            return await research.search(context, arguments)
        case QuestionArguments() as arguments:
            return await _on_question(context, intent.action, arguments)
        case DraftArguments() as arguments:
            return await publish.draft(context, arguments)
        case PublishArguments() as arguments:
            return await publish.publish(context, arguments)
        case NoteArguments() as arguments:
            return _note(arguments)
    assert_never(intent.arguments)


async def _on_question(context: Context, action: ActionName, arguments: QuestionArguments) -> Found:
    if action is ActionName.EXTRACT:
        return await research.extract(context, arguments)
    if action is ActionName.REFINE:
        return await research.refine(context, arguments)
    return await research.conclude(context, arguments)


def _note(arguments: NoteArguments) -> Found:
    record = NoteRecord(kind=arguments.kind, reason=arguments.reason, message=arguments.message)
    return Found(summary=f"{arguments.kind}: {arguments.message}", note=record)
