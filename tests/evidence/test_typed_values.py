"""Typed values: what is one, in what it is compared, and when two cannot both be right."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.evidence.report_disagreements import ValueKind
from controller.evidence.typed_values import TypedValue, typed_value
from tests.evidence.recorded import cases

NUMBER, DATE, BOOLEAN = ValueKind.NUMBER, ValueKind.DATE, ValueKind.BOOLEAN
VERSION, WORD = ValueKind.VERSION, ValueKind.WORD


def value(text: str) -> TypedValue:
    found = typed_value(text)
    assert found is not None, text
    return found


@pytest.mark.parametrize(
    ("text", "kind", "dimension"),
    cases(
        {
            "a number": ("600", NUMBER, ""),
            "a group of digits": ("1,000,000", NUMBER, ""),
            "below zero": ("-5", NUMBER, ""),
            "a number in words": ("twelve", NUMBER, ""),
            "with a note": ("2621440 (i.e. 2.5 MB).", NUMBER, ""),
            "a duration": ("10 minutes", NUMBER, "second"),
            "a size": ("2.5 MB", NUMBER, "byte"),
            "a share": ("85 percent", NUMBER, "ratio"),
            "a measure of its own": ("40 lumens", NUMBER, "lumen"),
            "what is counted": ("5 open connections", NUMBER, "open connect"),
            "a day": ("5 May 2024", DATE, ""),
            "a month": ("May 2024", DATE, ""),
            "true": ("True", BOOLEAN, ""),
            "disabled": ("disabled.", BOOLEAN, ""),
            "a version": ("version 2.1", VERSION, ""),
            "a version with a letter": ("v3", VERSION, ""),
            "a version of three numbers": ("2.1.3", VERSION, ""),
            "a word in quotation marks": ("'Lax'", WORD, ""),
            "a path of names": ("'django.views.csrf.csrf_failure'", WORD, ""),
            "a bare word": ("sqlite3", WORD, ""),
            "nothing": ("None", WORD, ""),
            "another numeral": ("0o644", WORD, ""),
        }
    ),
)
def test_what_is_a_value(text: str, kind: ValueKind, dimension: str) -> None:
    found = value(text)
    assert found.kind is kind
    assert found.dimension == dimension


@pytest.mark.parametrize(
    "text",
    [
        "",
        "at least 5",
        "up to 600 seconds",
        "5 or more",
        "about 2 weeks",
        "5-10",
        "from 5 to 10 seconds",
        "600, unless DEBUG is set",
        "600 (except on Windows)",
        "600 (if the cache is on)",
        "600 seconds when idle",
        "5 of them",
        "1 hour 30 minutes",
        "60 * 60",
        "True or False",
        "see below",
        "unset",
        "varies",
        "'' (Empty string)",
        "[] (Empty list)",
        "{}",
        "'/'",
        "'N j, Y'",
        "A list of all languages",
        "https://example.org/a b",
    ],
)
def test_what_is_no_value_or_holds_in_some_cases_alone(text: str) -> None:
    assert typed_value(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("600", "600.0"),
        ("1,000", "1000"),
        ("5", "five"),
        ("10 minutes", "600 seconds"),
        ("2 weeks", "14 days"),
        ("1 year", "12 months"),
        ("2 MB", "2000 kB"),
        ("2 MB", "2048 kB"),
        ("2 MB", "2 MiB"),
        ("2.5 MB", "2621440 bytes"),
        ("8 bits", "1 byte"),
        ("50 %", "50 percent"),
        ("1.5 km", "1500 metres"),
        ("5 May 2024", "2024-05-05"),
        ("May 2024", "2024-05-05"),
        ("version 2.1", "2.1.3"),
        ("True", "enabled"),
        ("'Lax'", "lax"),
        ("utf8", "'utf-8'"),
        ("sqlite3", "'django.db.backends.sqlite3'"),
        ("'en'", "'en-us'"),
        ("5 connections", "5 connection"),
    ],
)
def test_values_that_agree(one: str, other: str) -> None:
    assert value(one).is_comparable(value(other))
    assert value(one).agrees(value(other))
    assert value(other).agrees(value(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("600", "601"),
        ("10 minutes", "10 hours"),
        ("2 MB", "3 MB"),
        ("2 KiB", "2000 bytes"),
        ("50 %", "51 %"),
        ("5 May 2024", "2024-05-06"),
        ("May 2024", "June 2024"),
        ("version 2.1", "version 2.2"),
        ("version 3.1", "version 3.10"),
        ("True", "off"),
        ("'Lax'", "'Strict'"),
        ("None", "'Lax'"),
        ("'utf-8'", "'utf-16'"),
        ("5 connections", "6 connections"),
    ],
)
def test_values_that_do_not(one: str, other: str) -> None:
    assert value(one).is_comparable(value(other))
    assert not value(one).agrees(value(other))
    assert not value(other).agrees(value(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("600", "10 minutes"),
        ("600", "True"),
        ("1", "'1a'"),
        ("5 seconds", "5 MB"),
        ("5 connections", "5 requests"),
        ("30 days", "1 month"),
        ("50 %", "0.5"),
        ("on", "'on'"),
        ("2024", "May 2024"),
    ],
)
def test_values_that_are_not_compared(one: str, other: str) -> None:
    assert not value(one).is_comparable(value(other))


def test_a_place_for_a_version_has_no_numbers() -> None:
    one, other = (typed_value(text, is_version=True) for text in ("3.1", "3.10"))
    assert one is not None
    assert other is not None
    assert one.kind is other.kind is VERSION
    assert not one.agrees(other)
    assert value("3.1").agrees(value("3.10"))


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_durations_are_compared_in_exact_fractions(one: int, other: int) -> None:
    minutes, seconds = value(f"{one} minutes"), value(f"{other} seconds")
    assert minutes.agrees(seconds) is (one * 60 == other)


@given(st.integers(1, 10**9), st.integers(0, 9))
def test_no_number_is_rounded(number: int, digit: int) -> None:
    written = f"{number}.{digit}"
    (reading,) = value(written).readings
    assert reading == Fraction(number) + Fraction(digit, 10)
    assert value(written).agrees(value(f"{number}.{digit}0"))
    assert not value(written).agrees(value(f"{number}.{digit}1"))


@given(st.text(max_size=60))
def test_any_text_is_a_value_or_none_and_agrees_with_itself(text: str) -> None:
    found = typed_value(text)
    assert found is None or found.agrees(found)
