"""The actions that a model has a part in: one request, its charge, and what the answer is worth.

The meter runs from the moment before the request is sent: whatever happens then, an answer, an
error, a timeout or a cancelled turn, the attempt is charged once (requirements S2.9, S2.15).
"""

from __future__ import annotations

from controller.actions.context import Context
from controller.api.errors import PermanentError
from controller.api.model_call import ModelCall, ModelTerms, Reservation
from controller.api.step import ActionName
from controller.loop import replies
from controller.loop.accounting import estimated_tokens, settled, unanswered
from controller.loop.exchange import ModelReply, ModelRequest
from controller.loop.intents import Intent, PlanArguments, QuestionArguments
from controller.loop.model_policy import request_for
from controller.loop.prompts import fits
from controller.loop.proposals import proposed
from controller.loop.recording import Found
from controller.ports import Model


async def perform(context: Context, intent: Intent) -> Found:
    """Ask the model that the intent reserved for, once, and return what its answer is worth.

    Raises:
        RetryableError: another attempt may succeed; a `ModelMistakeError` is fed back.
        PermanentError: no attempt will: the model refused, or the prompt does not fit.
    """
    assert intent.reservation is not None
    model = _model(context, intent.reservation)
    request = request_for(context.situation, intent, model.terms)
    if not fits(request, model.terms):
        raise PermanentError("Overflow", _too_large(request, model.terms))
    sent = context.meter.call = _sent(model, intent.reservation, request)
    reply = await model.complete(request)
    call = context.meter.call = settled(sent, model.terms, intent.reservation, request, reply)
    replies.check_complete(reply)
    return _found(context, intent, reply, model.terms, call)


def _found(
    context: Context, intent: Intent, reply: ModelReply, terms: ModelTerms, call: ModelCall
) -> Found:
    situation = context.situation
    if intent.action is ActionName.PROPOSE:
        proposal = proposed(situation, reply)
        return Found(summary=f"{proposal.action} {proposal.arguments}", proposal=proposal)
    if intent.action is ActionName.SUMMARIZE:
        return replies.summarised(situation, reply)
    match intent.arguments:
        case PlanArguments() as arguments:
            return replies.planned(situation, arguments, reply)
        case QuestionArguments() as arguments if intent.action is ActionName.REFINE:
            return replies.refined(situation, arguments, reply)
        case QuestionArguments() as arguments:
            return replies.extracted(situation, arguments, reply, terms=terms, call=call)
    raise AssertionError(f"no model has a part in {intent.action}")


def _model(context: Context, reserved: Reservation) -> Model:
    model = context.models.get(reserved.model)
    if model is None:
        raise PermanentError(
            "ModelNotServed", f"the task refers to no model {reserved.model} that can be used"
        )
    return model


def _sent(model: Model, reserved: Reservation, request: ModelRequest) -> ModelCall:
    """Return the charge of a request that is about to be sent: all that was reserved."""
    sampling = model.sampling
    return unanswered(reserved).model_copy(
        update={
            "requested_model": sampling.requested_model,
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            "prompt_digest": request.digest,
        }
    )


def _too_large(request: ModelRequest, terms: ModelTerms) -> str:
    return (
        f"the smallest prompt is taken to have {estimated_tokens(request.size)} tokens; with "
        f"{request.max_output_tokens} for the answer it does not fit the window of {terms.name}, "
        f"{terms.context_window_tokens} (ResearchModel spec.contextWindowTokens)"
    )
