"""docs/sources.md: its examples are valid, and its tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from controller.api.source import ResearchSource, SourceType
from controller.loop.reading import BARS_ABSENCE
from controller.sources.making import REMOTE
from controller.sources.readers.faults import DocumentFault, bars_absence
from controller.sources.remote import arxiv, brave, interface, known_pages, media_wiki, tavily, web
from controller.sources.web.failures import RETRYABLE, FetchFailure
from controller.store.manifest import read_manifest

PAGE = (Path(__file__).parents[3] / "docs" / "sources.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n?)*)", PAGE, re.MULTILINE))


def rows(heading: str, first: str) -> dict[str, tuple[str, ...]]:
    """Return the rows of the table of a section whose second column is called so, by class."""
    tables = re.findall(r"(?:^\|.*\n)+", SECTIONS[heading], re.MULTILINE)
    (table,) = (t for t in tables if t.split("|")[2].strip() == first)
    cells = [line.strip("|").split("|") for line in table.strip().splitlines()[2:]]
    return {c[0].strip(" `"): tuple(text.strip() for text in c[1:]) for c in cells}


@pytest.mark.parametrize("kind", REMOTE)
def test_every_type_has_a_section_with_an_object_that_is_valid(kind: SourceType) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", SECTIONS[kind.value], re.DOTALL)
    manifest = read_manifest(yaml.safe_load(block))
    assert isinstance(manifest, ResearchSource)
    assert manifest.spec.type is kind


def test_the_classes_of_documents_say_whether_they_bar_as_the_loop_does() -> None:
    said = {name: row[0] == "yes" for name, row in rows("Errors", "bars").items()}
    assert said == dict(BARS_ABSENCE)


def test_what_readers_refuse_closes_a_hit_and_bars_as_they_say() -> None:
    said = {fault.value: bars_absence(fault) for fault in DocumentFault}
    assert said.items() <= BARS_ABSENCE.items()


def test_the_classes_of_searches_are_those_that_there_are() -> None:
    own = {
        interface.ENGINES_UNRESPONSIVE: True,
        interface.CREDENTIALS_CHANGED: True,
        interface.CREDENTIALS_REJECTED: False,
        interface.QUOTA_EXHAUSTED: False,
        interface.FORMAT_DISABLED: False,
    }
    of_documents = {
        FetchFailure.DOCUMENT_MISSING,
        FetchFailure.GONE,
        FetchFailure.FORBIDDEN,
        FetchFailure.ROBOTS_DISALLOWED,
        FetchFailure.SOFT_FAILURE,
    }
    fetched = {f.value: f in RETRYABLE for f in set(FetchFailure) - of_documents}
    said = {name: row[0] == "yes" for name, row in rows("Errors", "tried again").items()}
    assert said == {**own, **fetched}


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("Web", f"up to {web.MOST_EXPLORED} pages"),
        ("Web", f"At most {known_pages.MOST_PAGES} pages"),
        ("MediaWiki", f"maxlag={media_wiki.MAX_LAG_SECONDS}"),
        ("MediaWiki", f"at most {media_wiki.MOST_CONTINUATIONS} further"),
        ("Feed", f"At most {known_pages.MOST_PAGES} are"),
        ("ArXiv", f"up to {arxiv.MOST_WORDS} words"),
        ("ArXiv", f"in {arxiv.ArXivSource.least_delay_seconds:g} s"),
        ("Brave", f"{brave.LONGEST_QUERY} characters and {brave.MOST_WORDS} words"),
        ("Brave", f"`count` up to {brave.MOST_RESULTS}"),
        ("Tavily", f"at most {tavily.LONGEST_QUERY} characters"),
        ("Tavily", f"`max_results` up to {tavily.MOST_RESULTS}"),
    ],
)
def test_every_bound_is_the_one_that_holds(heading: str, words: str) -> None:
    assert words in " ".join(SECTIONS[heading].split())


def test_every_link_leads_somewhere() -> None:
    docs = Path(__file__).parents[3] / "docs"
    for target in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (docs / target).exists(), target
    for anchor in re.findall(r"\]\(#([^)]+)\)", PAGE):
        assert anchor in {h.lower().replace(" ", "-") for h in SECTIONS}, anchor
