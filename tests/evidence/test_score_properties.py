"""The properties of the score Q, by their numbers in docs/verification.md."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import (
    Answer,
    BlockKind,
    Evidence,
    Fact,
    SearchStatus,
    Statement,
)
from controller.evidence.audit import audit
from controller.evidence.clusters import clusters_of
from controller.evidence.discrepancies import AuditRule
from controller.evidence.draft import template_draft
from controller.evidence.findings import Findings
from controller.evidence.report import build_report, report_json
from controller.evidence.report_format import Report
from controller.evidence.score import distinct_origins, factors, score
from controller.evidence.support import Support
from tests.evidence.samples import (
    concluded,
    evidence_of,
    quality_of,
    quote_fact,
    run_summary,
    searches_for,
    setting_evidence,
    setting_fact,
    setting_question,
    setting_quote,
)
from tests.evidence.standings import (
    ANSWERED,
    NOT_FOUND,
    STANDINGS,
    TARGETS,
    UNRESOLVED,
    Standing,
    findings_of,
)

# --- 1: A share, whatever the order ---------------------------------------------------------------


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


# --- 2: Nothing unsupported pays ------------------------------------------------------------------


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


# --- 3: Another voice -----------------------------------------------------------------------------


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


@given(STANDINGS, TARGETS, st.data())
def test_another_voice_beside_any_statement_never_lowers_q(
    standings: list[Standing], target: int, data: st.DataObject
) -> None:
    findings = findings_of(standings)
    drafted = list(template_draft(findings))
    if not drafted:
        return
    at = data.draw(st.integers(0, len(drafted) - 1))
    said = drafted[at]
    evidence = evidence_like(said.text, 9)
    question = next(q for q in findings.questions if q.id == said.question_id)
    fact = quote_fact(question, evidence, said.text)
    drafted[at] = said.model_copy(update={"fact_ids": (*said.fact_ids, fact.id)})
    heard = replace(
        findings,
        evidence=(*findings.evidence, evidence),
        facts=(*findings.facts, fact),
        statements=tuple(drafted),
    )
    assert factors(heard, target).quality >= factors(findings, target).quality


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
    narrowed = [
        Support(drafted(n)).narrowed(s) for n in (2, 3) for s in drafted(n).statements or ()
    ]
    assert [s.fact_ids for s in narrowed] == [tuple(f.id for f in facts[:2]), (facts[2].id,)]
    assert factors(replace(drafted(3), statements=tuple(narrowed[1:])), 1).quality == 1


# --- 4: Copies ------------------------------------------------------------------------------------


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


# --- 5: Searches that fail ------------------------------------------------------------------------


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


# --- 6: Getting further ---------------------------------------------------------------------------


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


# --- 7: Nothing answered --------------------------------------------------------------------------


@given(STANDINGS, TARGETS)
def test_nothing_answered_is_at_most_sixty(standings: list[Standing], target: int) -> None:
    unanswered = [s for s in standings if s.state is not ANSWERED]
    assert score(findings_of(unanswered), target).quality <= 60


# --- 8: Computed again ----------------------------------------------------------------------------


@given(STANDINGS, TARGETS, st.integers(-3, 3))
def test_q_is_computed_again_from_report_and_journal_alone(
    standings: list[Standing], target: int, lie: int
) -> None:
    findings = findings_of(standings)
    run = replace(run_summary(findings), quality=quality_of(findings, target_origins=target))
    published = Report.model_validate_json(report_json(build_report(findings, run)))
    assert score_discrepancies(published, findings, target) == []
    told = published.quality.model_copy(update={"score": max(0, published.quality.score + lie)})
    forged = published.model_copy(update={"quality": told})
    is_found = bool(score_discrepancies(forged, findings, target))
    assert is_found is (told.score != published.quality.score)


def score_discrepancies(report: Report, findings: Findings, target: int) -> list[str]:
    found = audit(report, findings, target_origins=target)
    return [str(d) for d in found if d.rule is AuditRule.SCORE_AGREES]
