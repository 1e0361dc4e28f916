"""docs/testing.md: its example runs as it stands, and what it says a script can do is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_page_has_an_example_without_a_model_and_one_with() -> None:
    assert ["ScriptedModel" in example for example in EXAMPLES] == [False, True]


@pytest.mark.parametrize("example", EXAMPLES, ids=["without a model", "with a model"])
def test_the_examples_of_the_page_run(example: str, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(f"import sys\n\nsys.path.insert(0, {str(ROOT)!r})\n\n{example}", "utf-8")
    ran = subprocess.run(
        [sys.executable, str(file)], check=False, capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_every_file_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(controller/[\w/]+\.py)`", PAGE))
    assert len(named) >= 5
    assert [name for name in named if not (ROOT / name).is_file()] == []
