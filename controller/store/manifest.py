"""Reads a user's manifest into a typed object, strictly: an unknown field is an error.

The API server prunes what it does not know; a user of the local home has no `kubectl` that
warns, and a misspelt budget would be no budget.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from controller.api.base import API_VERSION, ApiModel, Label, Name
from controller.api.meta import ObjectMeta
from controller.api.model import ResearchModel, ResearchModelSpec
from controller.api.source import ResearchSource, ResearchSourceSpec
from controller.api.step import ResearchStep, ResearchStepSpec
from controller.api.task import ResearchTask, ResearchTaskSpec
from controller.store.secret_manifest import Secret, secret_values
from controller.store.validation import faults, field_path, invalid

Model = TypeVar("Model", bound=BaseModel)


class ConfigMap(ApiModel):
    """A ConfigMap as far as the project uses one: texts by key."""

    metadata: ObjectMeta
    data: dict[str, str] = Field(default_factory=dict)


StoredObject = ResearchTask | ResearchStep | ResearchModel | ResearchSource | ConfigMap
DeclaredObject = StoredObject | Secret
"""What a manifest can declare; a Secret is never stored."""

_API_VERSIONS: Final = {
    "ResearchTask": API_VERSION,
    "ResearchStep": API_VERSION,
    "ResearchModel": API_VERSION,
    "ResearchSource": API_VERSION,
    "ConfigMap": "v1",
    "Secret": "v1",
}

_OWN_FIELDS: Final = {
    "ConfigMap": {"data"},
    "Secret": {"data", "stringData", "type", "immutable"},
}

_IGNORED_METADATA: Final = frozenset({"managedFields"})
"""What a manifest that came out of a cluster carries, and nobody means."""

_NAME: Final = TypeAdapter[str](Name)
_NAMESPACE: Final = TypeAdapter[str](Label)


def read_manifest(manifest: Mapping[str, Any]) -> DeclaredObject:
    """Return the object that a manifest declares; its `status` is not read.

    Raises:
        UserError: with one line for each fault that names the field, the rule and the mend.
    """
    kind = _kind(manifest)
    title = _title(kind, manifest)
    if not_json := tuple(_not_json(manifest, ())):
        raise invalid(title, not_json)
    own = _OWN_FIELDS.get(kind, {"spec", "status"})
    lines = [
        f"{key}: is not a known field; remove it or correct its name"
        for key in manifest
        if key not in {"apiVersion", "kind", "metadata", *own}
    ]
    metadata = _metadata(manifest.get("metadata"), lines)
    found = _object(kind, metadata, manifest, lines)
    if lines or found is None:
        raise invalid(title, lines)
    return found


def _kind(manifest: Mapping[str, Any]) -> str:
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    if not isinstance(kind, str) or kind not in _API_VERSIONS:
        raise invalid(
            "the manifest", [f"kind: must be one of {', '.join(_API_VERSIONS)}; correct it"]
        )
    if version != _API_VERSIONS[kind]:
        raise invalid(
            _title(kind, manifest),
            [f"apiVersion: must be {_API_VERSIONS[kind]} for a {kind}; correct it"],
        )
    return kind


def _title(kind: str, manifest: Mapping[str, Any]) -> str:
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"the {kind} {name}" if isinstance(name, str) else f"the {kind} without a name"


def _not_json(value: object, location: tuple[int | str, ...]) -> Iterator[str]:
    """Name what YAML can hold and an API object cannot: dates, keys that are no strings."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _not_json(item, (*location, key))
            else:
                yield f"{field_path(location)}: the key {key} must be a string; put it in quotes"
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _not_json(item, (*location, index))
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{field_path(location)}: must be a finite number; correct it"
    elif value is not None and not isinstance(value, str | int | float):
        kind = type(value).__name__
        yield f"{field_path(location)}: is read as a {kind}, not a string; put it in quotes"


def _metadata(value: object, lines: list[str]) -> ObjectMeta | None:
    """Read the metadata, or add to `lines` what is wrong with it."""
    if not isinstance(value, Mapping):
        lines.append("metadata: must be an object with a name; add it")
        return None
    kept = {key: item for key, item in value.items() if key not in _IGNORED_METADATA}
    metadata = _strict(ObjectMeta, kept, "metadata", lines)
    if metadata is None:
        return None
    for field, adapter in (("name", _NAME), ("namespace", _NAMESPACE)):
        try:
            adapter.validate_python(getattr(metadata, field))
        except ValidationError as error:
            lines.extend(faults(error, root=f"metadata.{field}"))
    return metadata


def _object(
    kind: str, metadata: ObjectMeta | None, manifest: Mapping[str, Any], lines: list[str]
) -> DeclaredObject | None:
    """Read the rest; None if anything is wrong, the metadata included."""
    if kind == "Secret":
        return _secret(metadata, manifest, lines)
    if kind == "ConfigMap":
        return _config_map(metadata, manifest, lines)
    return _custom(kind, metadata, manifest, lines)


def _custom(
    kind: str, metadata: ObjectMeta | None, manifest: Mapping[str, Any], lines: list[str]
) -> StoredObject | None:
    spec = manifest.get("spec")
    if spec is None:
        lines.append("spec: must be set; add it")
        return None
    match kind:
        case "ResearchTask":
            task = _strict(ResearchTaskSpec, spec, "spec", lines)
            return ResearchTask(metadata=metadata, spec=task) if metadata and task else None
        case "ResearchStep":
            step = _strict(ResearchStepSpec, spec, "spec", lines)
            return ResearchStep(metadata=metadata, spec=step) if metadata and step else None
        case "ResearchModel":
            model = _strict(ResearchModelSpec, spec, "spec", lines)
            return ResearchModel(metadata=metadata, spec=model) if metadata and model else None
        case _:
            source = _strict(ResearchSourceSpec, spec, "spec", lines)
            return ResearchSource(metadata=metadata, spec=source) if metadata and source else None


def _secret(
    metadata: ObjectMeta | None, manifest: Mapping[str, Any], lines: list[str]
) -> Secret | None:
    values = secret_values(manifest, lines)
    return Secret(metadata, values) if metadata and values is not None else None


def _config_map(
    metadata: ObjectMeta | None, manifest: Mapping[str, Any], lines: list[str]
) -> ConfigMap | None:
    try:
        data = TypeAdapter(dict[str, str]).validate_python(manifest.get("data", {}), strict=True)
    except ValidationError as error:
        lines.extend(faults(error, root="data"))
        return None
    return ConfigMap(metadata=metadata, data=data) if metadata else None


def _strict(model: type[Model], value: object, root: str, lines: list[str]) -> Model | None:
    """Validate as JSON: no conversion, no Python names, no unknown field at any depth."""
    try:
        return model.model_validate_json(
            json.dumps(value), strict=True, extra="forbid", by_alias=True, by_name=False
        )
    except ValidationError as error:
        lines.extend(faults(error, model, root))
        return None
