"""What a page does not show is kept apart from what it shows, and is never found or quoted."""

from __future__ import annotations

import pytest

from controller.api.records import BlockKind
from controller.sources.readers import html, read_file
from controller.sources.readers.text import MAX_HIDDEN_CHARACTERS, Text
from tests.sources.conftest import MakeCorpus


def parts(text: Text) -> tuple[list[str], list[str]]:
    """Return the texts of the blocks that are shown, and of those that are hidden."""
    hidden = [block.text for block in text.blocks if block.kind is BlockKind.HIDDEN]
    return [block.text for block in text.blocks if block.kind is not BlockKind.HIDDEN], hidden


HIDING = [
    "<p style='display:none'>no</p>",
    "<p style='color: red; DISPLAY : None !important;'>no</p>",
    "<p style='dis/**/play:none'>no</p>",
    "<p style='visibility:hidden'>no</p>",
    "<p style='visibility: collapse'>no</p>",
    "<p style='opacity:0'>no</p>",
    "<p style='opacity: 0.00'>no</p>",
    "<p style='font-size:0'>no</p>",
    "<p style='font-size: 0px'>no</p>",
    "<p style='font-size: .0em'>no</p>",
    "<p style='height:0;overflow:hidden'>no</p>",
    "<p style='max-width:0px; overflow:clip'>no</p>",
    "<p style='position:absolute; left:-9999px'>no</p>",
    "<p style='text-indent: -1000em'>no</p>",
    "<p style='clip: rect(0, 0, 0, 0)'>no</p>",
    "<p style='clip-path: inset(50%)'>no</p>",
    "<p style='transform: scale(0)'>no</p>",
    "<p style='color:#fff;background:#ffffff'>no</p>",
    "<p style='color: white; background-color: rgb(255, 255, 255)'>no</p>",
    "<p style='background: url(x.png) #000 no-repeat; color: black'>no</p>",
    "<p style='color: transparent'>no</p>",
    "<p hidden>no</p>",
    "<p hidden='until-found'>no</p>",
    "<p aria-hidden='true'>no</p>",
    "<template><p>no</p></template>",
    "<noscript><p>no</p></noscript>",
    "<dialog>no</dialog>",
    "<!-- no -->",
    "<div hidden><ul><li>no</li></ul></div>",
    "<div hidden><script>var x = 'gone'</script>no<style>p {}</style></div>",
]


@pytest.mark.parametrize("markup", HIDING)
def test_what_hides_text(markup: str) -> None:
    text = html.read(f"<p>before</p>{markup}<p>after</p>", "hint")
    assert parts(text) == (["before", "after"], ["no"])


SHOWING = [
    "<p style='display:block'>yes</p>",
    "<p style='display:none-of-it'>yes</p>",
    "<p style='font-size:0.9em'>yes</p>",
    "<p style='font-size: small'>yes</p>",
    "<p style='font-size:10px'>yes</p>",
    "<p style='opacity:0.5'>yes</p>",
    "<p style='height:0'>yes</p>",
    "<p style='overflow:hidden;height:100px'>yes</p>",
    "<p style='left:-10px'>yes</p>",
    "<p style='text-indent:-1em'>yes</p>",
    "<p style='margin-left:0cm'>yes</p>",
    "<p style='color:#fff'>yes</p>",
    "<p style='color:#fff;background:#000'>yes</p>",
    "<p style='color:inherit;background:inherit'>yes</p>",
    "<p aria-hidden='false'>yes</p>",
    "<details><p>yes</p></details>",
    "<dialog open>yes</dialog>",
    "<p class='hidden'>yes</p>",
    "<p style=''>yes</p>",
]


@pytest.mark.parametrize("markup", SHOWING)
def test_what_hides_nothing(markup: str) -> None:
    assert parts(html.read(markup, "hint")) == (["yes"], [])


def test_what_lies_below_a_dialogue_is_the_page_all_the_same() -> None:
    page = "<div aria-hidden='true'><div><h1>Title</h1><p>Text.</p></div></div>"
    assert parts(html.read(page, "hint")) == (["Title", "Text."], [])


def test_hidden_words_part_no_paragraph() -> None:
    page = "<p>One <span hidden>un</span>broken<!-- not --> sentence<i style='opacity:0'>x</i>.</p>"
    assert parts(html.read(page, "hint")) == (["One broken sentence."], ["un", "not", "x"])


def test_comments_around_the_page_are_kept_too() -> None:
    page = (
        "<!-- a --><!doctype html><!-- b --><html><head><!-- c --></head><body>x</html><!-- d -->"
    )
    shown, hidden = parts(html.read(page, "hint"))
    assert shown == ["x"]
    assert sorted(hidden) == ["a", "b", "c", "d"]


def test_hidden_blocks_stand_behind_all_others_and_know_their_place() -> None:
    page = "<h1>A</h1>\n<p hidden>no\nno</p>\n<h2>B</h2>\n<p>Text.</p>"
    text = html.read(page, "hint")
    hidden = text.blocks[-1]
    assert [block.kind for block in text.blocks].index(BlockKind.HIDDEN) == 3
    assert (hidden.heading_path, hidden.text) == (("A",), "no no")
    assert hidden.lines is not None
    assert hidden.lines.first == 2


def test_so_much_hidden_text_is_kept_and_no_more() -> None:
    page = "<p>Text.</p>" + "<p hidden>0123456789</p>" * 10_000
    shown, hidden = parts(html.read(page, "hint"))
    assert shown == ["Text."]
    assert sum(map(len, hidden)) == MAX_HIDDEN_CHARACTERS


def test_a_reading_says_how_much_is_hidden() -> None:
    fields = read_file(b"<p>Text.</p><p hidden>12345</p><!-- 678 -->", "a.html").fields()
    assert fields["hidden_characters"] == 8
    assert read_file(b"<p>Text.</p>", "a.html").fields()["hidden_characters"] is None


async def test_hidden_text_is_kept_and_never_found(make_corpus: MakeCorpus) -> None:
    source = make_corpus({"a.html": "<p>The visible answer.</p><p hidden>The secret answer.</p>"})
    assert (await source.search("secret", limit=5, terms=[])).passages == ()
    (found,) = (await source.search("answer", limit=5, terms=[])).passages
    assert [block.text for block in found.blocks] == ["The visible answer."]
    document, _, blocks = await source.read_document(found.document.id)
    assert blocks[-1].kind is BlockKind.HIDDEN
    assert document.hidden_characters == len("The secret answer.")
