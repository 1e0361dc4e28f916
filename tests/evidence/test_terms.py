"""Tokens, terms and hard tokens: what texts are compared by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.evidence.anchors import HardKind, hard_tokens, missing_anchors
from controller.evidence.normalisation import normalise
from controller.evidence.terms import (
    MAX_TERM_LENGTH,
    MAX_WEIGHED_TERMS,
    content_terms,
    key_terms,
    parts_of,
    term_weight,
    weighed_terms,
    weight_of,
)
from controller.evidence.tokens import (
    STEMMERS,
    Words,
    algorithm_for,
    cuts_a_token,
    is_dense,
    is_unspaced,
    stem,
    stop_words,
    tokenise,
)
from tests.evidence.recorded import cases


@pytest.mark.parametrize(
    ("text", "tokens"),
    cases(
        {
            "an underscore is a letter": ("ATOMIC_REQUESTS = False", ("atomic_requests", "false")),
            "what joins words parts tokens": (
                "django.db, one-to-one",
                ("django", "db", "one", "to", "one"),
            ),
            "case is folded": ("\u0130stanbul STRASSE", ("i\u0307stanbul", "strasse")),
            "Chinese gives pairs": (
                "\u9694\u79bb\u7ea7\u522b",
                ("\u9694\u79bb", "\u79bb\u7ea7", "\u7ea7\u522b"),
            ),
            "a single character is itself": ("\u4e8b", ("\u4e8b",)),
            "scripts meet inside a word": ("DEBUG\u7684\u503c", ("debug", "\u7684\u503c")),
            "Hindi keeps its vowel signs": (
                "\u0939\u093f\u0928\u094d\u0926\u0940",
                ("\u0939\u093f\u0928\u094d\u0926\u0940",),
            ),
            "Korean has words": ("\uae30\ubcf8 \uac12", ("\uae30\ubcf8", "\uac12")),
            "an emoji is no word": ("\U0001f600 !", ()),
        }
    ),
)
def test_tokens(text: str, tokens: tuple[str, ...]) -> None:
    assert tokenise(text) == tokens


def test_languages_have_their_stemmers_and_stop_words() -> None:
    assert stem("transactions") == stem("transaction")
    assert stem("Transaktionen".lower(), "de-AT") == stem("transaktion", "de")
    assert stem("transactions", "ja") == "transactions"
    assert stem("atomic_requests") == "atomic_requests"
    assert algorithm_for("tlh") is None
    assert "what" in stop_words("en-GB")
    assert stop_words("fi") == frozenset()


@pytest.mark.parametrize("language", STEMMERS)
def test_every_stemmer_exists(language: str) -> None:
    assert stem("word", language)


def test_scripts() -> None:
    assert is_unspaced("\u4e8b")
    assert is_unspaced("\u0e01")
    assert not is_unspaced("\uae30")
    assert is_dense("\uae30")
    assert not is_dense("\u0e01")


@pytest.mark.parametrize(
    ("term", "occurs"),
    cases(
        {
            "an inflection": ("transaction", True),
            "a name as it is": ("ATOMIC_REQUESTS", True),
            "a name in lower case": ("atomic_requests", True),
            "another name in capitals": ("CACHE", False),
            "a name whose case is another's": ("DEBUG", False),
            "the same name in small letters": ("debug", True),
            "a name that is the beginning of one": ("atomic", False),
            "a dotted name": ("django.db.models", True),
            "a dotted name in another order": ("db.django", False),
            "a phrase": ("two transactions", True),
            "a phrase over the edge of two texts": ("models second", False),
            "another phrase": ("transactions two", False),
            "nothing": ("", False),
            "symbols": ("[]", False),
        }
    ),
)
def test_words_know_their_terms(term: str, occurs: bool) -> None:  # noqa: FBT001 - a table's column
    words = Words(
        ["CACHES and ATOMIC_REQUESTS in django.db.models", "second: two Transactions, debug"]
    )
    assert words.has(term) is occurs


@pytest.mark.parametrize(
    ("text", "at", "cut"),
    cases(
        {
            "inside a word": ("word", 2, True),
            "between words": ("a word", 1, False),
            "at the beginning": ("word", 0, False),
            "at the end": ("word", 4, False),
            "inside a name": ("A_B", 1, True),
            "inside a number": ("6000", 3, True),
            "before the decimals": ("3.5", 1, True),
            "after the point": ("3.5", 2, True),
            "before a full stop": ("is 3.", 4, False),
            "after a hyphen": ("non-atomic", 4, True),
            "before a hyphen": ("non-atomic", 3, True),
            "after a sign": ("at -5", 4, True),
            "after a sign at the beginning": ("-5", 1, True),
            "before a sign": ("at -5", 3, False),
            "after a bullet": ("- five", 2, False),
            "before a percent sign": ("50%", 2, True),
            "inside a cluster": ("e\u0301", 1, True),
            "between Chinese characters": ("\u4e8b\u52a1", 1, False),
            "between scripts": ("DEBUG\u4e8b", 5, False),
            "before a Thai vowel sign": ("\u0e01\u0e34", 1, True),
            "between sentences": ("a. B", 2, False),
        }
    ),
)
def test_what_cuts_a_token(text: str, at: int, cut: bool) -> None:  # noqa: FBT001 - a table's column
    assert cuts_a_token(text, at) is cut


@pytest.mark.parametrize(
    ("question", "content", "key"),
    cases(
        {
            "a setting": (
                "What is the default value of ATOMIC_REQUESTS?",
                ("default", "value", "ATOMIC_REQUESTS"),
                ("ATOMIC_REQUESTS",),
            ),
            "a call": ("When does get() raise?", ("get", "raise"), ("get",)),
            "an option": ("What does --noinput do?", ("noinput",), ("noinput",)),
            "a path": ("What is in /etc/hosts?", ("/etc/hosts",), ("/etc/hosts",)),
            "a module": (
                "What is django.db.models for?",
                ("django.db.models",),
                ("django.db.models",),
            ),
            "mixed case": ("Which PostgreSQL level?", ("PostgreSQL", "level"), ("PostgreSQL",)),
            "capitals": ("What is DEBUG?", ("DEBUG",), ("DEBUG",)),
            "an acronym is a word": ("What is an ORM for URLs?", ("orm", "urls"), ()),
            "letters and digits": ("Is utf8 safe?", ("utf8", "safe"), ("utf8",)),
            "an ordinal is a word": ("What is the 3rd argument?", ("3rd", "argument"), ()),
            "a version is one term": ("What is new in 5.2?", ("new", "5.2"), ()),
            "a range is two": ("Is 5-10 safe?", ("5", "10", "safe"), ()),
            "an abbreviation is none": (
                "Are queries, e.g. joins, lazy?",
                ("queries", "e", "g", "joins", "lazy"),
                (),
            ),
            "joined stop words are none": ("Is it and/or?", ("is", "it", "and", "or"), ()),
            "a joined word is a name": ("Is it read-only?", ("read-only",), ("read-only",)),
            "a quoted string": (
                "What does \u201cread committed\u201d mean?",
                ("read", "committed"),
                ("read committed",),
            ),
            "a quoted word": ("What does 'lazy' mean?", ("lazy",), ("lazy",)),
            "a literal": ("What does `x y` do?", ("x", "y"), ("x y",)),
            "an address": (
                "What is at https://a.example/b?",
                ("https://a.example/b",),
                ("https://a.example/b",),
            ),
            "inflections count once": (
                "Do transactions nest in a transaction?",
                ("transactions", "nest"),
                (),
            ),
            "names count once": ("Is get() like get()?", ("get", "like"), ("get",)),
            "shouting hides names": ("WHAT IS THE DEFAULT?", ("default",), ()),
            "stop words alone are kept": ("What is it?", ("what", "is", "it"), ()),
            "Chinese": (
                "DEBUG\u662f\u4ec0\u4e48\uff1f",
                ("DEBUG", "\u662f\u4ec0", "\u4ec0\u4e48"),
                ("DEBUG",),
            ),
            "quotation marks around nothing": ('Is "" or "!" empty?', ("empty",), ()),
            "no word at all": ("???", (), ()),
        }
    ),
)
def test_content_terms_and_key_terms(
    question: str, content: tuple[str, ...], key: tuple[str, ...]
) -> None:
    assert content_terms(question) == content
    assert key_terms(question) == key


def test_weighed_terms_are_content_and_key_terms_within_bounds() -> None:
    assert weighed_terms('How is "two phase" commit done?') == (
        "two",
        "phase",
        "commit",
        "two phase",
    )
    assert weighed_terms("Is " + "x" * (MAX_TERM_LENGTH + 1) + " long?") == ("long",)
    many = " ".join(f"word{number}" for number in range(200))
    assert len(weighed_terms(many)) == MAX_WEIGHED_TERMS


def test_the_words_inside_a_name() -> None:
    assert parts_of("ATOMIC_REQUESTS") == ("atomic", "requests")
    assert parts_of("HttpResponse") == ("http", "response")
    assert parts_of("django.db") == ("django", "db")


def test_rare_terms_weigh_more() -> None:
    weights = [term_weight(frequency, 1000) for frequency in (0, 1, 10, 100, 1000)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 7602
    assert term_weight(5, 3) == term_weight(3, 3)
    assert term_weight(-1, 3) == term_weight(0, 3)
    assert term_weight(0, 0) > 0


def test_a_term_without_a_weight_counts_as_the_heaviest() -> None:
    assert weight_of("a", {"a": 3, "b": 9}) == 3
    assert weight_of("c", {"a": 3, "b": 9}) == 9
    assert weight_of("c", {}) == weight_of("d", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    cases(
        {
            "group separators go": ("1,000 and 1'000 and 1_000", [("number", "1000")]),
            "hard spaces group too": ("1\u00a0000\u202f000 rows", [("number", "1000000")]),
            "words are digits": ("Twenty or zero", [("number", "20"), ("number", "0")]),
            "a sign belongs to its number": (
                "from -5 to 10-20",
                [("number", "-5"), ("number", "10"), ("number", "20")],
            ),
            "decimals": (".5 or 1.5", [("number", "0.5"), ("number", "1.5")]),
            "a percentage": ("5 % or 2.5 per cent", [("percentage", "5%"), ("percentage", "2.5%")]),
            "a unit after its number": ("600 seconds", [("number", "600"), ("unit", "second")]),
            "a unit at its number": ("10MB", [("number", "10"), ("unit", "MB")]),
            "a unit joined to its number": (
                "a 60-second limit",
                [("number", "60"), ("unit", "second")],
            ),
            "a unit in another case": ("5 Mb", [("number", "5"), ("unit", "MB")]),
            "a unit after a word": ("five days", [("number", "5"), ("unit", "day")]),
            "a unit alone is a word": ("seconds pass", []),
            "an ISO date": ("on 2024-01-05", [("date", "2024-01-05")]),
            "a written date": ("5 January 2024", [("date", "2024-01-05")]),
            "an American date": ("Jan 5th, 2024", [("date", "2024-01-05")]),
            "a month": ("in May 2024", [("date", "2024-05")]),
            "a version": ("v5.2.1", [("number", "5.2.1")]),
            "a version with letters is a name": ("5.2rc1", [("identifier", "5.2rc1")]),
            "a name": (
                "use ATOMIC_REQUESTS or get()",
                [("identifier", "ATOMIC_REQUESTS"), ("identifier", "get")],
            ),
            "a quoted string": (
                "\u201cread committed\u201d",
                [("quoted string", "read committed")],
            ),
            "an address": ("see https://a.example/b.", [("address", "https://a.example/b")]),
            "plain words": ("nothing hard here", []),
        }
    ),
)
def test_hard_tokens(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(token.kind.value, token.value) for token in hard_tokens(text)] == expected


@pytest.mark.parametrize(
    ("claim", "missing"),
    cases(
        {
            "another number": ("It waits 70 seconds.", [(HardKind.NUMBER, "70")]),
            "another unit": ("It waits 5 minutes.", [(HardKind.UNIT, "minute")]),
            "another name": ("MAX_RETRIES decides.", [(HardKind.IDENTIFIER, "MAX_RETRIES")]),
            "a part of a name": ("max_retries() decides.", [(HardKind.IDENTIFIER, "max_retries")]),
            "another string": ('It says "stop".', [(HardKind.QUOTED, "stop")]),
            "another day": ("On 6 May 2024 it changed.", [(HardKind.DATE, "2024-05-06")]),
            "the same in other forms": ("Five seconds; 50 percent; on May 5, 2024.", []),
            "less than is there": ("In May 2024 it was 50; in 2024.", []),
            "a word that is quoted in the claim alone": ('It is "at once".', []),
            "nothing hard": ("It waits.", []),
        }
    ),
)
def test_missing_anchors(claim: str, missing: list[tuple[HardKind, str]]) -> None:
    evidence = [
        "It waits 5 seconds at once, 50% of old_max_retries_2, since 2024-05-05.",
        "TIMEOUT",
    ]
    assert [tuple(token) for token in missing_anchors(claim, evidence)] == missing


@given(st.text(max_size=200))
def test_a_text_has_all_of_its_own_terms_and_anchors(text: str) -> None:
    words = Words([text])
    assert all(words.has(term) for term in content_terms(text))
    assert missing_anchors(text, [text]) == ()
    assert set(key_terms(text)) <= set(weighed_terms(text))


@given(st.text(max_size=100), st.integers(0, 100))
def test_an_edge_between_tokens_parts_them(text: str, at: int) -> None:
    normal = normalise(text).text
    if at <= len(normal) and not cuts_a_token(normal, at):
        parted = [*tokenise(normal[:at]), *tokenise(normal[at:])]
        whole = list(tokenise(normal))
        between_unspaced = (
            0 < at < len(normal) and is_unspaced(normal[at - 1]) and is_unspaced(normal[at])
        )
        assert parted == whole or between_unspaced
