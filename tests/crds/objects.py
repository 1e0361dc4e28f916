"""Objects for these tests: from files, and filled to every bound of a schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from controller.api.base import API_VERSION
from controller.api.crd import KINDS, definition

ROOT: Final = Path(__file__).resolve().parents[2]

Json = dict[str, Any]

FOUR_BYTES: Final = "😀"

_CANDIDATES: Final[tuple[Callable[[int], str], ...]] = (
    lambda length: FOUR_BYTES * length,
    lambda length: "a" * length,
    lambda length: "https://".ljust(length, "a"),
    lambda length: "-".join(["a" * 8] * ((length + 1) // 9)),
    lambda _: "sha256:" + "f" * 64,
    lambda _: "999999999.999999",
    lambda length: "2.".ljust(length, "0"),
)
"""Texts of a length, the largest in bytes first; each pattern of the specs and of the statuses
of tasks, models and sources takes one of them."""


def crds() -> list[Json]:
    """Return the committed CustomResourceDefinitions."""
    return [
        yaml.safe_load((ROOT / "crds" / f"{kind.plural}.yaml").read_text("utf-8")) for kind in KINDS
    ]


def schema_of(kind_name: str, part: str) -> Json:
    """Return the structural schema of a kind's `spec` or `status`."""
    kind = next(kind for kind in KINDS if kind.name == kind_name)
    (version,) = definition(kind)["spec"]["versions"]
    schema: Json = version["schema"]["openAPIV3Schema"]["properties"][part]
    return schema


def fullest(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """Return the largest value that a schema allows: every field there, each at its limit."""
    match schema["type"]:
        case "object":
            return {name: fullest(child) for name, child in schema["properties"].items()}
        case "array":
            return _fullest_list(schema)
        case "string":
            return _fullest_text(schema)
        case "integer":
            return schema["maximum"]
        case other:
            raise AssertionError(f"no fullest {other}")


def _fullest_list(schema: Mapping[str, Any]) -> list[Any]:
    items, count = schema["items"], schema["maxItems"]
    values = [fullest(items) for _ in range(count)]
    if schema.get("x-kubernetes-list-type") == "set":
        values = [f"{value[:-2]}{index:02}" for index, value in enumerate(values)]
    for key in schema.get("x-kubernetes-list-map-keys", ()):
        names = items["properties"][key].get("enum")
        if names is not None:
            values = values[: len(names)]
        for index, value in enumerate(values):
            value[key] = names[index] if names else f"{value[key][:-2]}{index:02}"
    return values


def _fullest_text(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return str(max(schema["enum"], key=len))
    if schema.get("format") == "date-time":
        return "2026-12-31T23:59:59.999Z"
    length, pattern = schema["maxLength"], schema.get("pattern", "")
    texts = (candidate(length) for candidate in _CANDIDATES)
    return next(t for t in texts if len(t) <= length and re.search(pattern, t))


def fullest_status() -> Json:
    """Return a task's status with every field at its limit, within its rules."""
    status: Json = fullest(schema_of("ResearchTask", "status"))
    reason = status["terminalReason"]
    status["conditions"][0] |= {"type": "Finished", "status": "True", "reason": reason}
    return status


def custom_object(kind: str, name: str, spec: Json) -> Json:
    """Return an object of one of the four kinds."""
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def task(name: str, **spec: Any) -> Json:  # noqa: ANN401 - fields of a spec, as JSON
    """Return a small valid task; `spec` adds or replaces fields."""
    return custom_object(
        "ResearchTask",
        name,
        {"topic": "Locks of the Moorhen database", "sourceRefs": [{"name": "manual"}]} | spec,
    )


def documents(path: Path) -> Iterator[Json]:
    """Yield the objects of a manifest."""
    yield from (found for found in yaml.safe_load_all(path.read_text("utf-8")) if found)
