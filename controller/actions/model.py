"""The actions that a model has a part in: one request, its charge, and what the answer is worth.

The meter runs from the moment before the request is sent: whatever happens then, an answer, an
error, a timeout or a cancelled turn, the attempt is charged once (requirements S2.9, S2.15).
"""

from __future__ import annotations

from controller.actions.context import Context
from controller.api.errors import PermanentError
from controller.api.model_call import ModelCall, Reservation
from controller.loop.accounting import settled, unanswered
from controller.loop.capacity import Capacity
from controller.loop.exchange import ModelRequest
from controller.loop.exchanges import found_in, request_for
from controller.loop.exchanges.parsing import Answered, check_complete
from controller.loop.found import Found
from controller.loop.intents import Intent
from controller.loop.model_policy import capacity_of
from controller.ports import Model, Sampling


async def perform(context: Context, intent: Intent) -> Found:
    """Ask the model that the intent reserved for, once, and return what its answer is worth.

    Raises:
        RetryableError: another attempt may succeed; a `ModelMistakeError` is fed back.
        PermanentError: no attempt will: the model refused, or the prompt does not fit.
    """
    assert intent.reservation is not None
    model, capacity = _model(context, intent.reservation)
    request = request_for(context.situation, intent, capacity)
    if not capacity.fits(request):
        raise PermanentError("Overflow", _too_large(request, capacity))
    sent = context.meter.call = _sent(model.sampling, intent.reservation, request)
    reply = await model.complete(request)
    call = context.meter.call = settled(sent, capacity.terms, intent.reservation, request, reply)
    answered = Answered(reply, request, call, capacity)
    check_complete(answered)
    return found_in(context.situation, intent, answered)


def _model(context: Context, reserved: Reservation) -> tuple[Model, Capacity]:
    model, capacity = (
        context.models.get(reserved.model),
        capacity_of(context.situation, reserved.model),
    )
    if model is None or capacity is None:
        raise PermanentError(
            "ModelNotServed", f"the task refers to no model {reserved.model} that can be used"
        )
    return model, capacity


def _sent(sampling: Sampling, reserved: Reservation, request: ModelRequest) -> ModelCall:
    """Return the charge of a request that is about to be sent: all that was reserved."""
    return unanswered(reserved).model_copy(
        update={
            "requested_model": sampling.requested_model,
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            "prompt_digest": request.digest,
            "prompt_template": request.template,
            "prompt_bytes": request.size,
            "shown": request.shown,
        }
    )


def _too_large(request: ModelRequest, capacity: Capacity) -> str:
    return (
        f"the smallest prompt is taken to have {capacity.prompt_tokens(request)} tokens; with "
        f"{request.max_output_tokens} for the answer it does not fit the window of "
        f"{capacity.terms.name}, {capacity.terms.context_window_tokens} "
        "(ResearchModel spec.contextWindowTokens)"
    )
