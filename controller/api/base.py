"""What every API type shares: immutability, JSON names, bounded strings, times.

The Kubernetes API conventions decide the shapes: camelCase names in which acronyms stay whole
(`maxCostUSD`), no floats, no nulls, bounds on every string and list.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

GROUP: Final = "research.fixpoint.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

_ACRONYMS: Final = frozenset({"usd", "uid", "url", "json", "ttl"})


def json_name(python_name: str) -> str:
    """Return the JSON name of a field: `max_cost_usd` becomes `maxCostUSD`."""
    first, *rest = python_name.split("_")
    return first + "".join(w.upper() if w in _ACRONYMS else w.capitalize() for w in rest)


class ApiModel(BaseModel):
    """An immutable API object: written strictly, read leniently (unknown fields are ignored)."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=json_name,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    def to_json(self) -> dict[str, Any]:
        """Return the object as the API server stores it: JSON names, nothing that is absent."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the one text of a JSON value: sorted keys, no spaces, Unicode as it is."""
    return _CANONICAL.encode(value)


def digest_of(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return `sha256:` and the hexadecimal digest of a JSON value's canonical text."""
    return "sha256:" + hashlib.sha256(canonical_json(value).encode()).hexdigest()


def digest_of_text(text: str) -> str:
    """Return `sha256:` and the hexadecimal digest of a text in UTF-8."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _in_utc_milliseconds(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("must carry a time zone")
    value = value.astimezone(UTC)
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def format_time(value: datetime) -> str:
    """Return a time as RFC 3339 in UTC with milliseconds, the only form that is stored."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


Time = Annotated[
    datetime,
    AfterValidator(_in_utc_milliseconds),
    PlainSerializer(format_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "maxLength": 64}),
]
"""A moment, in UTC, cut to milliseconds."""

_NO_ZERO: Final = r"^[^\x00]*$"
_ASCII: Final = r"^[ -~]+$"
_LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"

MONEY_PATTERN: Final = r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?$"

Label = Annotated[str, Field(min_length=1, max_length=63, pattern=_LABEL)]
"""A DNS label (RFC 1123)."""

Name = Annotated[str, Field(min_length=1, max_length=253, pattern=_SUBDOMAIN)]
"""The name of a Kubernetes object (DNS subdomain, RFC 1123)."""

Digest = Annotated[str, Field(max_length=71, pattern=r"^sha256:[0-9a-f]{64}$")]
"""`sha256:` and 64 hexadecimal digits."""

Money = Annotated[str, Field(max_length=16, pattern=MONEY_PATTERN)]
"""US dollars as a decimal string, at most 6 decimals: no sign, exponent or suffix."""

Word = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z][A-Za-z0-9]*$")]
"""One CamelCase word: a reason, a class."""

Uid = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9-]+$")]
"""A Kubernetes UID."""

Holder = Annotated[str, Field(min_length=1, max_length=253, pattern=_ASCII)]
"""The process that carries an intent out; one byte a character, as the status is bounded."""

Subject = Annotated[str, Field(min_length=1, max_length=260, pattern=_ASCII)]
"""Whose failures are counted together, such as `source/` and its name; in ASCII as well."""

Title = Annotated[str, Field(max_length=500, pattern=_NO_ZERO)]
"""A short text: a title, a heading, a query, a question."""

Message = Annotated[str, Field(max_length=1024)]
"""A message for people; producers cut it to its bound."""

Locator = Annotated[str, Field(min_length=1, max_length=2048)]
"""Where a document is: `file:` and a path below the corpus, `configmap:`, a URL."""

Passage = Annotated[str, Field(max_length=49152)]
"""The text of an evidence block or quote: a step holds at most 48 KiB of evidence in all."""

Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""A number of things, or of milliseconds, tokens or micro-USD."""

Percent = Annotated[int, Field(ge=0, le=100)]
"""An integer percentage."""
