"""The table of requirements: each number with the tests that cite it, or why there are none.

`docs/requirements.tsv` has the numbers and what they ask; a test proves one by naming it in a
comment or a docstring. From both, `docs/requirements.md` is made. `faults` says where the two
disagree.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from tools.reasons import table

ROOT: Final = Path(__file__).resolve().parent.parent
_TABLE: Final = ROOT / "docs" / "requirements.tsv"
_NUMBER: Final = re.compile(r"\bS\d\.\d+\b")

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Kind(StrEnum):
    """What stands in the table's third column, before its colon."""

    DOCUMENTATION = "documentation"
    SAMPLE = "sample"
    IMPORT_CONTRACT = "import contract"
    MAKE = "make"
    WAITS = "waits"
    OPEN = "open"
    DOES_NOT_APPLY = "does not apply"


_UNPROVEN: Final = frozenset({Kind.WAITS, Kind.OPEN, Kind.DOES_NOT_APPLY})
_WAITS_FOR: Final = {"models": "Comes with the client for models and remote sources."}


@dataclass(frozen=True)
class Requirement:
    """One row: `target` is what its kind points to, or a sentence."""

    number: str
    section: str
    text: str
    kind: Kind | None
    target: str

    def is_proven(self, tests: Iterable[Citation]) -> bool:
        """Say whether nothing is left to do: something proves it, and nothing says otherwise."""
        return self.kind not in _UNPROVEN and (self.kind is not None or any(tests))


@dataclass(frozen=True, order=True)
class Citation:
    """A place that names a number: a test file, and the test or class in it; or the whole file."""

    file: str
    test: str


def requirements(text: str | None = None) -> list[Requirement]:
    """Return the rows of the table.

    Raises:
        ValueError: a line has not three columns, or a kind that is none.
    """
    section, rows = "", []
    for line in (text or _TABLE.read_text("utf-8")).splitlines():
        if line.startswith("# "):
            section = line.removeprefix("# ")
            continue
        number, asks, state = line.split("\t")
        kind, _, target = state.partition(": ")
        rows.append(Requirement(number, section, asks, Kind(kind) if kind else None, target))
    return rows


def cited(source: str) -> Iterator[tuple[str, str]]:
    """Yield each number that a test file's comments and docstrings name, with the test.

    A comment belongs to the test that it stands in or directly above; all else to the file: "".
    """
    spans = list(_spans(ast.parse(source), ""))
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for line, text in _prose(tokens):
        around = [span for span in spans if span[0] <= line <= span[1]]
        name = max(around)[2] if around else ""
        for number in _NUMBER.findall(text):
            yield number, name


def _prose(tokens: list[tokenize.TokenInfo]) -> Iterator[tuple[int, str]]:
    """Yield comments and docstrings, each with the line that decides where it belongs."""
    layout = {tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.NEWLINE}
    starts_statement = True
    for at, token in enumerate(tokens):
        if token.type == tokenize.COMMENT:
            yield _line_of(tokens, at), token.string
        elif token.type == tokenize.STRING and starts_statement:
            yield token.start[0], token.string
        if token.type not in {tokenize.NL, tokenize.COMMENT}:
            starts_statement = token.type in layout | {tokenize.ENCODING}


def _line_of(tokens: list[tokenize.TokenInfo], at: int) -> int:
    """Return the line of a comment, or of the code right below a comment that has its own line."""
    comment = tokens[at]
    if comment.line[: comment.start[1]].strip():
        return comment.start[0]
    line = comment.start[0]
    for token in tokens[at + 1 :]:
        if token.start[0] > line + 1 or (token.type == tokenize.NL and not token.line.strip()):
            break
        line = token.start[0]
        if token.type not in {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT}:
            return line
    return comment.start[0]


def _spans(tree: ast.AST, within: str) -> Iterator[tuple[int, int, str]]:
    """Yield first line, last line and name of each test and each class of tests."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Definition) and node.name.lower().startswith("test"):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            name = f"{within}{node.name}"
            yield first, node.end_lineno or first, name
            yield from _spans(node, f"{name}::")


def citations() -> dict[str, list[Citation]]:
    """Return for each number the tests of the suite that cite it."""
    found = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for number, test in cited(path.read_text("utf-8")):
            found[number].add(Citation(path.relative_to(ROOT).as_posix(), test))
    return {number: sorted(places) for number, places in found.items()}


def faults(rows: list[Requirement], tests: Mapping[str, list[Citation]]) -> list[str]:
    """Return a sentence for each disagreement of table, tests and what the table points to."""
    counts = Counter(row.number for row in rows)
    found = [f"{number} stands {n} times in the table" for number, n in counts.items() if n > 1]
    for number in tests.keys() - counts.keys():
        places = ", ".join(f"{c.file}::{c.test}".removesuffix("::") for c in tests[number])
        found.append(f"{number} is cited by {places}, and is no requirement")
    for row in rows:
        has_tests = bool(tests.get(row.number))
        if row.kind is None and not has_tests:
            found.append(f"{row.number} is cited by no test, and no reason is given")
        elif row.kind is Kind.DOES_NOT_APPLY and has_tests:
            found.append(f"{row.number} does not apply, and is cited by a test")
        elif row.kind is not None and not _exists(row.kind, row.target):
            found.append(f"{row.number}: there is no {row.kind} {row.target!r}")
    return found


def _exists(kind: Kind, target: str) -> bool:
    match kind:
        case Kind.DOCUMENTATION:
            page, _, anchor = target.partition("#")
            path = ROOT / page
            return path.is_file() and (not anchor or anchor in _anchors(path.read_text("utf-8")))
        case Kind.SAMPLE:
            return target.startswith("manifests/samples/") and (ROOT / target).is_file()
        case Kind.IMPORT_CONTRACT:
            project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
            return target in {c["name"] for c in project["tool"]["importlinter"]["contracts"]}
        case Kind.MAKE:
            return f"\n{target}:" in (ROOT / "Makefile").read_text("utf-8")
        case Kind.WAITS:
            return target in _WAITS_FOR
        case Kind.OPEN | Kind.DOES_NOT_APPLY:
            return target.endswith(".")


def _anchors(markdown: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def requirements_page() -> str:
    """Return `docs/requirements.md`."""
    rows, tests = requirements(), citations()
    numbers = [row.number for row in rows if row.kind is Kind.OPEN]
    page = (
        "# Requirements\n\n"
        "<!-- Generated from docs/requirements.tsv and the tests by `make docs`; do not edit. -->"
        "\n\n"
        "What the loop must hold, taken from five essays on loop engineering (S0 to S4) line by\n"
        "line. A test proves a number by citing it in a comment or a docstring; the suite fails\n"
        "if a number has neither a proof nor a stated reason. Tests beside a reason prove a part.\n"
        f"\n{_counts(rows, tests)}\nOpen: {', '.join(numbers) or 'none'}.\n"
    )
    for section in dict.fromkeys(row.section for row in rows):
        lines = [
            (row.number, row.text, _shown(row, tests.get(row.number, [])))
            for row in rows
            if row.section == section
        ]
        page += f"\n## {section}\n\n" + table(("number", "must hold", "shown by"), lines)
    return page


def _counts(rows: list[Requirement], tests: Mapping[str, list[Citation]]) -> str:
    proven = sum(row.is_proven(tests.get(row.number, [])) for row in rows)
    kinds = Counter(row.kind for row in rows)
    return table(
        ("numbers", "proven", "wait for models", "open", "do not apply"),
        [
            tuple(
                map(
                    str,
                    (
                        len(rows),
                        proven,
                        kinds[Kind.WAITS],
                        kinds[Kind.OPEN],
                        kinds[Kind.DOES_NOT_APPLY],
                    ),
                )
            )
        ],
    )


def _shown(row: Requirement, tests: list[Citation]) -> str:
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        by_file[test.file].append(test.test)
    shown = [_stated(row.kind, row.target)] if row.kind is not None else []
    for file, names in by_file.items():
        short = file.removeprefix("tests/").removesuffix(".py")
        named = ", ".join(f"`{name}`" for name in names if name)
        shown.append(f"[{short}](../{file})" + (f": {named}" if named else ""))
    return "<br>".join(shown)


def _stated(kind: Kind, target: str) -> str:
    match kind:
        case Kind.DOCUMENTATION | Kind.SAMPLE:
            link = target.removeprefix("docs/") if target.startswith("docs/") else f"../{target}"
            return f"[{target}]({link})"
        case Kind.IMPORT_CONTRACT:
            return f"import contract “{target}”"
        case Kind.MAKE:
            return f"`make {target}`"
        case Kind.WAITS:
            return f"*Waits.* {_WAITS_FOR[target]}"
        case Kind.OPEN:
            return f"*Open.* {target}"
        case Kind.DOES_NOT_APPLY:
            return f"*Does not apply.* {target}"
