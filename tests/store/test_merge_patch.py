"""A merge patch leaves exactly the new object, whatever was there: RFC 7396 applied in Python."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from controller.api.base import ApiModel
from controller.api.task import ResearchTaskStatus
from controller.store.merge_patch import merge_patch
from tests.store.builders import full_status

FULL = full_status()


def apply_merge_patch(target: Any, patch: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Apply a patch as RFC 7396 defines it, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge_patch(result.get(key), value)
    return result


def thinned(model: ApiModel, keep: st.DataObject) -> ApiModel:
    """Return a copy without some of the optional fields and list items, at every depth."""
    changes: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if field.default is None and not field.is_required() and not keep.draw(st.booleans()):
            changes[name] = None
        elif isinstance(value, ApiModel):
            changes[name] = thinned(value, keep)
        elif isinstance(value, tuple):
            changes[name] = value[: keep.draw(st.integers(0, len(value)))]
        elif name == "steps" and isinstance(value, int):
            changes[name] = keep.draw(st.integers(0, 9))
    return model.model_copy(update=changes)


@given(st.data())
def test_any_status_becomes_exactly_the_one_that_is_written(data: st.DataObject) -> None:
    before, after = thinned(FULL, data), thinned(FULL, data)
    assert apply_merge_patch(before.to_json(), merge_patch(after)) == after.to_json()


@given(st.data())
def test_a_status_that_is_written_twice_is_the_same(data: st.DataObject) -> None:
    status = thinned(FULL, data)
    once = apply_merge_patch({}, merge_patch(status))
    assert once == status.to_json()
    assert apply_merge_patch(once, merge_patch(status)) == once


def test_an_absent_field_is_named_as_null_in_each_object_that_stays() -> None:
    pending = FULL.pending
    assert pending is not None
    unquestioned = pending.model_copy(update={"question_id": None})
    patch = merge_patch(FULL.model_copy(update={"pending": unquestioned, "report": None}))

    assert patch["report"] is None
    assert patch["pending"]["questionId"] is None
    assert patch["pending"]["index"] == pending.index


def test_no_status_holds_a_map_whose_keys_a_patch_could_not_remove() -> None:
    """The API conventions forbid maps; one would need nulls that no schema can name."""

    def check(model: type[BaseModel]) -> None:
        schema = model.model_json_schema()
        for name, definition in {"": schema, **schema.get("$defs", {})}.items():
            free = definition.get("additionalProperties")
            assert not free, f"{model.__name__}.{name}"
            for key, field in definition.get("properties", {}).items():
                assert not field.get("additionalProperties"), f"{name}.{key}"

    check(ResearchTaskStatus)
