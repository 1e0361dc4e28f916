"""The journal's integrity: operation ids, the digest chain, and what a stored step must be.

A record that cannot be trusted ends the run as `JournalCorrupt`; nothing is skipped over and
nothing is rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from controller.api.base import digest_of
from controller.api.errors import JournalError
from controller.api.step import (
    FORMAT_VERSION,
    ActionName,
    ResearchStep,
    ResearchStepSpec,
    step_name,
)

UNSEALED: Final = "sha256:" + "0" * 64
"""Stands in for the digest of a step that is still being made."""


def genesis_digest(task_uid: str, topic: str) -> str:
    """Return the digest that the first step of a task chains to."""
    return digest_of({"taskUID": task_uid, "topic": topic})


def operation_id(task_uid: str, index: int, action: ActionName, arguments_json: str) -> str:
    """Return the id of the operation: no clock and no randomness, so that it can be asked for."""
    return digest_of([task_uid, index, action.value, arguments_json])


def step_digest(spec: ResearchStepSpec) -> str:
    """Return the digest of all that a step says, its own digest apart."""
    return _content_digest(spec.to_json())


def seal(spec: ResearchStepSpec) -> ResearchStepSpec:
    """Return the step with its digest: from here on nothing in it may change."""
    return spec.model_copy(update={"digest": step_digest(spec)})


def _content_digest(record: dict[str, Any]) -> str:
    return digest_of({name: value for name, value in record.items() if name != "digest"})


def kept(steps: Sequence[ResearchStep]) -> Sequence[ResearchStep]:
    """Return the part of a listed journal that is folded.

    Steps of old rounds are deleted from the lowest index on. If that was cut short, what is left
    of such a round stands before the step that opens the next one: it is passed over.
    """
    if not steps or steps[0].spec.index == 0:
        return steps
    places = enumerate(steps, steps[0].spec.index)
    for at, step in places:
        if step.spec.index != at:
            break
        if step.spec.opening is not None:
            return steps[at - steps[0].spec.index :]
    return steps


def check(step: ResearchStep, *, task_name: str, task_uid: str, index: int, previous: str) -> None:
    """Check that a stored step is step `index` of this task and continues the chain.

    Raises:
        JournalError: it is not; the class says how.
    """
    name, spec = step.metadata.name, step.spec
    expected = step_name(task_name, task_uid, index)
    owners = [o.uid for o in step.metadata.owner_references if o.controller]
    if spec.format_version > FORMAT_VERSION:
        raise JournalError(
            "FormatVersion",
            f"step {name} has format version {spec.format_version}, this operator reads up to "
            f"{FORMAT_VERSION}: run a newer operator",
        )
    if spec.index != index:
        raise JournalError("MissingStep", f"step {index} is missing; found {name} in its place")
    if name != expected or spec.task_uid != task_uid or owners != [task_uid]:
        raise JournalError(
            "ForeignStep", f"step {name} does not belong to this task; expected {expected}"
        )
    if spec.digest != _content_digest(step.to_json()["spec"]):  # as stored, in its own format
        raise JournalError("StepChanged", f"step {name} was changed after it was recorded")
    if spec.previous_digest != previous:
        raise JournalError("BrokenChain", f"step {name} does not continue the step before it")
