"""`ResearchSource`: where a task may look."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from controller.api.base import ApiModel, Count, Digest, Percent
from controller.api.meta import Condition, ObjectMeta, ObjectReference, SecretReference
from controller.api.schema import Rule, listed, rules


class SourceType(StrEnum):
    """What kind of place a source is; exactly the member of that name is set."""

    CORPUS = "Corpus"


class Corpus(ApiModel):
    """A set of documents that is read whole: exactly one of a directory and ConfigMaps."""

    model_config = rules(
        Rule(
            "has(self.directory) != has(self.configMapRefs)",
            "exactly one of directory and configMapRefs must be set",
        )
    )

    directory: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=512,
            description="A directory below the operator's corpus root, such as `django-docs`.",
        ),
    ] = None
    config_map_refs: Annotated[
        tuple[ObjectReference, ...] | None, Field(min_length=1, max_length=16), listed("name")
    ] = None


class Robots(StrEnum):
    """Whether a site's robots file is obeyed."""

    RESPECT = "Respect"
    IGNORE = "Ignore"


class ResearchSourceSpec(ApiModel):
    """Where to look, how long to wait and how much to take."""

    model_config = rules(
        Rule(
            "(self.type == 'Corpus') == has(self.corpus)",
            "corpus must be set exactly when type is Corpus",
        )
    )

    type: SourceType
    corpus: Corpus | None = None
    credentials_secret_ref: SecretReference | None = None
    priority: Percent = 50
    origin_key: Annotated[str | None, Field(min_length=1, max_length=253)] = None
    max_results: Annotated[int, Field(ge=1, le=50)] = 10
    timeout_seconds: Annotated[int, Field(ge=1, le=300)] = 20
    robots: Robots = Robots.RESPECT


class ResearchSourceStatus(ApiModel):
    """What the operator has seen of the source."""

    observed_generation: Annotated[int, Field(ge=-1, le=2**53 - 1)] = -1
    conditions: Annotated[tuple[Condition, ...], Field(max_length=8), listed("type")] = ()
    digest: Digest | None = None
    documents: Count | None = None


class ResearchSource(ApiModel):
    """A source, as stored."""

    metadata: ObjectMeta
    spec: ResearchSourceSpec
    status: ResearchSourceStatus = ResearchSourceStatus()
