"""What the benchmark with a real model takes for a false quote, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bench.llama_benchmark import false_quotes, letters, settings_of

SETTINGS = """\
``GLOW_LEVEL``
--------------

Default: ``40`` (lumens)

See :setting:`GLOW_COLOUR`, the `manual <https://example.org/>`_ and :class:`~lamps.models.Lamp`.

``NAME``
~~~~~~~~

Default: ``''`` (Empty string)

``NAME``
--------

Default: ``None``
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    file = tmp_path / "docs" / "ref" / "settings.txt"
    file.parent.mkdir(parents=True)
    file.write_text(SETTINGS, encoding="utf-8")
    return tmp_path


def test_settings_are_those_with_a_default_and_a_name_of_their_own(corpus: Path) -> None:
    assert settings_of(corpus) == {"GLOW_LEVEL": "40lumens"}


@pytest.mark.parametrize(
    ("quote", "is_false"),
    [
        ("Default: 40 (lumens)", False),
        ("See GLOW_COLOUR, the manual and Lamp.", False),
        ("Default: 41 (lumens)", True),
        ("See GLOW_COLOUR, the manual and no Lamp.", True),
    ],
)
def test_a_quote_is_false_where_its_file_has_other_letters(
    corpus: Path, quote: str, *, is_false: bool
) -> None:
    report: dict[str, Any] = {
        "references": [{"locator": "file:docs/ref/settings.txt", "quote": quote}]
    }
    assert bool(false_quotes(corpus, report)) is is_false


def test_markup_has_no_letters() -> None:
    assert letters("``a``, *b* and :ref:`c <d>`") == "abandc"
