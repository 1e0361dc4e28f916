"""What a model is asked to answer, as types; the JSON schemas that are sent are made from them.

A schema holds types, enumerations, bounds and required fields alone: that is what every endpoint
understands (docs/endpoints.md). Every field is required, since strict schemas know no other kind.
The types check every answer again, whatever schema was sent (S2.3, E9). Upper bounds are asked for
and not demanded: the verifier has its own for each quote, and what is too much is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

MAX_QUERIES: Final = 12
"""How many queries of one answer are taken."""

MAX_ITEMS: Final = 8
"""How many quotes, sentences or doubts one answer may hold."""


def _at_most(bound: int, kind: str) -> Any:  # noqa: ANN401 - what pydantic's Field returns
    """Return a field that is asked for within a bound, and taken without one."""
    return Field(json_schema_extra={kind: bound})


def _short(characters: int) -> Any:  # noqa: ANN401 - the same
    return _at_most(characters, "maxLength")


def _few(items: int) -> Any:  # noqa: ANN401 - the same
    return _at_most(items, "maxItems")


class Answer(BaseModel):
    """An answer to a request: one list.

    `items` names it, and `item_tokens` is what its longest item takes: no more are asked for than
    fit the output cap.
    """

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)
    items: ClassVar[str]
    item_tokens: ClassVar[int]


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class WrittenQuery(_Item):
    """A query for a question, which is named by its id."""

    question: str
    query: str = _short(200)


class Queries(Answer):
    """The answer to `Plan` and `Refine`."""

    items = "queries"
    item_tokens = 80
    queries: list[WrittenQuery] = _few(MAX_QUERIES)


class WrittenQuestion(_Item):
    """A question on the topic, with its queries."""

    question: str = Field(min_length=1)
    queries: list[str] = _few(3)


class Questions(Answer):
    """The answer to `Plan` where the task has a topic alone."""

    items = "questions"
    item_tokens = 240
    questions: list[WrittenQuestion] = Field(min_length=1, json_schema_extra={"maxItems": 5})


class Quote(_Item):
    """A stretch of a passage, and a claim of the model's own about it (empty: none)."""

    passage: str
    quote: str = _short(400)
    claim: str = Field(default="", json_schema_extra={"maxLength": 200})


class Quotes(Answer):
    """The answer to `Extract`."""

    items = "quotes"
    item_tokens = 160
    quotes: list[Quote] = _few(MAX_ITEMS)


class Sentence(_Item):
    """A sentence, and the facts that say it."""

    sentence: str = _short(400)
    facts: list[str] = _few(4)


class Sentences(Answer):
    """The answer to `Summarize` and to `Draft`."""

    items = "sentences"
    item_tokens = 120
    sentences: list[Sentence] = _few(MAX_ITEMS)


class Doubt(_Item):
    """A claim that its quote does not bear out, and why."""

    claim: str
    why: str = _short(200)


class Doubts(Answer):
    """The answer to `Review`."""

    items = "doubts"
    item_tokens = 80
    doubts: list[Doubt] = _few(MAX_ITEMS)


def schema_of(
    answer: type[Answer], *, output_tokens: int, names: Mapping[str, Sequence[str]] | None = None
) -> Mapping[str, Any]:
    """Return the JSON schema of an answer, for an output cap in tokens.

    `names` are the values that a field may have, such as the passages that are shown: a server
    that keeps to the schema cannot make any up. A field with no value to choose from is left free.
    """
    schema = _generated(answer)
    plain: dict[str, Any] = _plain(schema, schema.get("$defs", {}), names or {})
    items = plain["properties"][answer.items]
    items["maxItems"] = max(1, min(items["maxItems"], output_tokens // answer.item_tokens))
    return plain


@cache
def _generated(answer: type[Answer]) -> Mapping[str, Any]:
    return answer.model_json_schema()


def _plain(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], names: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return a schema without references, titles, descriptions and defaults."""
    if "$ref" in schema:
        return _plain(definitions[schema["$ref"].rpartition("/")[2]], definitions, names)
    plain = {k: schema[k] for k in ("type", "minItems", "maxItems", "minLength", "maxLength")
             if k in schema}  # fmt: skip
    if "items" in schema:
        plain["items"] = _plain(schema["items"], definitions, names)
    if "properties" in schema:
        plain["properties"] = {
            name: _named(_plain(field, definitions, names), names.get(name, ()))
            for name, field in schema["properties"].items()
        }
        plain["required"] = list(plain["properties"])
        plain["additionalProperties"] = False
    return plain


def _named(field: dict[str, Any], values: Sequence[str]) -> dict[str, Any]:
    """Return a field, or a list's items, that may have only these values."""
    if not values:
        return field
    if field["type"] == "array":
        return {**field, "items": {"type": "string", "enum": list(values)}}
    return {"type": "string", "enum": list(values)}
