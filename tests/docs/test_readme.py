"""README.md: each of its promises names the tests that would fail if it were broken."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_each_promise_links_to_tests_that_are_there() -> None:
    promises = re.findall(r"^\d\. \*\*.*$", README, re.MULTILINE)
    assert len(promises) == 3
    for promise in promises:
        files = re.findall(r"\]\((tests/[\w/]+\.py)\)", promise)
        assert len(files) >= 3
        assert [file for file in files if not (ROOT / file).is_file()] == []


def test_the_readme_can_be_read_in_one_go() -> None:
    assert len(README.splitlines()) <= 250
