"""The core computes: no clock, chance, input or output; import contracts cannot see all of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

_PURE: Final = ("api", "loop", "evidence")
_FILES: Final = sorted(
    path for package in _PURE for path in (ROOT / "controller" / package).rglob("*.py")
)

_MODULES: Final = frozenset(
    {
        "asyncio", "socket", "os", "time", "random", "secrets", "logging", "subprocess",
        "pathlib", "io", "sqlite3", "threading", "uuid", "httpx", "aiohttp", "kopf",
        "kubernetes",
    }
)  # fmt: skip
_METHODS: Final = frozenset({"now", "utcnow", "today", "uuid1", "uuid4", "__import__"})
_FUNCTIONS: Final = frozenset({"open", "print", "input", "exec", "eval", "__import__", "uuid4"})


def impurities(source: str) -> Iterator[str]:
    """Yield what a pure module may not hold, each with its line."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.AsyncFunctionDef() | ast.AsyncFor() | ast.AsyncWith() | ast.Await():
                yield f"{node.lineno}: {type(node).__name__}"
            case ast.Import():
                for alias in node.names:
                    yield from _module(node.lineno, alias.name)
            case ast.ImportFrom(module=str(module)):
                yield from _module(node.lineno, module)
            case ast.Call(func=ast.Name(id=name)) if name in _FUNCTIONS:
                yield f"{node.lineno}: {name}("
            case ast.Call(func=ast.Attribute(attr=name)) if name in _METHODS:
                yield f"{node.lineno}: .{name}("


def _module(line: int, name: str) -> Iterator[str]:
    if name.partition(".")[0] in _MODULES:
        yield f"{line}: import of {name}"


def test_the_pure_packages_are_looked_at() -> None:
    assert {path.parent.name for path in _FILES} >= set(_PURE)
    assert len(_FILES) >= 30


# S1.17, S2.6
@pytest.mark.parametrize("path", _FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_is_pure(path: Path) -> None:
    assert list(impurities(path.read_text("utf-8"))) == []


IMPURE = {
    "a coroutine": ("async def f() -> None: ...", "1: AsyncFunctionDef"),
    "an asynchronous loop": ("async def f():\n  async for x in y: ...", "2: AsyncFor"),
    "an asynchronous context": ("async def f():\n  async with x: ...", "2: AsyncWith"),
    "waiting": ("async def f():\n  await x", "2: Await"),
    "a module": ("import os", "1: import of os"),
    "a module under another name": ("import random as steady", "1: import of random"),
    "a module inside": ("import os.path", "1: import of os.path"),
    "a module in a list": ("import json, socket", "1: import of socket"),
    "a name of a module": ("from time import monotonic", "1: import of time"),
    "a name of a library": ("from kubernetes.aio import client", "import of kubernetes.aio"),
    "an import in a function": ("def f():\n  import logging", "2: import of logging"),
    "the clock": ("datetime.now(UTC)", "1: .now("),
    "the clock of another time": ("datetime.datetime.utcnow()", "1: .utcnow("),
    "the date": ("date.today()", "1: .today("),
    "chance": ("uuid.uuid4()", "1: .uuid4("),
    "chance by its name": ("uuid4()", "1: uuid4("),
    "a file": ("open('x')", "1: open("),
    "a line for people": ("print('x')", "1: print("),
    "a module at run time": ("__import__('os')", "1: __import__("),
}


@pytest.mark.parametrize(("snippet", "found"), IMPURE.values(), ids=IMPURE.keys())
def test_the_check_finds(snippet: str, found: str) -> None:
    assert any(found in impurity for impurity in impurities(snippet))


PURE = {
    "a time that was given": "situation.now.replace(microsecond=0)",
    "a pure module": "from datetime import UTC, datetime\nimport hashlib",
    "a relative of a name": "import osmium\nfrom timeless import now",
    "a method of that name": "archive.open('x')",
}


@pytest.mark.parametrize("snippet", PURE.values(), ids=PURE.keys())
def test_the_check_lets_pass(snippet: str) -> None:
    assert list(impurities(snippet)) == []
