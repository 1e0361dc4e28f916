"""README and docs/command-line.md: what they say is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tools.state_table import with_tables

ROOT = Path(__file__).resolve().parent.parent.parent
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "command-line.md"

COMMANDS = ["run", "watch", "report", "verify"]


# S1.36
def test_the_tables_of_the_readme_are_those_of_the_code() -> None:
    text = README.read_text("utf-8")
    assert with_tables(text) == text


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 250


@pytest.mark.parametrize("page", [README, PAGE], ids=lambda p: p.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)?(#[^)]+)?\)", page.read_text("utf-8"))
    assert links
    for path, anchor in links:
        target = page.parent / path if path else page
        assert target.exists(), path
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
            assert anchor.removeprefix("#") in slugs, anchor


def test_the_first_task_of_the_readme_runs_as_it_says(desk: Desk) -> None:
    found = re.search(r"```yaml\n# task.yaml\n(.+?)```", README.read_text("utf-8"), re.DOTALL)
    assert found is not None
    desk.task.write_text(found[1], encoding="utf-8")
    handbook = desk.folder / "handbook"
    handbook.mkdir()
    (handbook / "rules.md").write_text(
        "# Leaving\n\nFour weeks of notice must be given by either side.\n\n"
        "# Equipment\n\nThe team lead approves the purchase of laptops and screens.\n",
        encoding="utf-8",
    )
    assert desk.fixpoint("run", "-f", "task.yaml").code == 0
    text = (desk.folder / "handbook-report" / "report.md").read_text("utf-8")
    assert "> Four weeks of notice must be given by either side." in text
    assert "> The team lead approves the purchase of laptops and screens." in text
    assert desk.fixpoint("verify", "handbook", "--local").code == 0


def test_the_minimal_sample_runs_as_it_is(desk: Desk) -> None:
    sample = ROOT / "manifests" / "samples" / "minimal.yaml"
    assert desk.fixpoint("run", "-f", sample).code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_names_every_option(desk: Desk, command: str) -> None:
    options = set(re.findall(r"--[a-z-]+", desk.fixpoint(command, "--help").out)) - {"--help"}
    assert options
    text = PAGE.read_text("utf-8")
    assert {option for option in options if option not in text} == set()
