"""Turns an object into the JSON merge patch that leaves exactly this object behind.

A merge patch (RFC 7396) keeps every key that it does not name. What is absent must therefore be
named as null, at each depth at which the patch meets an object; lists are replaced as a whole.
"""

from __future__ import annotations

from typing import Any

from controller.api.base import ApiModel


def merge_patch(model: ApiModel) -> dict[str, Any]:
    """Return the patch under which any stored object of the model's type becomes this one."""
    return _with_nulls(model, model.to_json())


def _with_nulls(model: ApiModel, dump: dict[str, Any]) -> dict[str, Any]:
    """Add to a dump what it must name: null for each absent field, recursively for objects."""
    for name, field in type(model).model_fields.items():
        key = field.serialization_alias or name
        value = getattr(model, name)
        if value is None:
            dump[key] = None
        elif isinstance(value, ApiModel):
            _with_nulls(value, dump[key])
    return dump
