"""The generator refuses what a structural schema cannot say, and what would be unbounded."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import ConfigDict, Field

from controller.api.base import ApiModel
from controller.api.crd import KINDS, Column, SchemaError, definition, structural
from controller.api.meta import ConditionStatus
from controller.api.schema import Rule, listed, listed_as_set, rules, validated

Text = Annotated[str, Field(max_length=10)]


class WithFloat(ApiModel):
    share: float


class WithText(ApiModel):
    text: str


class WithNumber(ApiModel):
    number: int


class WithLowerBoundOnly(ApiModel):
    number: Annotated[int, Field(ge=0)]


class WithExclusiveBound(ApiModel):
    number: Annotated[int, Field(gt=0, le=5)]


class WithList(ApiModel):
    texts: tuple[Text, ...]


class WithUnboundedItems(ApiModel):
    texts: Annotated[tuple[str, ...], Field(max_length=3)]


class WithUnion(ApiModel):
    either: Text | Annotated[int, Field(ge=0, le=1)]


class WithUnionOrNull(ApiModel):
    either: Text | Annotated[int, Field(ge=0, le=1)] | None = None


class WithMap(ApiModel):
    texts: dict[str, Text]


class WithAnything(ApiModel):
    anything: object


class WithExamples(ApiModel):
    text: Annotated[Text, Field(examples=["a"])]


class WithNesting(ApiModel):
    inner: WithText


REFUSED = {
    "a float": (WithFloat, "WithFloat.share: number without bounds"),
    "an unbounded string": (WithText, "WithText.text: string without bounds"),
    "an unbounded integer": (WithNumber, "WithNumber.number: integer without bounds"),
    "a half-bounded integer": (WithLowerBoundOnly, "number: integer without bounds"),
    "an exclusive bound": (WithExclusiveBound, "no counterpart for exclusiveMinimum"),
    "an unbounded list": (WithList, "WithList.texts: array without bounds"),
    "unbounded items": (WithUnboundedItems, r"texts\[\]: string without bounds"),
    "a union": (WithUnion, "a union has no counterpart"),
    "a union or null": (WithUnionOrNull, "a union has no counterpart"),
    "a map": (WithMap, "WithMap.texts: a map has no counterpart"),
    "anything": (WithAnything, "anything: None without bounds"),
    "an unknown keyword": (WithExamples, "no counterpart for examples"),
    "a fault further inside": (WithNesting, r"WithNesting.inner.text: string without bounds"),
}


@pytest.mark.parametrize(("model", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_counterpart_is_refused(model: type[ApiModel], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        structural(model)


class Inner(ApiModel):
    """An inner
    object."""

    number: Annotated[int, Field(ge=1, le=9)] = 4


class Outer(ApiModel):
    model_config = rules(Rule("has(self.inner)", "inner must be set"))

    required: Text
    optional: Text | None = None
    status: ConditionStatus = ConditionStatus.UNKNOWN
    inner: Inner = Inner()
    absent: Inner | None = None
    keyed: Annotated[tuple[Inner, ...], Field(max_length=2), listed("number")] = ()
    unique: Annotated[tuple[Text, ...], Field(max_length=2), listed_as_set()] = ()
    plain: Annotated[tuple[Text, ...], Field(max_length=2)] = ()
    checked: Annotated[Text, validated(Rule("self == oldSelf", "stays"))] = "a"
    max_cost_usd: Text = "0"


def test_the_whole_transformation() -> None:
    text = {"type": "string", "maxLength": 10}
    number = {"type": "integer", "minimum": 1, "maximum": 9, "default": 4}
    inner = {
        "type": "object",
        "description": "An inner object.",
        "properties": {"number": number},
    }
    assert structural(Outer) == {
        "type": "object",
        "required": ["required"],
        "x-kubernetes-validations": [{"rule": "has(self.inner)", "message": "inner must be set"}],
        "properties": {
            "required": text,
            # Optional: neither nullable nor with a default.
            "optional": text,
            "status": {
                "type": "string",
                "description": "The three values of a condition.",
                "enum": ["True", "False", "Unknown"],
                "default": "Unknown",
            },
            # The defaults of an object's fields are in its fields; they need a parent to apply.
            "inner": inner | {"default": {}},
            "absent": inner,
            "keyed": {
                "type": "array",
                "maxItems": 2,
                "items": inner,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["number"],
            },
            "unique": {
                "type": "array",
                "maxItems": 2,
                "items": text,
                "x-kubernetes-list-type": "set",
            },
            "plain": {
                "type": "array",
                "maxItems": 2,
                "items": text,
                "x-kubernetes-list-type": "atomic",
            },
            "checked": text
            | {
                "default": "a",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "stays"}],
            },
            "maxCostUSD": text | {"default": "0"},
        },
    }


class Strict(ApiModel):
    model_config = ConfigDict(extra="forbid")

    text: Text


def test_additional_properties_go_because_pruning_does_it() -> None:
    assert structural(Strict) == {
        "type": "object",
        "required": ["text"],
        "properties": {"text": {"type": "string", "maxLength": 10}},
    }


def test_a_wide_column_has_a_priority_and_another_none() -> None:
    assert Column("A", "string", ".a").to_json() == {
        "name": "A",
        "type": "string",
        "jsonPath": ".a",
    }
    assert Column("A", "string", ".a", 1).to_json()["priority"] == 1


def test_a_step_has_no_status_and_can_be_selected_by_its_fields() -> None:
    kind = next(kind for kind in KINDS if kind.name == "ResearchStep")
    (version,) = definition(kind)["spec"]["versions"]
    assert version["selectableFields"] == [
        {"jsonPath": ".spec.taskName"},
        {"jsonPath": ".spec.taskUID"},
        {"jsonPath": ".spec.action"},
        {"jsonPath": ".spec.outcome"},
    ]
