"""Proposals: what a model may pick next, and what it gets for what it may not (S1.30, S3.4).

Legal is what would do something now, each action once its need is there; the directed policy
chooses among the same. The controller makes every argument that follows from the situation; a
model names a question, a source, the words of a query, or the fields that only the user knows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import ValidationError

from controller.api.base import canonical_json
from controller.api.errors import RejectedProposalError
from controller.api.records import ProposalRecord
from controller.api.step import ActionName, StepDecision, Verdict
from controller.loop.assessment import Need, QuestionView
from controller.loop.capacity import Capacity
from controller.loop.clarification import MAX_FIELDS, placeholders, unanswered
from controller.loop.exchange import ModelRequest, Tool, ToolCall
from controller.loop.exchanges.framing import framed
from controller.loop.exchanges.parsing import Answered, names_address, storable
from controller.loop.found import Found
from controller.loop.intents import (
    Arguments,
    AskArguments,
    Intent,
    PlanArguments,
    ProposeArguments,
    QuestionArguments,
    ReadArguments,
    SearchArguments,
)
from controller.loop.memory import PROPOSED
from controller.loop.passages import ranked_passages
from controller.loop.situation import Situation
from controller.prompts import INSTRUCTIONS, PROPOSE

_DESCRIPTIONS: Final[Mapping[ActionName, str]] = {
    ActionName.PLAN: "Write queries for the questions that have none.",
    ActionName.SEARCH: "Put one query for an open question to one source.",
    ActionName.READ: "Read the best document that was found for a question and not read yet.",
    ActionName.EXTRACT: "Look for quotes in the passages that were found for a question.",
    ActionName.CONCLUDE: "Close a question: it is answered, or all has been tried.",
    ActionName.REFINE: "Write further queries for a question whose queries are all asked.",
    ActionName.ASK: "Ask the user for what only the user can know; name each as one short word.",
}


CONFIDENCE: Final = "confidence"
"""The argument in which a model may say how sure it is, in percent; no guard reads it."""


def legal_actions(situation: Situation) -> Mapping[ActionName, tuple[str, ...]]:
    """Return the actions that a model may pick, each with the questions that it may be for.

    A question is planned first: by that the journal knows it, and counts its steps.
    """
    open_views = [v for v in situation.assessment.questions if v.is_workable]
    legal = {
        ActionName.PLAN: _for(open_views, lambda v: v.need is Need.PLAN),
        ActionName.SEARCH: _for(open_views, _is_researched),
        ActionName.READ: _for(open_views, lambda v: _is_researched(v) and bool(v.unread)),
        ActionName.EXTRACT: _for(
            open_views, lambda v: _is_researched(v) and _has_passages(situation, v)
        ),
        ActionName.CONCLUDE: _for(open_views, lambda v: v.need is Need.CONCLUDE),
        ActionName.REFINE: _for(open_views, lambda v: v.need is Need.REFINE),
        ActionName.ASK: _for(open_views, lambda _: _may_ask(situation)),
    }
    return {action: ids for action, ids in legal.items() if ids}


def propose_request(situation: Situation, _: ProposeArguments, capacity: Capacity) -> ModelRequest:
    """Ask the model to pick exactly one of the legal actions, as a call of a tool."""
    legal = legal_actions(situation)
    views = "\n".join(
        f"- {v.question.id} ({v.state}, next needed: {v.need}): {v.question.text}"
        for v in situation.assessment.questions
    )
    sources = ", ".join(r.name for r in situation.task.spec.source_refs)
    return ModelRequest(
        instructions=INSTRUCTIONS.text,
        prompt=framed(
            situation, ActionName.PROPOSE, PROPOSE.filled(sources=sources, questions=views)
        ),
        max_output_tokens=capacity.terms.max_output_tokens,
        template=str(PROPOSE),
        tools=tuple(
            Tool(action, _DESCRIPTIONS[action], _schema(situation, action, ids))
            for action, ids in legal.items()
        ),
    )


def proposed(situation: Situation, _: ProposeArguments, answered: Answered) -> Found:
    """Return the one action that a reply proposes, if it is legal now.

    Raises:
        RejectedProposalError: several calls, none, an unknown or an illegal action, or arguments
            that are missing or malformed. The message says what is legal.
    """
    reply = answered.reply
    if len(reply.calls) > 1:
        raise RejectedProposalError(
            "MultipleActions",
            f"the answer had {len(reply.calls)} calls; one step is one action: make one call",
        )
    if not reply.calls:
        raise _rejected(situation, "NoAction", "the answer named no action")
    call, legal = reply.calls[0], legal_actions(situation)
    action = next((a for a in legal if a.value == call.name), None)
    if action is None:
        known = call.name in {a.value for a in ActionName}
        error_class = "IllegalAction" if known else "UnknownAction"
        raise _rejected(situation, error_class, f"{call.name[:60]!r} is no action now")
    given = _given(situation, call)
    arguments = _arguments(situation, action, given)
    named = getattr(arguments, "question_id", None)
    if named is not None and named not in legal[action]:
        raise _rejected(situation, "IllegalAction", f"{action} is not legal for {named[:60]!r}")
    taken = _schema(situation, action, legal[action])["properties"]
    stripped = sorted(storable(n)[:64] for n in given if n not in taken)
    proposal = ProposalRecord(
        action=action,
        arguments=canonical_json(arguments.to_json()),
        stripped=tuple(stripped)[:8],
        confidence=_confidence(given),
    )
    return Found(f"{proposal.action} {proposal.arguments}", proposal=proposal)


def is_still_legal(situation: Situation, intent: Intent) -> bool:
    """Say whether what was allowed then is legal now: the spec may have changed in between."""
    legal = legal_actions(situation).get(intent.action, ())
    match intent.arguments:
        case PlanArguments() as arguments:
            return set(arguments.question_ids) <= set(legal)
        case AskArguments():
            return bool(legal)
        case SearchArguments() as arguments:
            names = {r.name for r in situation.task.spec.source_refs}
            return arguments.question_id in legal and arguments.source_name in names
        case ReadArguments() as arguments:
            return arguments in _readings(situation, arguments.question_id)
    return intent.question_id in legal


def intent_of_proposal(proposal: ProposalRecord, parse: Callable[..., Arguments]) -> Intent:
    """Return a proposal that was allowed as the intent that carries it out."""
    action = ActionName(proposal.action)
    decision = StepDecision(verdict=Verdict.CONTINUE, reason=PROPOSED)
    return Intent(action, parse(action, proposal.arguments), decision)


def _confidence(given: Mapping[str, Any]) -> int | None:
    """Return how sure the model says it is; anything but a percentage is left out."""
    said = given.get(CONFIDENCE)
    is_percent = isinstance(said, int) and not isinstance(said, bool) and said in range(101)
    return said if is_percent else None


def _given(situation: Situation, call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object; an empty text is an empty one."""
    try:
        given = json.loads(call.arguments.strip() or "{}", object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise _rejected(
            situation, "InvalidOutput", f"the arguments of {call.name} are no JSON: {error}"
        ) from error
    if not isinstance(given, dict):
        raise _rejected(situation, "InvalidOutput", f"the arguments of {call.name} are no object")
    return given


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def _arguments(situation: Situation, action: ActionName, given: dict[str, Any]) -> Arguments:
    """Return the arguments of a legal action; what the situation decides is not the model's."""
    try:
        if action is ActionName.PLAN:
            return PlanArguments(question_ids=legal_actions(situation)[action])
        if action is ActionName.ASK:
            return _asked(situation, AskArguments.model_validate(given))
        if action is not ActionName.SEARCH:
            named = QuestionArguments.model_validate(given)
            return _reading(situation, named) if action is ActionName.READ else named
        search = SearchArguments.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, first["loc"]))
        raise _rejected(
            situation, "InvalidOutput", f"the arguments of {action}: {at}: {first['msg']}"
        ) from error
    sources = {r.name for r in situation.task.spec.source_refs}
    if search.source_name not in sources or not search.query.strip():
        raise _rejected(situation, "IllegalAction", "Search needs a source of the task and words")
    if names_address(search.query):
        raise _rejected(situation, "IllegalAction", "a query is words to look for, and no address")
    return search.model_copy(update={"query": " ".join(search.query.split())})


def _reading(situation: Situation, named: QuestionArguments) -> Arguments:
    """Return the hit that a question's next `Read` is for: a model names no address."""
    return next(iter(_readings(situation, named.question_id)), named)


def _readings(situation: Situation, question_id: str) -> tuple[ReadArguments, ...]:
    return tuple(
        ReadArguments(question_id=question_id, source_name=hit.source_name, locator=hit.locator)
        for view in situation.assessment.questions
        if view.question.id == question_id
        for hit in view.unread
    )


def _asked(situation: Situation, asked: AskArguments) -> AskArguments:
    """Return the fields that are still open; what is answered is in the prompt."""
    still_open = unanswered(situation.task.spec, asked.fields)
    fields = tuple(field for field in dict.fromkeys(asked.fields) if field in still_open)
    taken = {*placeholders(situation.task.spec), *situation.state.model.named_fields}
    if not fields or len(taken | set(fields)) > MAX_FIELDS:
        raise _rejected(situation, "IllegalAction", "Ask needs fields that have no answer yet")
    return AskArguments(fields=fields)


def _rejected(situation: Situation, error_class: str, what: str) -> RejectedProposalError:
    legal = "; ".join(f"{a} for {', '.join(ids)}" for a, ids in legal_actions(situation).items())
    return RejectedProposalError(error_class, f"{what}; legal are: {legal}")


def _for(views: list[QuestionView], applies: Callable[[QuestionView], bool]) -> tuple[str, ...]:
    return tuple(view.question.id for view in views if applies(view))


def _may_ask(situation: Situation) -> bool:
    """Say whether the user may be asked once more: a model may not use the last round up."""
    policy, state = situation.task.spec.clarification_policy, situation.state
    has_room = len(state.model.named_fields) + len(placeholders(situation.task.spec)) < MAX_FIELDS
    return state.ask_rounds < policy.max_rounds and has_room


def _is_researched(view: QuestionView) -> bool:
    return view.need not in {Need.PLAN, Need.CONCLUDE}


def _has_passages(situation: Situation, view: QuestionView) -> bool:
    return next(ranked_passages(situation.assessment.findings, view.question.id), None) is not None


def _schema(situation: Situation, action: ActionName, ids: tuple[str, ...]) -> Mapping[str, Any]:
    properties: dict[str, Any] = {}
    if action is ActionName.ASK:
        fields = {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string"}}
        return {"type": "object", "properties": {"fields": fields}, "required": ["fields"]}
    if action is not ActionName.PLAN:
        properties["questionId"] = {"type": "string", "enum": list(ids)}
    if action is ActionName.SEARCH:
        names = [r.name for r in situation.task.spec.source_refs]
        properties["sourceName"] = {"type": "string", "enum": names}
        properties["query"] = {"type": "string", "minLength": 1, "maxLength": 500}
    required = list(properties)
    properties[CONFIDENCE] = {"type": "integer", "minimum": 0, "maximum": 100}
    return {"type": "object", "properties": properties, "required": required}
