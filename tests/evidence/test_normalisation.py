"""Normalisation: what folds, what never does, and where each character came from."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.evidence.normalisation import FOLDS, normalise
from tests.evidence.recorded import cases

WILD = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from(
            " \n\t\r\u00a0\u2028e\u0301\u0323\u1100\u1161\u11a8\ufffe\u200b'\"-\u0153\ufb01"
        ),
    ),
    max_size=60,
)


@pytest.mark.parametrize(("character", "folded"), FOLDS.items(), ids=ascii)
def test_each_row_of_the_fold_table_folds_on_both_sides(character: str, folded: str) -> None:
    assert normalise(f"a{character}b").text == f"a{folded}b"
    assert normalise(f"a{character}b").text == normalise(f"a{folded}b").text
    assert normalise(f"a{folded}b").text == f"a{folded}b"


@pytest.mark.parametrize(
    ("text", "normal"),
    cases(
        {
            "white space runs become one space": (" a \t\n b\u00a0\u2003c ", "a b c"),
            "a letter and its accent compose": ("cafe\u0301", "caf\u00e9"),
            "an accent composes across what is plain ASCII": ("xe\u0301x", "x\u00e9x"),
            "jamo compose to a syllable": ("\u1112\u1161\u11ab", "\ud55c"),
            "a ligature is its letters": ("ef\ufb01cient", "efficient"),
            "an ellipsis is three full stops": ("and so on\u2026", "and so on..."),
            "full-width letters are letters": ("\uff21\uff22\uff23", "ABC"),
            "a line-end hyphen goes with its line break": ("trans\ufffe\naction", "transaction"),
            "a line-end hyphen goes with both of its line breaks": (
                "trans\ufffe\r\naction",
                "transaction",
            ),
            "a line-end hyphen goes without a line break too": ("trans\ufffeaction", "transaction"),
            "zero-width characters do not part white space": ("a \u200b b", "a b"),
            "nothing but white space is nothing": (" \n\t ", ""),
            "what is removed at the end leaves no space": ("a \u200b", "a"),
            "nothing is nothing": ("", ""),
        }
    ),
)
def test_what_normalises_to_what(text: str, normal: str) -> None:
    assert normalise(text).text == normal


@pytest.mark.parametrize(
    "text",
    [
        "10\u2075",
        "H\u2082O",
        "\u00bd",
        "\u2460",
        "\u2264 5",
        "5 < 6",
        "a>b",
        "Case",
        "caf\u00e9",
        "\u4e8b\u52a1",
    ],
)
def test_what_carries_meaning_never_folds(text: str) -> None:
    assert normalise(text).text == text


def test_a_superscript_is_not_a_factor_of_ten() -> None:
    assert normalise("10\u2075").text != normalise("105").text
    assert normalise("\u2460").text != normalise("1").text


def test_offsets_lead_back_to_the_source() -> None:
    text = "x \u201cC\u0153ur\u201d  e\u0301\u00ad!"
    normal = normalise(text)
    assert normal.text == 'x "Coeur" \u00e9!'
    start = normal.text.index("oe")
    assert text[slice(*normal.source_span(start, start + 2))] == "\u0153"
    start = normal.text.index("\u00e9")
    assert text[slice(*normal.source_span(start, start + 1))] == "e\u0301"
    assert normal.parts_a_piece(normal.text.index("oe") + 1)
    assert not normal.parts_a_piece(normal.text.index("oe"))
    assert not normal.parts_a_piece(0)


def test_plain_text_keeps_its_offsets() -> None:
    text = "Default: False. The quick\nbrown fox."
    normal = normalise(text)
    assert normal.text == text.replace("\n", " ")
    assert list(normal.starts) == list(range(len(text)))
    assert list(normal.ends) == list(range(1, len(text) + 1))


@given(WILD)
def test_every_character_has_its_piece_of_the_source(text: str) -> None:
    normal = normalise(text)
    assert len(normal.text) == len(normal.starts) == len(normal.ends)
    assert all(
        0 <= start < end <= len(text) for start, end in zip(normal.starts, normal.ends, strict=True)
    )
    assert list(normal.starts) == sorted(normal.starts)
    assert normal.text == normal.text.strip()
    assert "  " not in normal.text


@given(WILD)
def test_composed_and_decomposed_text_have_one_normal_form(text: str) -> None:
    decomposed = unicodedata.normalize("NFD", text)
    assert normalise(decomposed).text == normalise(unicodedata.normalize("NFC", text)).text


@given(WILD, st.data())
def test_a_piece_of_normal_text_is_the_normal_form_of_its_source(
    text: str, data: st.DataObject
) -> None:
    normal = normalise(text)
    if not normal.text:
        return
    start = data.draw(st.integers(0, len(normal.text) - 1))
    end = data.draw(st.integers(start + 1, len(normal.text)))
    piece = normal.text[start:end]
    if normal.parts_a_piece(start) or normal.parts_a_piece(end) or piece != piece.strip():
        return
    assert normalise(text[slice(*normal.source_span(start, end))]).text == piece
