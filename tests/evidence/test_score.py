"""The score Q: its table, its properties, its exactness."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import (
    Answer,
    AnswerReason,
    BlockKind,
    Certificate,
    Evidence,
    Fact,
    FactStatus,
    QuestionState,
    SearchStatus,
    Statement,
)
from controller.evidence.clusters import clusters_of
from controller.evidence.draft import template_draft
from controller.evidence.findings import Findings
from controller.evidence.score import distinct_origins, factors, percent, score
from controller.evidence.support import question_weights
from tests.evidence.samples import (
    concluded,
    evidence_of,
    quote_fact,
    search,
    searches_for,
    setting_evidence,
    setting_fact,
    setting_question,
    setting_quote,
)

ANSWERED, NOT_FOUND = QuestionState.ANSWERED, QuestionState.NOT_FOUND
OPEN, UNRESOLVED = QuestionState.OPEN, QuestionState.UNRESOLVED
CERTIFICATE = Certificate(queries=(), corpora=(), facts_rejected=0)


class Standing(NamedTuple):
    """Where a question of a made-up run stands."""

    state: QuestionState
    origins: int = 0
    contested: bool = False


def findings_of(standings: Sequence[Standing]) -> Findings:
    answers = {}
    for number, (state, origins, contested) in enumerate(standings):
        reason = AnswerReason.CONTESTED if contested and state is ANSWERED else None
        if state is UNRESOLVED:
            reason = AnswerReason.TOO_FEW_ORIGINS
        if state is not OPEN:
            answers[f"q{number}"] = Answer(
                question_id=f"q{number}",
                state=state,
                reason=reason,
                origins=origins,
                certificate=CERTIFICATE if state is NOT_FOUND else None,
            )
    pairs = [(n, o) for n, s in enumerate(standings) for o in range(s.origins)]
    return Findings(
        questions=tuple(setting_question(n) for n in range(len(standings))),
        evidence=tuple(setting_evidence(n, o) for n, o in pairs),
        facts=tuple(setting_fact(n, o) for n, o in pairs),
        answers=answers,
    )


STANDINGS = st.lists(
    st.one_of(
        st.just(Standing(OPEN)),
        st.just(Standing(UNRESOLVED)),
        st.just(Standing(UNRESOLVED, 1)),
        st.just(Standing(NOT_FOUND)),
        st.builds(Standing, st.just(ANSWERED), st.integers(1, 3), st.booleans()),
    ),
    max_size=5,
)
TARGETS = st.integers(1, 4)

ONE, ABSENT = Standing(ANSWERED, 1), Standing(NOT_FOUND)


# S0.26, S0.56
@pytest.mark.parametrize(
    ("standings", "with_one", "with_two"),
    [
        pytest.param([ONE] * 4, 100, 70, id="all answered, one origin each"),
        pytest.param([ONE] * 3 + [ABSENT], 90, 67, id="three answered, one not found"),
        pytest.param([ONE] + [ABSENT] * 3, 70, 62, id="one answered, three not found"),
        pytest.param([ABSENT] * 4, 60, 60, id="all not found"),
        pytest.param([Standing(ANSWERED, 2)] * 2, 100, 100, id="two origins each"),
        pytest.param([Standing(ANSWERED, 1, contested=True)], 50, 35, id="contested"),
        pytest.param([ONE, Standing(OPEN)], 50, 35, id="one answered, one open"),
        pytest.param([ONE, Standing(UNRESOLVED, 1)], 50, 35, id="an unresolved one adds nothing"),
        pytest.param([Standing(ANSWERED)], 0, 0, id="an answer without a verified fact"),
        pytest.param([], 0, 0, id="no question"),
    ],
)
def test_the_table(standings: list[Standing], with_one: int, with_two: int) -> None:
    findings = findings_of(standings)
    assert score(findings, 1).quality == with_one
    assert score(findings, 2).quality == with_two


def test_three_times_seven_tenths_reach_seventy() -> None:
    findings = findings_of([ONE] * 3)
    assert factors(findings, 2).quality == Fraction(7, 10)
    assert score(findings, 2).quality == 70
    assert (0.7 + 0.7 + 0.7) / 3 < 0.7


def test_percents_are_floored() -> None:
    assert percent(Fraction(2, 3)) == 66
    assert percent(Fraction(6999, 10000)) == 69


@given(STANDINGS, TARGETS, st.randoms())
def test_q_is_a_share_whatever_the_order(
    standings: list[Standing], target: int, randomly: random.Random
) -> None:
    findings = findings_of(standings)
    statements = list(template_draft(findings))
    several = [
        s.model_copy(update={"fact_ids": (*s.fact_ids, *statements[0].fact_ids)})
        for s in statements
    ]
    drafted = replace(findings, statements=tuple(several))
    exact = factors(drafted, target)
    assert 0 <= exact.quality <= 1
    questions = list(drafted.questions)
    randomly.shuffle(questions)
    randomly.shuffle(several)
    shuffled = tuple(
        s.model_copy(update={"fact_ids": tuple(randomly.sample(s.fact_ids, len(s.fact_ids)))})
        for s in several
    )
    assert factors(replace(drafted, questions=tuple(questions), statements=shuffled), target) == (
        exact
    )


# S0.26
@given(STANDINGS, TARGETS)
def test_an_unsupported_statement_never_raises_q(standings: list[Standing], target: int) -> None:
    findings = findings_of(standings)
    before = factors(findings, target).quality
    drafted = template_draft(findings)
    fact_ids = drafted[0].fact_ids if drafted else ("f-000000000000",)
    lie = Statement(question_id="q0", text="The limit is 987654 requests.", fact_ids=fact_ids)
    assert factors(replace(findings, statements=(*drafted, lie)), target).quality <= before


@given(STANDINGS, TARGETS, st.data())
def test_a_dangling_citation_never_raises_q(
    standings: list[Standing], target: int, data: st.DataObject
) -> None:
    findings = findings_of(standings)
    drafted = list(template_draft(findings))
    if not drafted:
        return
    before = factors(findings, target)
    at = data.draw(st.integers(0, len(drafted) - 1))
    dangling = (*drafted[at].fact_ids, "f-000000000000")
    drafted[at] = drafted[at].model_copy(update={"fact_ids": dangling})
    after = factors(replace(findings, statements=tuple(drafted)), target)
    assert after.quality <= before.quality
    assert after.citation_precision < 1


# S0.26
def test_a_rejected_fact_supports_nothing() -> None:
    findings = findings_of([ONE])
    drafted = template_draft(findings)
    rejected = findings.facts[0].model_copy(update={"status": FactStatus.REJECTED})
    exact = factors(replace(findings, facts=(rejected,), statements=drafted), 1)
    assert exact.citation_recall == exact.citation_precision == 0


def test_a_citation_of_another_text_supports_nothing() -> None:
    findings = findings_of([ONE])
    drafted = template_draft(findings)
    document = findings.evidence[0].document
    other = document.model_copy(update={"text_digest": "sha256:" + "00" * 32})
    evidence = (findings.evidence[0].model_copy(update={"document": other}),)
    exact = factors(replace(findings, evidence=evidence, statements=drafted), 1)
    assert exact.citation_recall == exact.citation_precision == 0


@given(st.integers(1, 3), TARGETS)
def test_another_voice_that_suffices_alone_never_lowers_q(origins: int, target: int) -> None:
    findings = findings_of([Standing(ANSWERED, origins + 1)])
    text = setting_quote(0, 0)
    same = [evidence_like(text, origin) for origin in range(origins + 1)]
    facts = [quote_fact(setting_question(0), e, text) for e in same]
    before, after = (
        replace(
            findings,
            evidence=tuple(same[:count]),
            facts=tuple(facts[:count]),
            statements=(
                Statement(question_id="q0", text=text, fact_ids=tuple(f.id for f in facts[:count])),
            ),
        )
        for count in (origins, origins + 1)
    )
    assert factors(after, target).quality >= factors(before, target).quality


def evidence_like(text: str, origin: int) -> Evidence:
    """Return a document that says a sentence and something of its own, so it is no copy."""
    path = ("Settings", "SETTING_0")
    blocks = [(BlockKind.PARAGRAPH, path, text), (BlockKind.PARAGRAPH, path, f"Voice {origin}.")]
    return evidence_of(f"file:voice/{origin}.txt", "Notes", blocks, origin=f"voice-{origin}")


def test_two_needed_together_and_one_that_suffices_alone() -> None:
    question = setting_question(0)
    one, other, both = (
        "The default of SETTING_0 is 10 requests in general.",
        "The default of SETTING_0 takes effect after 45 seconds.",
        "The default of SETTING_0 is 10 requests after 45 seconds.",
    )
    evidence = tuple(
        evidence_of(f"file:{n}", "Notes", [(BlockKind.PARAGRAPH, (), t)], origin=f"o{n}")
        for n, t in enumerate((one, other, both))
    )
    facts = tuple(
        quote_fact(question, e, t) for e, t in zip(evidence, (one, other, both), strict=True)
    )
    text = "SETTING_0: default 10 requests, effect after 45 seconds."

    def drafted(count: int) -> Findings:
        ids = tuple(f.id for f in facts[:count])
        return Findings(
            questions=(question,),
            evidence=evidence,
            facts=facts,
            answers={"q0": Answer(question_id="q0", state=ANSWERED, origins=3)},
            statements=(Statement(question_id="q0", text=text, fact_ids=ids),),
        )

    assert factors(drafted(1), 1).citation_recall == 0
    assert factors(drafted(2), 1).quality == 1
    assert factors(drafted(3), 1).quality == Fraction(1, 3)


@given(STANDINGS, TARGETS)
def test_a_duplicate_inside_a_cluster_changes_nothing(
    standings: list[Standing], target: int
) -> None:
    findings = findings_of(standings)
    copies: list[tuple[Evidence, Fact]] = []
    for number, standing in enumerate(standings):
        for origin in range(standing.origins):
            evidence = evidence_of(
                f"file:mirror/{origin}/{number}.txt",
                "A mirror",
                [(b.kind, b.heading_path, b.text) for b in setting_evidence(number, origin).blocks],
                origin=f"origin-{origin}",
            )
            quote = setting_quote(number, origin)
            copies.append((evidence, quote_fact(setting_question(number), evidence, quote)))
    more = replace(
        findings,
        evidence=findings.evidence + tuple(e for e, _ in copies),
        facts=findings.facts + tuple(f for _, f in copies),
    )
    assert factors(more, target) == factors(findings, target)


def test_a_copy_that_joins_two_clusters_lowers_the_number_of_voices() -> None:
    first, second = setting_evidence(0, 0), setting_evidence(0, 1)
    facts = (setting_fact(0, 0), setting_fact(0, 1))
    assert distinct_origins(facts, (first, second)) == 2
    joining = first.model_copy(
        update={
            "document": first.document.model_copy(
                update={"id": "d-00000000000a", "origin_key": "origin-1"}
            )
        }
    )
    assert distinct_origins(facts, (first, second, joining)) == 1
    assert len(set(clusters_of((first, second, joining)).values())) == 1


def test_documents_that_are_not_recorded_are_no_origins() -> None:
    assert distinct_origins((setting_fact(0, 0),), ()) == 0


@given(st.lists(st.booleans(), min_size=1, max_size=4), TARGETS, st.data())
def test_a_search_that_fails_never_raises_q(
    answered: list[bool], target: int, data: st.DataObject
) -> None:
    questions = tuple(setting_question(n) for n in range(len(answered)))
    searches = [s for q in questions for s in searches_for(q)]
    numbers = [n for n, found in enumerate(answered) if found]
    findings = Findings(
        questions=questions,
        searches=tuple(searches),
        evidence=tuple(setting_evidence(n, 0) for n in numbers),
        facts=tuple(setting_fact(n, 0) for n in numbers),
    )
    before = score(concluded(findings), target)
    at = data.draw(st.integers(0, len(searches) - 1))
    status = data.draw(st.sampled_from((SearchStatus.PARTIAL, SearchStatus.FAILED)))
    searches[at] = searches[at].model_copy(update={"status": status})
    after = score(concluded(replace(findings, searches=tuple(searches))), target)
    assert after.quality <= before.quality


@given(STANDINGS, TARGETS)
def test_getting_further_never_lowers_q(others: list[Standing], target: int) -> None:
    way = [
        Standing(UNRESOLVED),
        Standing(NOT_FOUND),
        Standing(ANSWERED, 1),
        Standing(ANSWERED, 2),
        Standing(ANSWERED, 3),
    ]
    qualities = [factors(findings_of([*others, stage]), target).quality for stage in way]
    assert qualities == sorted(qualities)


@given(STANDINGS, st.integers(1, 3), TARGETS)
def test_a_contest_that_is_settled_never_lowers_q(
    others: list[Standing], origins: int, target: int
) -> None:
    contested = findings_of([*others, Standing(ANSWERED, origins, contested=True)])
    settled = findings_of([*others, Standing(ANSWERED, origins)])
    assert factors(settled, target).quality >= factors(contested, target).quality


@given(STANDINGS, TARGETS)
def test_nothing_answered_is_at_most_sixty(standings: list[Standing], target: int) -> None:
    unanswered = [s for s in standings if s.state is not ANSWERED]
    assert score(findings_of(unanswered), target).quality <= 60


def test_an_absence_without_a_certificate_is_worth_nothing() -> None:
    findings = findings_of([ABSENT])
    uncertified = {"q0": findings.answers["q0"].model_copy(update={"certificate": None})}
    assert factors(replace(findings, answers=uncertified), 1).quality == 0


def test_no_statement_counts_only_when_every_question_is_certified_absent() -> None:
    assert factors(findings_of([ABSENT, Standing(OPEN)]), 1).citation_recall == 0
    assert factors(findings_of([ABSENT, ABSENT]), 1).citation_recall == 1


def test_a_quote_changed_by_a_number_is_not_supported() -> None:
    findings = findings_of([ONE])
    (drafted,) = template_draft(findings)
    changed = drafted.model_copy(update={"text": drafted.text.replace("10", "11")})
    assert factors(replace(findings, statements=(changed,)), 1).citation_recall == 0


def test_a_term_keeps_the_weight_that_was_recorded_first() -> None:
    question = setting_question(0)
    first = search(question, "a", [setting_evidence(0, 0)])
    later = search(question, "b", [])
    weights = question_weights(Findings(searches=(first, later)), "q0")
    assert weights == {w.term: w.weight for w in first.term_weights}
    assert weights != {w.term: w.weight for w in later.term_weights}
    assert question_weights(Findings(searches=(first,)), "q1") == {}
