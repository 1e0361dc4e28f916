"""Object metadata, references and conditions, as every kind carries them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from controller.api.base import ApiModel, Message, Name, Time, Word


class OwnerReference(ApiModel):
    """The owner of an object; garbage collection removes the object with it."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(ApiModel):
    """The part of Kubernetes' ObjectMeta that the operator reads."""

    name: str
    namespace: str = "default"
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()


class ObjectReference(ApiModel):
    """A reference by name to an object in the same namespace."""

    name: Name


class SecretReference(ApiModel):
    """One key of a Secret in the same namespace."""

    name: Name
    key: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]


class ConditionStatus(StrEnum):
    """The three values of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(ApiModel):
    """A standard condition; `last_transition_time` moves only when `status` changes."""

    type: Word
    status: ConditionStatus
    observed_generation: Annotated[int, Field(ge=-1, le=2**53 - 1)]
    last_transition_time: Time
    reason: Word
    message: Message
