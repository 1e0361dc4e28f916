"""The pages of the kinds say what the API server does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from controller.api.crd import KINDS, Kind
from controller.api.reasons import AcceptedReason, ConditionType, ReadyReason, RunningReason
from controller.api.records import NoteKind
from controller.api.step import ActionName, Outcome
from controller.store.manifest import read_manifest
from tools.reference import reference_pages

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = {kind.name: ROOT / "docs" / f"{kind.name.lower()}.md" for kind in KINDS}


def test_the_tables_are_the_generated_ones() -> None:
    pages = reference_pages()
    assert set(pages) == set(PAGES.values())
    for path, text in pages.items():
        assert path.read_text("utf-8") == text, f"{path}: run `python -m tools.reference`"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_of_the_spec_has_a_row_with_its_default(kind: Kind) -> None:
    text = PAGES[kind.name].read_text("utf-8")
    properties = kind.spec.model_json_schema(by_alias=True)["properties"]
    for name, schema in properties.items():
        (row,) = re.findall(rf"^\| `{re.escape(name)}` \|.*$", text, re.MULTILINE)[:1]
        if isinstance(default := schema.get("default"), int):
            assert row.endswith(f"| `{default}` |")


NAMED = {
    "the conditions of a task": ("ResearchTask", ConditionType),
    "why a task is accepted, or waits": (
        "ResearchTask",
        set(AcceptedReason) - {AcceptedReason.PENDING},
    ),
    "what a run does": ("ResearchTask", RunningReason),
    "why a source is ready": ("ResearchSource", ReadyReason),
    "why a model is ready": (
        "ResearchModel",
        {ReadyReason.READY, ReadyReason.ADDRESS_BLOCKED, ReadyReason.SECRET_NOT_FOUND},
    ),
    "what a step does": ("ResearchStep", ActionName),
    "how a step ended": ("ResearchStep", Outcome),
    "what a note says": ("ResearchStep", NoteKind),
}


@pytest.mark.parametrize(("page", "names"), NAMED.values(), ids=NAMED.keys())
def test_a_page_names_every(page: str, names: set[str]) -> None:
    text = PAGES[page].read_text("utf-8")
    for name in names:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda path: path.stem)
def test_every_object_in_a_page_is_valid(page: Path) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    objects = [manifest for block in blocks if "metadata" in (manifest := yaml.safe_load(block))]
    for manifest in objects:
        read_manifest(manifest)
    assert objects or page.stem == "researchstep"


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda path: path.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", page.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (page.parent / target).exists(), target
