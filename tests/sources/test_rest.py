from __future__ import annotations

import pytest

from controller.api.records import BlockKind
from controller.sources.readers import rest, rest_inline
from controller.sources.readers.text import MAX_BLOCK_CHARACTERS, Text

Shown = tuple[str, tuple[str, ...], str]


def shown(text: Text) -> list[Shown]:
    return [(block.kind.value, block.heading_path, block.text) for block in text.blocks]


STRUCTURES: dict[str, tuple[str, list[Shown]]] = {
    "headings nest by the first use of their adornment": (
        "=====\nTitle\n=====\n\nPart\n====\n\nDetail\n------\n\nOther\n=====\n",
        [
            ("Heading", ("Title",), "Title"),
            ("Heading", ("Title", "Part"), "Part"),
            ("Heading", ("Title", "Part", "Detail"), "Detail"),
            ("Heading", ("Title", "Other"), "Other"),
        ],
    ),
    "a transition is no text": (
        "One.\n\n----\n\nTwo.\n",
        [("Paragraph", (), "One."), ("Paragraph", (), "Two.")],
    ),
    "a label directly under a heading makes a field, elsewhere a paragraph": (
        "``DEBUG``\n=========\n\nDefault: ``False``\n\nNote: this is prose.\n",
        [
            ("Heading", ("DEBUG",), "DEBUG"),
            ("Field", ("DEBUG",), "Default: False"),
            ("Paragraph", ("DEBUG",), "Note: this is prose."),
        ],
    ),
    "a label with a literal stands right before it": (
        "A\n==\n\nDefault::\n\n    {\n        'x': 1,\n    }\n",
        [
            ("Heading", ("A",), "A"),
            ("Field", ("A",), "Default:"),
            ("Code", ("A",), "{\n    'x': 1,\n}"),
        ],
    ),
    "a literal keeps its lines, its indentation and its markup": (
        "Like this::\n\n  a *b* ``c``\n\n    d\n\nAfter.\n",
        [
            ("Paragraph", (), "Like this:"),
            ("Code", (), "a *b* ``c``\n\n  d"),
            ("Paragraph", (), "After."),
        ],
    ),
    "two colons after a space, or alone, leave no colon": (
        "See ::\n\n  a\n\n::\n\n  b\n",
        [("Paragraph", (), "See"), ("Code", (), "a"), ("Code", (), "b")],
    ),
    "a literal may be quoted line by line": (
        "He wrote::\n\n> one\n> two\n\nAfter.\n",
        [
            ("Paragraph", (), "He wrote:"),
            ("Code", (), "> one\n> two"),
            ("Paragraph", (), "After."),
        ],
    ),
    "lists keep their items apart, nested ones too": (
        "* one\n  goes on\n* two\n\n  more of two\n\n  - inner\n\n1. first\n2. second\n",
        [
            ("Item", (), "one goes on"),
            ("Item", (), "two"),
            ("Item", (), "more of two"),
            ("Item", (), "inner"),
            ("Item", (), "first"),
            ("Item", (), "second"),
        ],
    ),
    "a sentence that begins like an enumeration is a paragraph": (
        "A. Einstein was\nhere.\n",
        [("Paragraph", (), "A. Einstein was here.")],
    ),
    "a definition stands under its term, without the classifier": (
        "timeout : integer\n    Seconds to wait.\n",
        [
            ("Term", ("timeout",), "timeout : integer"),
            ("Paragraph", ("timeout",), "Seconds to wait."),
        ],
    ),
    "a label directly under a term makes a field": (
        "timeout\n    Default: 30\n",
        [("Term", ("timeout",), "timeout"), ("Field", ("timeout",), "Default: 30")],
    ),
    "a glossary's definition may have several terms": (
        ".. glossary::\n   :sorted:\n\n   model\n   models\n       Stores data.\n",
        [
            ("Term", ("model",), "model"),
            ("Term", ("models",), "models"),
            ("Paragraph", ("models",), "Stores data."),
        ],
    ),
    "an object's signature is a term and its body stands under it": (
        (
            ".. class:: Field(*args, **kwargs)\n\n   A column.\n\n   .. attribute:: null\n\n"
            "      Default: ``False``\n"
        ),
        [
            ("Term", ("Field(*args, **kwargs)",), "Field(*args, **kwargs)"),
            ("Paragraph", ("Field(*args, **kwargs)",), "A column."),
            ("Term", ("Field(*args, **kwargs)", "null"), "null"),
            ("Field", ("Field(*args, **kwargs)", "null"), "Default: False"),
        ],
    ),
    "several signatures share a body": (
        ".. method:: a()\n            b()\n\n   Both.\n",
        [
            ("Term", ("a(), b()",), "a()"),
            ("Term", ("a(), b()",), "b()"),
            ("Paragraph", ("a(), b()",), "Both."),
        ],
    ),
    "an unknown directive is read by its shape": (
        ".. my:thing:: A name\n   :option: x\n\n   Its text.\n",
        [("Term", ("A name",), "A name"), ("Paragraph", ("A name",), "Its text.")],
    ),
    "a directive without a body is the term of what follows it": (
        ".. option:: --all\n\nTakes all.\n\n.. option:: --none\n\nTakes none.\n",
        [
            ("Term", ("--all",), "--all"),
            ("Paragraph", ("--all",), "Takes all."),
            ("Term", ("--none",), "--none"),
            ("Paragraph", ("--none",), "Takes none."),
        ],
    ),
    "notes are notes, whether their text begins on the line or below": (
        (
            ".. note:: Mind\n   this.\n\n   And that.\n\n.. warning::\n\n   Stop.\n\n"
            ".. tip::\n   Go.\n"
        ),
        [
            ("Note", (), "Mind this."),
            ("Note", (), "And that."),
            ("Note", (), "Stop."),
            ("Note", (), "Go."),
        ],
    ),
    "an admonition's title stands above its note": (
        ".. admonition:: Why *so*?\n   :class: x\n\n   Because.\n",
        [("Heading", ("Why so?",), "Why so?"), ("Note", ("Why so?",), "Because.")],
    ),
    "versions qualify what they are about": (
        (
            ".. versionadded:: 5.1\n\n.. versionchanged:: 5.0 It moved.\n\n"
            ".. deprecated:: 4.2\n\n   Use other.\n"
        ),
        [
            ("Paragraph", ("Changed in version 5.0",), "It moved."),
            ("Paragraph", ("Deprecated since version 4.2",), "Use other."),
        ],
    ),
    "code keeps its lines under its caption": (
        ".. code-block:: python\n   :caption: urls.py\n\n   a = 1\n\n   b = 2\n",
        [("Code", ("urls.py",), "a = 1\n\nb = 2")],
    ),
    "a doctest is code": (
        ">>> 1 + 1\n2\n\nText.\n",
        [("Code", (), ">>> 1 + 1\n2"), ("Paragraph", (), "Text.")],
    ),
    "a simple table has a row a line, its header above the rows": (
        (
            "=====  =====\nName   Use\n=====  =====\n``a``  first\n       long\nb      x y\n"
            "=====  =====\n"
        ),
        [
            ("TableRow", ("Name | Use",), "Name\tUse"),
            ("TableRow", ("Name | Use",), "a\tfirst long"),
            ("TableRow", ("Name | Use",), "b\tx y"),
        ],
    ),
    "a simple table without a header has rows only": (
        "==  ==\n1   2\n==  ==\n\nAfter.\n",
        [("TableRow", (), "1\t2"), ("Paragraph", (), "After.")],
    ),
    "a grid table has a row for each rule, cells that span columns are one": (
        (
            "+-----+------+\n| A   | B    |\n+=====+======+\n| 1   | C++  |\n|     | more |\n"
            "+-----+------+\n| x and y    |\n+-----+------+\n"
        ),
        [
            ("TableRow", ("A | B",), "A\tB"),
            ("TableRow", ("A | B",), "1\tC++ more"),
            ("TableRow", ("A | B",), "x and y"),
        ],
    ),
    "columns are counted in places on the screen": (
        "====  ====\n中文  二\n====  ====\n一    b\n====  ====\n",
        [("TableRow", ("中文 | 二",), "中文\t二"), ("TableRow", ("中文 | 二",), "一\tb")],
    ),
    "list and CSV tables are tables": (
        (
            ".. list-table:: Sizes\n   :header-rows: 1\n\n"
            "   * - A\n     - B\n   * - 1\n     - 2\n\n"
            '.. csv-table::\n   :header: "C", "D"\n\n   3, "4, 5"\n'
        ),
        [
            ("TableRow", ("Sizes", "A | B"), "A\tB"),
            ("TableRow", ("Sizes", "A | B"), "1\t2"),
            ("TableRow", ("C | D",), "C\tD"),
            ("TableRow", ("C | D",), "3\t4, 5"),
        ],
    ),
    "a table directive's title stands above its rows": (
        ".. table:: Sizes\n\n   ==  ==\n   1   2\n   ==  ==\n",
        [("TableRow", ("Sizes",), "1\t2")],
    ),
    "a CSV table that is broken keeps its text": (
        '.. csv-table::\n\n   1, "two\n   3, 4\n',
        [("TableRow", (), "1\ttwo\n3, 4")],
    ),
    "a rubric is a heading until the next one": (
        ".. rubric:: Notes\n\nText.\n\nTitle\n=====\n",
        [
            ("Heading", ("Notes",), "Notes"),
            ("Paragraph", ("Notes",), "Text."),
            ("Heading", ("Title",), "Title"),
        ],
    ),
    "what only groups or places text leaves no trace": (
        (
            ".. container:: x\n\n   One.\n\n.. centered:: Two.\n\n"
            ".. figure:: x.png\n\n   Three.\n\n"
            ".. epigraph::\n   :class: y\n\n   Four.\n\n   -- Ada\n"
        ),
        [
            ("Paragraph", (), "One."),
            ("Paragraph", (), "Two."),
            ("Paragraph", (), "Three."),
            ("Paragraph", (), "Four."),
            ("Paragraph", (), "-- Ada"),
        ],
    ),
    "a formula is code": (
        ".. math:: a = b\n\n   c = d\n",
        [("Code", (), "a = b\n\nc = d")],
    ),
    "field lists, option lists and line blocks": (
        ":orphan:\n:Author: Ada\n\n-v  Says more.\n--out=FILE  Where to.\n\n| one\n| two\n",
        [
            ("Field", (), "Author: Ada"),
            ("Term", ("-v",), "-v"),
            ("Paragraph", ("-v",), "Says more."),
            ("Term", ("--out=FILE",), "--out=FILE"),
            ("Paragraph", ("--out=FILE",), "Where to."),
            ("Paragraph", (), "one\ntwo"),
        ],
    ),
    "what is not shown is no text": (
        (
            ".. _target:\n\n.. a comment\n   goes on\n\n"
            ".. toctree::\n   :maxdepth: 2\n\n   intro\n\n"
            ".. image:: x.png\n   :alt: y\n\n"
            ".. include:: /etc/passwd\n\n.. raw:: html\n\n   <b>\n\n"
            ".. |x| image:: y.png\n\n..\n\nText.\n"
        ),
        [("Paragraph", (), "Text.")],
    ),
    "a footnote's text is text": (
        "See [1]_.\n\n.. [1] The note.\n",
        [("Paragraph", (), "See [1]."), ("Paragraph", (), "The note.")],
    ),
    "lines between wide characters are joined by nothing": (
        "第一行\n第二行\n\nfirst\nsecond\n",
        [("Paragraph", (), "第一行第二行"), ("Paragraph", (), "first second")],
    ),
}


@pytest.mark.parametrize("situation", STRUCTURES)
def test_structure(situation: str) -> None:
    source, expected = STRUCTURES[situation]
    assert shown(rest.read(source, "hint")) == expected


INLINE = {
    "``a *b* \\c``": "a *b* \\c",
    ":class:`~django.db.models.Model`": "Model",
    ":class:`.QuerySet`": "QuerySet",
    ":class:`!Foo`": "Foo",
    ":meth:`save() <Model.save>` it": "save() it",
    ":ref:`the ``x`` page <x-page>`": "the x page",
    ":py:func:`len`, :file:`~/.bashrc`": "len, ~/.bashrc",
    "`docs <https://example.org/>`_ and `<https://example.org/>`__": (
        "docs and https://example.org/"
    ),
    "`one`_ `two` three_": "one two three_",
    "*soft* **hard** (*in*)": "soft hard (in)",
    "2 * 3 * 4, a*b*c, **kwargs": "2 * 3 * 4, a*b*c, **kwargs",
    "re\\ *mark*\\ able \\*not\\*": "remarkable *not*",
    "|version| of [#]_ and [Ref]_": "|version| of [#] and [Ref]",
    "``:role:`x```": ":role:`x`",
    "(``)": "(``)",
    "_`inline target` here": "inline target here",
}


@pytest.mark.parametrize("source", INLINE)
def test_inline_markup_is_removed(source: str) -> None:
    assert rest_inline.plain(source, rest_inline.References()) == INLINE[source]


def test_names_are_references_only_where_the_document_defines_them() -> None:
    definitions = ".. _here: https://example.org\n.. |name| replace:: *Fixpoint*\n"
    source = f"{definitions}\n|name| is here_, not there_.\n"
    assert rest.read(source, "hint").text == "Fixpoint is here, not there_."


def test_an_anchor_names_the_heading_after_it() -> None:
    source = (
        ".. setting:: DATABASE-OPTIONS\n\n``OPTIONS``\n===========\n\n"
        ".. setting:: CACHES-OPTIONS\n.. _label:\n\n``OPTIONS``\n===========\n"
    )
    text = rest.read(source, "hint")
    assert [anchor.name for anchor in text.anchors] == ["DATABASE-OPTIONS", "CACHES-OPTIONS"]
    assert [anchor.offset for anchor in text.anchors] == [block.start for block in text.blocks]


def test_blocks_know_their_lines() -> None:
    source = "Title\n=====\n\nOne\ntwo.\n\n::\n\n  code\n\n  more\n\n.. note::\n\n   Three.\n"
    lines = [block.lines for block in rest.read(source, "hint").blocks]
    assert [(line.first, line.last) for line in lines if line] == [
        (1, 1),
        (4, 5),
        (9, 11),
        (15, 15),
    ]


def test_the_title_is_the_first_heading_else_the_hint() -> None:
    assert rest.read("A ``b``\n=======\n", "hint").title == "A b"
    assert rest.read("No heading.\n", "hint").title == "hint"


def test_long_blocks_are_cut_between_sentences_and_lines() -> None:
    sentence = "This sentence is repeated until the block is too long. "
    text = rest.read(sentence * 200, "hint")
    assert all(len(block.text) <= MAX_BLOCK_CHARACTERS for block in text.blocks)
    assert all(block.text.endswith("long.") for block in text.blocks)
    code = "::\n\n" + "".join(f"  line {number}\n" for number in range(1000))
    blocks = rest.read(code, "hint").blocks
    assert len(blocks) > 1
    assert "\n".join(block.text for block in blocks) == "\n".join(f"line {n}" for n in range(1000))
    for block in blocks:
        assert block.lines is not None
        assert block.text.startswith(f"line {block.lines.first - 3}\n")


def test_a_heading_path_is_bounded_and_keeps_what_is_nearest() -> None:
    source = "".join("  " * depth + f"term {depth}\n" for depth in range(20)) + "  " * 20 + "body\n"
    last = rest.read(source, "hint").blocks[-1]
    assert last.text == "body"
    assert len(last.heading_path) == 16
    assert last.heading_path[0] == "term 0"
    assert last.heading_path[-1] == "term 19"


def test_text_nested_beyond_all_reason_is_kept_as_it_stands() -> None:
    source = "".join("  " * depth + f"term {depth}\n" for depth in range(300))
    text = rest.read(source, "hint")
    assert "term 299" in text.text
    assert text.blocks[-1].kind is BlockKind.CODE
