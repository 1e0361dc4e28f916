"""What a model is asked for each action that it has a part in, and what its answer is worth.

Pure functions of a situation: a request is made again byte for byte whenever it is asked for, so
that its size is known before a budget is asked, and a replay finds what was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from controller.api.step import ActionName
from controller.loop.capacity import Capacity
from controller.loop.exchange import ModelRequest
from controller.loop.exchanges import draft, extract, planning, propose, review, summarize
from controller.loop.exchanges.parsing import Answered
from controller.loop.found import Found
from controller.loop.intents import Intent
from controller.loop.situation import Situation


class _Exchange(NamedTuple):
    """How an action asks, and how it reads the answer."""

    # An intent's arguments are of its action's type: both come from `loop.intents.ARGUMENTS`.
    request: Callable[[Situation, Any, Capacity], ModelRequest]
    found: Callable[[Situation, Any, Answered], Found]


_EXCHANGES: Final[Mapping[ActionName, _Exchange]] = {
    ActionName.PLAN: _Exchange(planning.plan_request, planning.planned),
    ActionName.REFINE: _Exchange(planning.refine_request, planning.refined),
    ActionName.EXTRACT: _Exchange(extract.extract_request, extract.extracted),
    ActionName.REVIEW: _Exchange(review.review_request, review.reviewed),
    ActionName.PROPOSE: _Exchange(propose.propose_request, propose.proposed),
    ActionName.DRAFT: _Exchange(draft.draft_request, draft.drafted),
    ActionName.SUMMARIZE: _Exchange(summarize.summary_request, summarize.summarised),
}

MODEL_ACTIONS: Final = frozenset(_EXCHANGES)
"""The actions that a model carries out where the task has one."""


def request_for(situation: Situation, intent: Intent, capacity: Capacity) -> ModelRequest:
    """Return what the model is asked for an action: the same bytes whenever it is made."""
    return _EXCHANGES[intent.action].request(situation, intent.arguments, capacity)


def found_in(situation: Situation, intent: Intent, answered: Answered) -> Found:
    """Return what an answer is worth.

    Raises:
        ModelMistakeError: it is not what was asked for.
    """
    return _EXCHANGES[intent.action].found(situation, intent.arguments, answered)


def can_shrink(situation: Situation, intent: Intent, capacity: Capacity) -> bool:
    """Say whether a prompt that was too large has a smaller one that was not tried yet (E10)."""
    arguments: Any = intent.arguments
    is_extract = intent.action is ActionName.EXTRACT
    return is_extract and extract.can_shrink(situation, arguments, capacity)
