"""`report.md`: a golden file, text that is shown and never interpreted, markers and references."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from controller.api.reasons import TerminalReason
from controller.api.records import (
    Answer,
    AnswerReason,
    BlockKind,
    Question,
    QuestionState,
    SearchStatus,
)
from controller.evidence.findings import Findings
from controller.evidence.markdown import render
from controller.evidence.markdown_text import escape
from controller.evidence.report import build_report
from controller.evidence.report_format import Omitted, Report
from tests.evidence.samples import (
    django_findings,
    evidence_of,
    quote_fact,
    run_summary,
    search,
    setting_evidence,
    setting_fact,
    setting_question,
)

GOLDEN = Path(__file__).with_name("golden_report.md")
UPDATE = "FIXPOINT_UPDATE_GOLDEN"

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
DEAD = {"html_block", "fence", "code_block", "hr", "list_item_open"}

MARKUP = st.one_of(
    st.text(st.sampled_from("`*_[]()<>|~$&#+-=:.1!\\ \n\t/@abwAÄ😀ش\r\x07\x1b;"), max_size=40),
    st.lists(
        st.sampled_from(
            (
                *("http://a.b", "www.a.b", "<b>", "<!--", "&amp;", "&#35;", "![x](y)", "[x]"),
                *("[x]: http://a", "```", "---", "===", "- ", "1. ", "# ", " #", "> ", "~~~"),
                *("|a|", "__x__", "*x*", "`x`", " ", "\n", "\\", "a", "$x$", "    ", "mailto:a@b"),
            )
        ),
        max_size=10,
    ).map("".join),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30),
)


def golden_findings() -> Findings:
    """Return findings with every kind of question that a report can hold."""
    findings = django_findings()
    odd = Question(id="odd", text="What does `pip --target` do with <b>*.pth</b> files | why?")
    odd_text = (
        "Hinweis: „--target“ kopiert *.pth nicht, siehe [1](http://a.invalid) & <b>pip</b>.\n"
        "# خيار pip --target لا ينسخ ملفات ‎*.pth 😀"
    )
    odd_blocks = [
        (BlockKind.PARAGRAPH, ("pip | Optionen", "--target"), line) for line in odd_text.split("\n")
    ]
    odd_evidence = evidence_of("https://example.invalid/pip_(de)", "pip_install", odd_blocks)
    contested, partial, failed, open_question = (
        Question(id="limit", text="What is the default of SETTING_0?"),
        Question(id="partial", text="What is the default of SETTING_1?"),
        Question(id="failed", text="Which ports does the gateway open?"),
        Question(id="late", text="Who maintains the gateway?"),
    )
    voices = (
        *(
            evidence_of(
                f"file:notes-{number}.txt",
                f"Notes of operator {number}",
                [
                    (
                        BlockKind.ITEM,
                        ("Settings",),
                        f"The default of SETTING_0 is {number}0 requests.",
                    )
                ],
                origin=f"operator-{number}",
            )
            for number in (1, 2)
        ),
        setting_evidence(1, 0),
    )
    facts = (
        quote_fact(odd, odd_evidence, odd_text),
        *(quote_fact(contested, voice, voice.blocks[0].text) for voice in voices[:2]),
        quote_fact(partial, voices[2], voices[2].blocks[0].text),
    )
    answers = (
        Answer(question_id="odd", state=QuestionState.ANSWERED, origins=1),
        Answer(
            question_id="limit",
            state=QuestionState.ANSWERED,
            reason=AnswerReason.CONTESTED,
            origins=2,
        ),
        Answer(
            question_id="partial",
            state=QuestionState.UNRESOLVED,
            reason=AnswerReason.TOO_FEW_ORIGINS,
            origins=1,
        ),
        Answer(
            question_id="failed",
            state=QuestionState.UNRESOLVED,
            reason=AnswerReason.SEARCH_FAILED,
            origins=0,
        ),
    )
    return replace(
        findings,
        questions=(*findings.questions, odd, contested, partial, failed, open_question),
        searches=(
            *findings.searches,
            search(failed, "gateway ports", status=SearchStatus.FAILED, corpus=None),
        ),
        evidence=(*findings.evidence, odd_evidence, *voices),
        facts=(*findings.facts, *facts),
        answers={**findings.answers, **{a.question_id: a for a in answers}},
    )


def golden_report() -> Report:
    findings = golden_findings()
    run = run_summary(findings, TerminalReason.STEP_BUDGET_EXHAUSTED)
    return build_report(
        findings, replace(run, message="18 of 18 steps are used; 3 questions have no answer.")
    )


# S0.45, S0.64, S0.67
def test_the_golden_report() -> None:
    rendered = render(golden_report())
    if os.environ.get(UPDATE):
        GOLDEN.write_text(rendered, encoding="utf-8")
    assert rendered == GOLDEN.read_text(encoding="utf-8"), f"run with {UPDATE}=1 to accept it"


def test_rendering_again_gives_the_same_bytes() -> None:
    assert render(golden_report()) == render(Report.model_validate(golden_report().to_json()))


def inline(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type == "inline":
            yield from token.children or ()


def shown(markdown: str) -> str:
    """Return the text that a reader sees; anything but plain text shows up as its type."""
    tokens = PARSER.parse(markdown)
    assert not {token.type for token in tokens} & DEAD
    return "".join(
        token.content if token.type == "text" else f"<<{token.type}>>" for token in inline(tokens)
    )


def as_one_line(text: str) -> str:
    line = re.sub(r"\r\n|\r|\n", " ", text)
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", line).strip()


@given(MARKUP)
def test_text_is_shown_as_it_is_wherever_it_stands(text: str) -> None:
    escaped = escape(text)
    assert shown(escaped) == as_one_line(text)
    assert shown(f"> {escaped}") == as_one_line(text)
    assert shown(f"### 1. {escaped}") == f"1. {as_one_line(text)}".strip()
    table = f"| a | b |\n|---|---|\n| {escaped} | z |"
    assert shown(table) == f"ab{as_one_line(text)}z"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        pytest.param("ATOMIC_REQUESTS", "ATOMIC_REQUESTS", id="a name stays readable"),
        pytest.param("__init__", r"\_\_init\_\_", id="underscores at an edge do not"),
        pytest.param("https://a.example", r"https\://a.example", id="an address is no link"),
        pytest.param("WWW.a.example", r"WWW\.a.example", id="nor is a bare one"),
        pytest.param("mailto:a@b", r"mailto\:a@b", id="nor a mail address with its scheme"),
        pytest.param("C#, issue 3", "C#, issue 3", id="a hash inside a word"),
        pytest.param("AT&T &amp; more", r"AT&T \&amp; more", id="entities only"),
        pytest.param("\x1b[31mred", "\ufffd\\[31mred", id="a terminal's escape sequence"),
        pytest.param("٣ שלום 😀 e\u0301", "٣ שלום 😀 e\u0301", id="every script as it is"),
        pytest.param("-5 degrees", "-5 degrees", id="a minus is no list"),
    ],
)
def test_only_what_would_take_effect_is_escaped(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def report_of(blocks: list[tuple[BlockKind, str]], quote: str) -> Report:
    """Return a report with one quote over some blocks, whatever they say."""
    question = setting_question(0)
    evidence = evidence_of(
        "file:a", quote[:500], [(kind, (quote[:500],), text) for kind, text in blocks]
    )
    fact = setting_fact(0, 0)
    (citation,) = quote_fact(question, evidence, evidence.blocks[0].text).citations
    findings = Findings(questions=(question,), evidence=(evidence,), facts=(fact,))
    report = build_report(
        replace(findings, evidence=(setting_evidence(0, 0),)), run_summary(findings)
    )
    reference = report.references[0].model_copy(
        update={
            "quote": quote,
            "title": quote[:500],
            "heading_path": (quote[:500],),
            "kind": evidence.blocks[0].kind,
            "spans": citation.spans,
        }
    )
    statement = report.questions[0].statements[0].model_copy(update={"text": quote})
    asked = report.questions[0].model_copy(update={"statements": (statement,), "text": quote[:500]})
    return report.model_copy(update={"questions": (asked,), "references": (reference,)})


PLAIN = [(BlockKind.PARAGRAPH, "some text of four words")]


@given(MARKUP)
def test_no_markup_of_a_source_takes_effect(text: str) -> None:
    tokens = PARSER.parse(render(report_of(PLAIN, text)))
    types = {token.type for token in tokens} | {token.type for token in inline(tokens)}
    assert not types & {"html_block", "html_inline", "link_open", "image", "code_block", "fence"}
    assert [t.tag for t in tokens if t.type == "heading_open"].count("h3") == 1


@given(MARKUP.filter(str.strip))
def test_code_is_shown_line_by_line(text: str) -> None:
    report = report_of([(BlockKind.CODE, "x = 1 + 2 + 3 + 4")], text)
    fences = [t for t in PARSER.parse(render(report)) if t.type == "fence"]
    assert len(fences) == 1
    lines = [
        re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", line)
        for line in re.split(r"\r\n|\r|\n", text)
    ]
    assert [line.rstrip() for line in fences[0].content.split("\n")[:-1]] == [
        line.rstrip() for line in lines
    ]


def test_a_quote_of_several_lines_keeps_its_lines() -> None:
    rendered = render(report_of(PLAIN, "first line\nsecond line\n\n third"))
    assert "> first line\\\n> second line\\\n> third\n>\n> — [1]" in rendered


def markers_and_references(rendered: str) -> tuple[set[str], set[str]]:
    """Return the numbers in the text, and those in the list of references."""
    text, _, rest = rendered.partition("\n## References\n")
    listed = rest.partition("\n## ")[0]
    unescaped = r"(?<!\\)\[(\d+)\]"
    return set(re.findall(unescaped, text)), set(re.findall(rf"(?m)^- {unescaped}", listed))


# S2.27
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.booleans())
def test_every_marker_has_its_reference_and_the_other_way_round(
    origins: list[int],
    answered: bool,  # noqa: FBT001 - drawn by Hypothesis
) -> None:
    pairs = [(n, o) for n, count in enumerate(origins) for o in range(count)]
    state = QuestionState.ANSWERED if answered else QuestionState.OPEN
    findings = Findings(
        questions=tuple(setting_question(n) for n in range(len(origins))),
        evidence=tuple(setting_evidence(n, o) for n, o in pairs),
        facts=tuple(setting_fact(n, o) for n, o in pairs),
        answers={
            f"q{n}": Answer(question_id=f"q{n}", state=state, origins=count)
            for n, count in enumerate(origins)
        },
    )
    report = build_report(findings, run_summary(findings))
    markers, listed = markers_and_references(render(report))
    assert markers == listed == {str(n) for n in range(1, len(pairs) + 1)}
    assert listed == {str(r.number) for r in report.references}


def test_a_number_in_brackets_in_a_quote_is_no_marker() -> None:
    markers, listed = markers_and_references(render(golden_report()))
    assert markers == listed
    assert r"\[1\]" in render(golden_report())


def test_a_run_without_a_question_has_a_report() -> None:
    report = build_report(Findings(), run_summary(Findings(), TerminalReason.INVALID_SPEC))
    rendered = render(report)
    assert "There is no question yet." in rendered
    assert "InvalidSpec" in rendered
    assert "## Findings" not in rendered
    assert "## References" not in rendered


def test_a_report_that_was_cut_says_so() -> None:
    report = golden_report().model_copy(update={"omitted": Omitted(statements=3, certificates=1)})
    assert "3 quotes of the lowest rank and 1 certificate were left out" in render(report)


def test_a_success_hands_nothing_off() -> None:
    findings = django_findings()
    rendered = render(build_report(findings, run_summary(findings)))
    assert "research-desk" not in rendered
    run = run_summary(findings, TerminalReason.NO_PROGRESS)
    assert "Handed off to research-desk" in render(build_report(findings, run))


def test_what_is_absent_is_left_out() -> None:
    report = golden_report()
    bare = report.model_copy(
        update={
            "budgets": (),
            "rejected": (),
            "quality": report.quality.model_copy(update={"predicates": ()}),
            "ending": report.ending.model_copy(
                update={
                    "hand_off": report.ending.hand_off
                    and report.ending.hand_off.model_copy(update={"message": ""})
                }
            ),
            "references": tuple(
                r.model_copy(update={"lines": None, "title": " "}) for r in report.references
            ),
            "method": report.method.model_copy(update={"corpora": ()}),
        }
    )
    rendered = render(bare)
    for heading in ("## Budgets", "## Rejected quotes", "| Goal |", "| Corpus |", " asked for"):
        assert heading not in rendered
    assert "Handed off to research-desk\n" in rendered
    assert "- [1] file:ref/settings.txt; " in rendered


def test_a_budget_without_a_limit() -> None:
    report = golden_report()
    budget = report.budgets[0].model_copy(update={"limit": None})
    rendered = render(report.model_copy(update={"budgets": (budget,)}))
    assert "| maxSteps | 18 | none |" in rendered
