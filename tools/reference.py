"""Writes the tables of fields in `docs/`: `python -m tools.reference`; `--check` only compares.

The pages of the kinds are written by hand; what bounds and defaults a field has is not, so that
no page says anything else than the API server does.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from controller.api.crd import KINDS, Kind, definition
from tools.reasons import table

ROOT: Final = Path(__file__).resolve().parent.parent

_BLOCK: Final = re.compile(
    r"(<!-- (fields|rules) of (spec|status): .*?-->\n).*?(<!-- end -->)", re.DOTALL
)

_PATTERNS: Final = {
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$": "DNS label",
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$": "name of an object",
    r"^[A-Za-z][A-Za-z0-9]*$": "one CamelCase word",
    r"^[^\x00]*$": "string without U+0000",
    r"^[ -~]+$": "printable ASCII",
}
"""What the patterns of `controller.api.base` mean; any other is shown as it is."""

_WHOLE_PATTERNS: Final = {
    r"^sha256:[0-9a-f]{64}$": "`sha256:` and 64 hexadecimal digits",
    r"^d-[0-9a-f]{12}$": "`d-` and 12 hexadecimal digits",
    r"^f-[0-9a-f]{12}$": "`f-` and 12 hexadecimal digits",
    r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?$": "US dollars as a decimal string, at most 6 decimals",
}
"""Patterns that need no length beside them."""


def reference_pages() -> dict[Path, str]:
    """Return the page of each kind with its tables made anew.

    Raises:
        ValueError: a page has no table of its kind's spec.
    """
    pages = {}
    for kind in KINDS:
        path = ROOT / "docs" / f"{kind.name.lower()}.md"
        text, count = _BLOCK.subn(partial(_filled, kind), path.read_text("utf-8"))
        if count == 0:
            raise ValueError(f"{path}: no block `<!-- fields of spec: ... -->`")
        pages[path] = text
    return pages


def _filled(kind: Kind, block: re.Match[str]) -> str:
    return f"{block[1]}{_content(kind, block[2], block[3])}{block[4]}"


def _content(kind: Kind, what: str, part: str) -> str:
    (version,) = definition(kind)["spec"]["versions"]
    root = version["schema"]["openAPIV3Schema"]
    schema = root["properties"][part]
    if what == "fields":
        return "\n" + table(("field", "type and bounds", "default"), _rows(schema, "")) + "\n"
    found = [*_rules(root, "metadata")] if part == "spec" else []
    return "\n" + "".join(f"- {line}\n" for line in [*found, *_tree_of_rules(schema, part)]) + "\n"


def _rows(schema: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", ())
    for name, child in schema["properties"].items():
        default = "required" if name in required else _default(child)
        yield f"`{prefix}{name}`", _type(child), default
        if child["type"] == "object":
            yield from _rows(child, f"{prefix}{name}.")
        elif child["type"] == "array" and child["items"]["type"] == "object":
            yield from _rows(child["items"], f"{prefix}{name}[].")


def _default(schema: Mapping[str, Any]) -> str:
    value = schema.get("default")
    if value is None:
        return ""
    return "its fields' own" if value == {} else f"`{json.dumps(value)}`"


def _type(schema: Mapping[str, Any]) -> str:
    match schema["type"]:
        case "object":
            return "object"
        case "array":
            return _list_type(schema)
        case "integer":
            return f"integer {schema['minimum']}..{_number(schema['maximum'])}"
        case "string":
            return _text_type(schema)
        case other:
            return str(other)


def _list_type(schema: Mapping[str, Any]) -> str:
    items = schema["items"]
    content = "objects" if items["type"] == "object" else f"({_type(items)})"
    keys = ", ".join(f"`{key}`" for key in schema.get("x-kubernetes-list-map-keys", ()))
    unique = f", each {keys} once" if keys else ""
    return f"list of {schema.get('minItems', 0)}..{schema['maxItems']} {content}{unique}"


def _text_type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("format") == "date-time":
        return "time (RFC 3339)"
    pattern = schema.get("pattern")
    if pattern in _WHOLE_PATTERNS:
        return _WHOLE_PATTERNS[pattern]
    kind = "string"
    if pattern is not None:
        kind = _PATTERNS.get(pattern) or f"string matching `{pattern}`".replace("|", "\\|")
    return f"{kind}, {schema.get('minLength', 0)}..{schema['maxLength']} characters"


def _number(value: int) -> str:
    return {2**53 - 1: "2⁵³-1", 2**31 - 1: "2³¹-1"}.get(value, str(value))


def _tree_of_rules(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    yield from _rules(schema, path)
    for name, child in schema.get("properties", {}).items():
        yield from _tree_of_rules(child, f"{path}.{name}")
    if "items" in schema:
        yield from _tree_of_rules(schema["items"], f"{path}[]")


def _rules(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", ()):
        yield f"`{path}`: {rule['message']}"


def main() -> int:
    """Write the pages, or with `--check` return 1 and name those that differ."""
    check = "--check" in sys.argv[1:]
    stale = [
        (path, text) for path, text in reference_pages().items() if path.read_text("utf-8") != text
    ]
    for path, text in stale:
        if not check:
            path.write_text(text, "utf-8")
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
