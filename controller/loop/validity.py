"""What the schema cannot say of a spec: features that this version does not have.

A task that asks for one of them is refused (`InvalidSpec`) rather than run without it: a report
that must be approved is never published because approval was not understood.
"""

from __future__ import annotations

from controller.api.task import ApprovalMode, DecisionPolicy, ResearchTaskSpec


def fault_of(spec: ResearchTaskSpec) -> str | None:
    """Return field, rule and mend of the first thing in a spec that cannot be run."""
    for is_asked_for, field, mend in (
        (
            spec.decision_policy is DecisionPolicy.MODEL_PROPOSED,
            "spec.decisionPolicy ModelProposed",
            "use Directed",
        ),
        (
            spec.approval.mode is ApprovalMode.REQUIRED,
            "spec.approval.mode Required",
            "use None, and read the report before it is used",
        ),
        (
            spec.refresh_interval_seconds is not None,
            "spec.refreshIntervalSeconds",
            "leave it out, and create the task again when the sources have changed",
        ),
        (
            spec.ttl_seconds_after_finished is not None,
            "spec.ttlSecondsAfterFinished",
            "leave it out, and delete the task when it is no longer needed",
        ),
    ):
        if is_asked_for:
            return f"{field} is not supported by this version: {mend}"
    repeated = _repeated([q.text for q in spec.questions])
    if repeated is not None:
        return f"spec.questions has the same text twice: {repeated!r}; ask it once"
    return None


def _repeated(texts: list[str]) -> str | None:
    return next((text for text in texts if texts.count(text) > 1), None)
