"""Says what is wrong with an object so that its author can mend it: path, rule and mend.

pydantic's own text speaks of Python; users write YAML. One line is made of each fault, in the
order of the object, and never repeats the user's value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from controller.api.errors import UserError


class _Explanation(NamedTuple):
    rule: str
    mend: str


_LONGER: Final = "write more"
_SHORTER: Final = "shorten it"
_OBJECT: Final = _Explanation("must be an object", "write its fields, each with its name")
_LIST: Final = _Explanation("must be a list", "write its items, each after a dash")

_EXPLANATIONS: Final[Mapping[str, _Explanation]] = {
    "missing": _Explanation("must be set", "add it"),
    "extra_forbidden": _Explanation("is not a known field", "remove it or correct its name"),
    "string_type": _Explanation("must be a string", "put it in quotes"),
    "int_type": _Explanation("must be an integer", "write a whole number without quotes"),
    "bool_type": _Explanation("must be true or false", "write one of the two without quotes"),
    "enum": _Explanation("must be {expected}", "write one of these, in capitals as shown"),
    "string_too_short": _Explanation("must have at least {min_length} characters", _LONGER),
    "string_too_long": _Explanation("must have at most {max_length} characters", _SHORTER),
    "string_pattern_mismatch": _Explanation(
        "must match the pattern {pattern}", "use only what it allows"
    ),
    "too_short": _Explanation("must have at least {min_length} items", "add to it"),
    "too_long": _Explanation("must have at most {max_length} items", "remove some"),
    "greater_than_equal": _Explanation("must be at least {ge}", "raise it"),
    "less_than_equal": _Explanation("must be at most {le}", "lower it"),
    "model_type": _OBJECT,
    "dict_type": _OBJECT,
    "tuple_type": _LIST,
    "list_type": _LIST,
}


def faults(
    error: ValidationError, model: type[BaseModel] | None = None, root: str = ""
) -> tuple[str, ...]:
    """Return one line for each fault: the field's path, the rule and the mend.

    Args:
        error: what pydantic found.
        model: the model that was validated; with it, a misspelt field gets a suggestion.
        root: the path of the validated object itself, such as `spec`.
    """
    lines = []
    for fault in error.errors(include_url=False, include_input=False):
        location = fault["loc"]
        explanation = _EXPLANATIONS.get(fault["type"])
        if explanation is None:
            rule, mend = fault["msg"], "correct it"
        else:
            rule, mend = explanation.rule.format_map(fault.get("ctx", {})), explanation.mend
        if fault["type"] == "extra_forbidden" and model is not None:
            mend = _suggestion(model, location) or mend
        lines.append(f"{field_path(location, root)}: {rule}; {mend}")
    return tuple(lines)


def field_path(location: Sequence[int | str], root: str = "") -> str:
    """Return a location as users write it: `spec.sourceRefs[0].name`."""
    path = root
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if path else part
    return path or "the object"


def invalid(thing: str, lines: Sequence[str]) -> UserError:
    """Return the error for an object with faults, one on each line below the thing's name."""
    return UserError("\n".join([f"{thing} is not valid:", *(f"  {line}" for line in lines)]))


def _suggestion(model: type[BaseModel], location: Sequence[int | str]) -> str | None:
    """Return `did you mean maxSteps?` if a known field of the same object is spelt alike."""
    parent: type[BaseModel] | None = model
    for part in location[:-1]:
        if isinstance(part, str) and parent is not None:
            parent = _model_of_field(parent, part)
    if parent is None:
        return None
    known = [field.alias or name for name, field in parent.model_fields.items()]
    close = get_close_matches(str(location[-1]), known, n=1)
    return f"did you mean {close[0]}?" if close else None


def _model_of_field(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    for name, field in model.model_fields.items():
        if (field.alias or name) == key:
            return _model_in(field.annotation)
    return None


def _model_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - any type form
    """Return the model that a field holds, alone, in a list or beside None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for a in get_args(annotation) if (found := _model_in(a))), None)
