"""The CEL rules of the CRDs once more, in Python, for the home that has no API server.

The messages are those of the CRDs, word for word: a test compares the two tables, so that no
rule is added to one alone. Rules of single fields (bounds, patterns, enums) are the models'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from controller.api.base import json_name
from controller.api.meta import ConditionStatus
from controller.api.model import Backend, ResearchModel
from controller.api.reasons import ConditionType
from controller.api.source import (
    ADDRESSES,
    MEMBERS,
    USER_INFO,
    WITH_KEY,
    ResearchSource,
    SourceType,
)
from controller.api.step import ResearchStep
from controller.api.task import (
    MAX_TASK_NAME,
    DecisionPolicy,
    DesiredState,
    ResearchTask,
    ResearchTaskStatus,
    Usage,
)
from controller.store.manifest import ConfigMap, StoredObject
from controller.store.validation import field_path

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Check(Generic[Kind]):
    """A rule on an object and the version that it replaces (None when it is created)."""

    path: str
    message: str
    holds: Callable[[Kind, Kind | None], bool]


def _terminal_reason_stays(new: ResearchTaskStatus, old: ResearchTaskStatus) -> bool:
    return (
        old.terminal_reason is None
        or new.terminal_reason == old.terminal_reason
        or new.observed_generation > old.observed_generation
        or new.last_handled_requested_at not in (None, old.last_handled_requested_at)
        or (new.round is not None and (old.round is None or new.round > old.round))
    )


def _terminal_reason_is_shown(status: ResearchTaskStatus) -> bool:
    finished = status.condition(ConditionType.FINISHED)
    return status.terminal_reason is None or (
        finished is not None
        and finished.status is ConditionStatus.TRUE
        and finished.reason == status.terminal_reason
    )


def _counters(usage: Usage) -> tuple[int, ...]:
    """Return the counters that may not fall."""
    return (
        usage.steps,
        usage.source_calls,
        usage.active_seconds,
        usage.writes,
        usage.resumes,
        usage.interrupted,
        usage.verifier_rejections,
    )


def _usage_grows(new: ResearchTaskStatus, old: ResearchTaskStatus) -> bool:
    if old.usage is None:
        return True
    if new.round is not None and old.round is not None and new.round > old.round:
        return True
    return new.usage is not None and all(
        n >= o for n, o in zip(_counters(new.usage), _counters(old.usage), strict=True)
    )


TASK_CHECKS: Final[tuple[Check[ResearchTask], ...]] = (
    Check(
        "metadata.name",
        f"metadata.name must have at most {MAX_TASK_NAME} characters, so that the names of its "
        "steps fit a label",
        lambda new, _: len(new.metadata.name) <= MAX_TASK_NAME,
    ),
    Check(
        "spec",
        "modelRef must be set when decisionPolicy is ModelProposed",
        lambda new, _: (
            new.spec.decision_policy is not DecisionPolicy.MODEL_PROPOSED
            or new.spec.model_ref is not None
        ),
    ),
    Check(
        "spec",
        "modelRef must be set when fallbackModelRef is",
        lambda new, _: new.spec.fallback_model_ref is None or new.spec.model_ref is not None,
    ),
    Check(
        "spec.topic",
        "topic may not be changed; create another task",
        lambda new, old: old is None or new.spec.topic == old.spec.topic,
    ),
    Check(
        "spec.desiredState",
        "a cancelled task may not be started again; create another task",
        lambda new, old: (
            old is None
            or old.spec.desired_state is not DesiredState.CANCELLED
            or new.spec.desired_state is DesiredState.CANCELLED
        ),
    ),
    Check(
        "status",
        "terminalReason may only go or change with a new generation, request or round",
        lambda new, old: old is None or _terminal_reason_stays(new.status, old.status),
    ),
    Check(
        "status",
        "terminalReason must equal the reason of the condition Finished=True",
        lambda new, _: _terminal_reason_is_shown(new.status),
    ),
    Check(
        "status",
        "no counter of usage may fall within a round",
        lambda new, old: old is None or _usage_grows(new.status, old.status),
    ),
    Check(
        "status",
        "Succeeded and Stalled may not both be True",
        lambda new, _: (
            not (
                new.status.is_true(ConditionType.SUCCEEDED)
                and new.status.is_true(ConditionType.STALLED)
            )
        ),
    ),
)

STEP_CHECKS: Final[tuple[Check[ResearchStep], ...]] = (
    Check(
        "spec",
        "a ResearchStep is a record and may not be changed",
        lambda new, old: old is None or new.spec == old.spec,
    ),
)

MODEL_CHECKS: Final[tuple[Check[ResearchModel], ...]] = (
    Check(
        "spec",
        "baseURL must be set unless backend is OpenAI",
        lambda new, _: new.spec.backend is Backend.OPENAI or new.spec.base_url is not None,
    ),
    Check(
        "spec",
        "baseURL may name no user and no password; a key belongs in the Secret of "
        "credentialsSecretRef",
        lambda new, _: new.spec.base_url is None or "@" not in new.spec.base_url,
    ),
    Check(
        "spec",
        "maxOutputTokens must be below contextWindowTokens",
        lambda new, _: new.spec.max_output_tokens < new.spec.context_window_tokens,
    ),
)


def _has_exactly(
    kind: SourceType, member: str, new: ResearchSource, _: ResearchSource | None
) -> bool:
    return (new.spec.type is kind) == (getattr(new.spec, member) is not None)


def _has_key(kind: SourceType, new: ResearchSource, _: ResearchSource | None) -> bool:
    return new.spec.type is not kind or new.spec.credentials_secret_ref is not None


def _names_no_user(member: str, field: str, new: ResearchSource, _: ResearchSource | None) -> bool:
    of_type = getattr(new.spec, member)
    return of_type is None or not re.match(USER_INFO, getattr(of_type, field))


SOURCE_CHECKS: Final[tuple[Check[ResearchSource], ...]] = (
    *(
        Check(
            "spec",
            f"{json_name(member)} must be set exactly when type is {kind}",
            partial(_has_exactly, kind, member),
        )
        for kind, member in MEMBERS.items()
    ),
    *(
        Check(
            "spec",
            f"{kind} needs credentialsSecretRef: the Secret that has its key",
            partial(_has_key, kind),
        )
        for kind in WITH_KEY
    ),
    *(
        Check(
            "spec",
            f"{json_name(member)}.{json_name(field)} may name no user and no password; a key "
            "belongs in the Secret of credentialsSecretRef",
            partial(_names_no_user, member, field),
        )
        for member, field in ADDRESSES
    ),
    Check(
        "spec",
        "web.urls may name no user and no password",
        lambda new, _: (
            new.spec.web is None or not any(re.match(USER_INFO, url) for url in new.spec.web.urls)
        ),
    ),
    Check(
        "spec.corpus",
        "exactly one of directory and configMapRefs must be set",
        lambda new, _: (
            new.spec.corpus is None
            or (new.spec.corpus.directory is None) != (new.spec.corpus.config_map_refs is None)
        ),
    ),
)


def broken_rules(new: StoredObject, old: StoredObject | None) -> tuple[str, ...]:
    """Return one line, path and message, for each rule that the new version breaks."""
    lines: list[str] = []
    match new:
        case ResearchTask():
            lines.extend(_broken(TASK_CHECKS, new, old))
        case ResearchStep():
            lines.extend(_broken(STEP_CHECKS, new, old))
        case ResearchModel():
            lines.extend(_broken(MODEL_CHECKS, new, old))
        case ResearchSource():
            lines.extend(_broken(SOURCE_CHECKS, new, old))
        case ConfigMap():
            pass  # none of ours
    lines.extend(_duplicates(new, ()))
    return tuple(lines)


def _broken(checks: tuple[Check[Kind], ...], new: Kind, old: object) -> list[str]:
    assert old is None or isinstance(old, type(new))
    return [f"{c.path}: {c.message}" for c in checks if not c.holds(new, old)]


def _duplicates(model: BaseModel, location: tuple[int | str, ...]) -> Iterator[str]:
    """Name the items of lists that are maps by a key, and have a key twice."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        here = (*location, field.alias or name)
        if isinstance(value, BaseModel):
            yield from _duplicates(value, here)
        elif isinstance(value, tuple):
            yield from _repeated_keys(value, _map_keys(field), here)
            for index, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from _duplicates(item, (*here, index))


def _repeated_keys(
    items: tuple[Any, ...], keys: tuple[str, ...], location: tuple[int | str, ...]
) -> Iterator[str]:
    if not keys:
        return
    seen = set()
    for index, item in enumerate(items):
        key = tuple(item.to_json()[k] for k in keys)
        if key in seen:
            yield f"{field_path((*location, index))}: must have a {', '.join(keys)} of its own"
        seen.add(key)


def _map_keys(field: FieldInfo) -> tuple[str, ...]:
    extra = field.json_schema_extra
    keys = extra.get("x-kubernetes-list-map-keys", ()) if isinstance(extra, dict) else ()
    return tuple(str(key) for key in keys) if isinstance(keys, list) else ()
