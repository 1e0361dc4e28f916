"""The template draft: what is said, once, in which order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import (
    Answer,
    AnswerReason,
    BlockKind,
    FactKind,
    FactStatus,
    QuestionState,
    Statement,
)
from controller.evidence.draft import (
    MAX_FACTS_PER_STATEMENT,
    MAX_STATEMENTS,
    statements_of,
    template_draft,
)
from controller.evidence.findings import Findings
from tests.evidence.samples import (
    SAVEPOINT_QUOTE,
    django_findings,
    evidence_of,
    quote_fact,
    setting_fact,
    setting_question,
)


def test_each_verified_fact_is_one_statement_in_the_order_of_questions() -> None:
    findings = django_findings()
    reversed_facts = replace(findings, facts=findings.facts[2:] + findings.facts[:2])
    for each in (findings, reversed_facts):
        assert [(s.question_id, s.text[:20]) for s in template_draft(each)] == [
            ("atomic-default", "Default: False"),
            ("atomic-default", "The default value of"),
            ("savepoint", SAVEPOINT_QUOTE[:20]),
            ("savepoint", "from django.db impor"),
        ]


def test_a_rejected_fact_is_never_said() -> None:
    findings = django_findings()
    rejected = [f.id for f in findings.facts if f.status is FactStatus.REJECTED]
    assert rejected
    assert not {i for s in template_draft(findings) for i in s.fact_ids} & set(rejected)


@pytest.mark.parametrize(
    ("state", "reason", "said"),
    [
        pytest.param(QuestionState.ANSWERED, None, True, id="answered"),
        pytest.param(QuestionState.ANSWERED, AnswerReason.CONTESTED, True, id="contested"),
        pytest.param(QuestionState.OPEN, None, True, id="open: partial"),
        pytest.param(
            QuestionState.UNRESOLVED, AnswerReason.TOO_FEW_ORIGINS, True, id="unresolved: partial"
        ),
        pytest.param(QuestionState.NOT_FOUND, None, False, id="not found"),
    ],
)
def test_which_questions_have_statements(
    state: QuestionState, reason: AnswerReason | None, *, said: bool
) -> None:
    answer = Answer(question_id="q0", state=state, reason=reason, origins=1)
    findings = Findings(
        questions=(setting_question(0),), facts=(setting_fact(0, 0),), answers={"q0": answer}
    )
    assert bool(template_draft(findings)) is said


def test_the_same_claim_from_two_places_is_one_statement_with_both_facts() -> None:
    fact, other = setting_fact(0, 0), setting_fact(0, 1)
    twin = other.model_copy(update={"claim": fact.claim})
    findings = Findings(questions=(setting_question(0),), facts=(fact, twin))
    (statement,) = template_draft(findings)
    assert statement.fact_ids == (fact.id, twin.id)


def test_a_second_quote_of_the_same_characters_is_not_repeated() -> None:
    fact = setting_fact(0, 0)
    again = fact.model_copy(update={"id": "f-00000000000a"})
    findings = Findings(questions=(setting_question(0),), facts=(fact, again))
    assert [s.fact_ids for s in template_draft(findings)] == [(fact.id,)]


def test_two_wordings_of_the_same_characters_are_two_statements() -> None:
    fact = setting_fact(0, 0)
    wordings = tuple(
        fact.model_copy(
            update={"id": f"f-00000000000{n}", "kind": FactKind.PARAPHRASE, "claim": claim}
        )
        for n, claim in enumerate(("SETTING_0 is 10.", "10 is the default of SETTING_0."))
    )
    findings = Findings(questions=(setting_question(0),), facts=wordings)
    assert [s.text for s in template_draft(findings)] == [f.claim for f in wordings]


def test_the_same_quote_answers_two_questions() -> None:
    one = setting_question(0)
    other = one.model_copy(update={"id": "q9"})
    text = "The default of SETTING_0 is 10 requests in general."
    evidence = evidence_of("file:a", "A", [(BlockKind.PARAGRAPH, (), text)])
    facts = (quote_fact(one, evidence, text), quote_fact(other, evidence, text))
    findings = Findings(questions=(one, other), evidence=(evidence,), facts=facts)
    assert [s.question_id for s in template_draft(findings)] == ["q0", "q9"]


@given(st.lists(st.integers(0, 200), min_size=1, max_size=20))
def test_a_draft_fits_its_step(counts: list[int]) -> None:
    original = setting_fact(0, 0)
    findings = Findings(
        questions=tuple(setting_question(n) for n in range(len(counts))),
        facts=tuple(
            original.model_copy(
                update={
                    "id": f"f-{number:04x}{at:08x}",
                    "question_id": f"q{number}",
                    "claim": f"{at}",
                    "kind": FactKind.PARAPHRASE,
                }
            )
            for number, count in enumerate(counts)
            for at in range(count)
        ),
    )
    drafted = template_draft(findings)
    assert len(drafted) == sum(counts) or MAX_STATEMENTS - 20 < len(drafted) <= MAX_STATEMENTS
    for number, count in enumerate(counts):
        texts = [s.text for s in drafted if s.question_id == f"q{number}"]
        assert texts == [str(at) for at in range(len(texts))]
        assert bool(texts) is bool(count)


def test_a_statement_has_no_more_facts_than_it_can_hold() -> None:
    fact = setting_fact(0, 0)
    many = tuple(
        setting_fact(0, origin).model_copy(update={"claim": fact.claim}) for origin in range(20)
    )
    (statement,) = template_draft(Findings(questions=(setting_question(0),), facts=many))
    assert len(statement.fact_ids) == MAX_FACTS_PER_STATEMENT


def test_a_recorded_draft_wins_over_the_template() -> None:
    findings = django_findings()
    mine = (Statement(question_id="savepoint", text="A marker.", fact_ids=("f-000000000000",)),)
    assert statements_of(findings) == template_draft(findings)
    assert statements_of(replace(findings, statements=mine)) == mine
    assert statements_of(replace(findings, statements=())) == ()
