"""How a field or type says what only the CRD needs: list types, CEL rules, immutability."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import ConfigDict
from pydantic.fields import FieldInfo


class Rule(NamedTuple):
    """A CEL validation rule and the message that a user reads when it is broken."""

    rule: str
    message: str


def rules(*validations: Rule) -> ConfigDict:
    """Return a model configuration that carries CEL rules into the CRD."""
    return ConfigDict(json_schema_extra={"x-kubernetes-validations": encode(validations)})


def encode(validations: tuple[Rule, ...]) -> list[Any]:
    """Return rules as `x-kubernetes-validations` has them."""
    return [{"rule": r.rule, "message": r.message} for r in validations]


def listed(*keys: str) -> FieldInfo:
    """Mark a list as a map by these keys, so that two writers can each own their items."""
    return _extra({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


def listed_as_set() -> FieldInfo:
    """Mark a list as a set: no item twice, the order without meaning."""
    return _extra({"x-kubernetes-list-type": "set"})


def validated(*validations: Rule) -> FieldInfo:
    """Mark a field with CEL rules of its own."""
    return _extra({"x-kubernetes-validations": encode(validations)})


def _extra(extra: dict[str, Any]) -> FieldInfo:
    from pydantic import Field

    info = Field(json_schema_extra=extra)
    assert isinstance(info, FieldInfo)
    return info
