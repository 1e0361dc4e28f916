"""A small form of `make bench-research`: its gold, its halves, and a few questions of J and D."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from demo.corpus import django_docs
from tests.bench.research import packages
from tests.bench.research.absent import absent_settings, invented_names, mentioned, reduce
from tests.bench.research.asking import Quote, ask_all, best_passages
from tests.bench.research.corpora import shown, without_questions
from tests.bench.research.faq import human_questions
from tests.bench.research.intervals import wilson
from tests.bench.research.judging import is_right
from tests.bench.research.packages import PackageUnavailableError
from tests.bench.research.questions import Gold, Half, Question, digest_of_questions
from tests.bench.research.settings import (
    SETTINGS_PAGE,
    django_settings,
    entries_of,
    postgresql_settings,
)

PAGES = (SETTINGS_PAGE, "docs/topics/db/transactions.txt", "docs/topics/cache.txt")

FAQ_PAGE = """<html><body>
<a href="#why">5.2. Why is the <em>sky</em> blue?</a>
<h2><a id="why"></a>5.2. Why is the <em>sky</em>
blue?</h2>
<p>Short waves are scattered more.</p>
<h2>Colophon</h2>
<p>See <a href="#why">Section 5.2, "Why is the sky blue?"</a> again.</p></body></html>
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of three pages of Django's documentation."""
    folder = tmp_path_factory.mktemp("corpora") / "some-django-docs"
    for page in PAGES:
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(django_docs() / page, folder / page)
    return folder


def test_a_share_of_few_cases_has_a_wide_interval() -> None:
    low, high = wilson(5, 10)
    assert (round(low, 3), round(high, 3)) == (0.237, 0.763)
    low, high = wilson(100, 100)
    assert (round(low, 3), high) == (0.963, 1.0)
    assert wilson(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="3 successes of 2"):
        wilson(3, 2)


def test_the_halves_are_frozen() -> None:
    text = django_docs() / SETTINGS_PAGE
    questions = list(django_settings(text.parents[2]))
    assert len(questions) == 197
    halves = [question.half for question in questions]
    assert (halves.count(Half.DEVELOPMENT), halves.count(Half.TEST)) == (95, 102)
    assert digest_of_questions(questions).startswith("b883f771f418bc87")


def test_a_setting_is_asked_for_with_the_one_it_stands_in_where_names_repeat() -> None:
    questions = {q.id: q for q in django_settings(django_docs())}
    assert questions["J/CONN_MAX_AGE"].text.endswith("CONN_MAX_AGE?")
    assert questions["J/CACHES-BACKEND"].text.endswith("of BACKEND in CACHES?")
    assert questions["J/CONN_MAX_AGE"].gold[0].says == ("Default: 0",)


def test_only_a_quote_from_the_right_lines_that_says_the_value_is_right() -> None:
    asked = Question("J/AGE", "c", "?", (Gold("ref/settings.txt", 10, 20, ("Default: 60",)),))

    def quote(
        text: str, line: int | None = 10, locator: str = "file:docs/ref/settings.txt"
    ) -> bool:
        return is_right(asked, [Quote(text, locator, line, ())])

    assert quote("Default: 60")
    assert quote("default:  60.")
    assert not quote("Default: 600")
    assert not quote("Default: 60.5")
    assert not quote("Default: 60", line=20)
    assert not quote("Default: 60", line=None)
    assert not quote("Default: 60", locator="file:docs/ref/other.txt")


def test_of_a_faq_the_questions_are_taken_out_line_for_line(tmp_path: Path) -> None:
    asked = "Why is the sky blue?"
    assert shown(' 5.2. Why is the <em>sky</em>\nblue?<a class="headerlink">¶</a>') == asked
    without = without_questions(FAQ_PAGE, {asked})
    assert "sky" not in without
    assert "Short waves" in without
    assert without.count("\n") == FAQ_PAGE.count("\n")
    page = tmp_path / "page.html"
    page.write_text(FAQ_PAGE, "utf-8")
    (question,) = human_questions(iter([("debian-faq/page.html", page)]))
    assert question.text == asked
    assert (question.gold[0].first, question.gold[0].end) == (3, 6)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("The default is 64MB. It may be less.", "The default is 64MB"),
        ("A value of 0 (the default) turns it off.", "0 (the default)"),
        ("The port; 5432 by default. More.", "5432 by default"),
        ("The default is <code>on</code>.", "The default is on"),
        ("The default is to write nothing.", None),
        ("The default is 1, except on Windows, where the default is 2.", None),
    ],
)
def test_an_entry_that_states_one_short_default_has_gold(
    tmp_path: Path, entry: str, says: str | None
) -> None:
    page = tmp_path / "postgresql-doc-15" / "runtime-config-x.html"
    page.parent.mkdir()
    page.write_text(
        f'<dl>\n<dt id="GUC-X"><code class="varname">x_y</code></dt><dd><p>\n{entry}</p></dd></dl>',
        "utf-8",
    )
    found = [question.gold[0].says[0] for question in postgresql_settings(tmp_path)]
    assert found == ([] if says is None else [says])


def test_a_package_that_cannot_be_had_is_missing_for_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackageUnavailableError, match="this machine has no apt-get"):
        packages.unpacked("debian-faq", tmp_path)


def test_a_few_settings_are_answered_with_their_default_by_the_loop(
    whole: Path, tmp_path: Path
) -> None:
    wanted = ("J/CONN_MAX_AGE", "J/CSRF_COOKIE_NAME", "J/CACHES-TIMEOUT", "J/USE_TZ")
    asked = [q for q in django_settings(whole) if q.id in wanted]
    texts = [question.text for question in asked]
    found = ask_all(whole, tmp_path, texts)
    baseline = best_passages(whole, tmp_path, texts)
    assert len(asked) == len(wanted)
    assert all(is_right(q, answer.quotes[:1]) for q, answer in zip(asked, found, strict=True))
    assert {answer.ending for answer in found} == {"GoalReached"}
    assert all(len(passages) == 3 for passages in baseline)


def test_a_few_absent_settings_are_not_found_with_certificates_that_hold(
    whole: Path, tmp_path: Path
) -> None:
    reduced = tmp_path / "reduced"
    shutil.copytree(whole, reduced)
    reduce(reduced)
    questions = list(absent_settings(reduced, whole))
    assert len(questions) == 100
    assert len({question.text for question in questions}) == 100
    kinds = [q.id.split("/")[1] for q in questions]
    chosen = [questions[kinds.index("removed")], questions[kinds.index("invented")]]
    for answer in ask_all(reduced, tmp_path, [question.text for question in chosen]):
        assert (answer.state, answer.certificate) == ("NotFound", True)
        assert answer.quotes == ()


def test_a_name_that_is_there_after_all_is_refused(whole: Path) -> None:
    names = [entry.name for entry in entries_of((whole / SETTINGS_PAGE).read_text("utf-8"))]
    assert mentioned(whole, names) == set(names)
    assert not mentioned(whole, invented_names(whole))
    with pytest.raises(ValueError, match="not absent"):
        list(absent_settings(whole, whole))
