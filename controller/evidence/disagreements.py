"""Disagreements: verified facts that give one thing different values, and what is made of it.

Typed slots alone are ruled, by code. Values that hold for different versions or dates are both
kept; else the source of higher priority is named first, else what most origins say; else the answer
is contested, and the values stand side by side. Contradictions in prose are not looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from controller.api.records import Citation, Document, Evidence, Fact, Question
from controller.evidence.clusters import clusters_of
from controller.evidence.components import Components
from controller.evidence.findings import Findings
from controller.evidence.predicates import Passage
from controller.evidence.report_disagreements import Ruling, ValueKind
from controller.evidence.slots import Slot, slots_of


@dataclass(frozen=True)
class SaidValue:
    """A value and who says it: as the first of them writes it, in what facts, of how many origins.

    `qualifiers` are the versions and dates that it is said for.
    """

    written: str
    qualifiers: tuple[str, ...]
    fact_ids: tuple[str, ...]
    origins: int


@dataclass(frozen=True)
class Disagreement:
    """Different values of one attribute of one subject, the preferred one first."""

    subject: tuple[str, ...]
    attribute: str
    kind: ValueKind
    ruling: Ruling
    values: tuple[SaidValue, ...]


@dataclass(frozen=True)
class _Said:
    """That a document fills a slot, in a fact."""

    slot: Slot
    fact: Fact
    document: Document


_Class = list[_Said]
"""What gives one value, in whatever form."""


def disagreements(
    findings: Findings, question: Question, language: str = "en"
) -> tuple[Disagreement, ...]:
    """Return what the verified facts of a question disagree on, in the order of the journal."""
    cited = list(_cited(findings, question))
    if len({_speaker(evidence.document) for _, _, evidence in cited}) < 2:  # noqa: PLR2004
        return ()  # nobody disagrees with himself
    groups: dict[object, list[_Said]] = {}
    for said in _said(cited, question, language):
        slot = said.slot
        subject = tuple(name.casefold() for name in slot.subject)
        key = (subject, slot.attribute, slot.value.kind, slot.value.dimension)
        groups.setdefault(key, []).append(said)
    clusters = clusters_of(findings.evidence)
    return tuple(d for group in groups.values() for d in _ruled(group, clusters))


def is_contested(findings: Findings, question: Question, language: str = "en") -> bool:
    """Say whether the sources of a question disagree so that code can prefer none."""
    found = disagreements(findings, question, language)
    return any(disagreement.ruling is Ruling.CONTESTED for disagreement in found)


def outvoted(findings: Findings, question: Question, language: str = "en") -> frozenset[str]:
    """Return the facts of a question that give only values which another one was preferred to."""
    ruled = [
        disagreement
        for disagreement in disagreements(findings, question, language)
        if disagreement.ruling in {Ruling.PRIORITY, Ruling.MAJORITY}
    ]
    preferred = {i for d in ruled for i in d.values[0].fact_ids}
    return frozenset(i for d in ruled for v in d.values[1:] for i in v.fact_ids) - preferred


def _cited(findings: Findings, question: Question) -> Iterator[tuple[Fact, Citation, Evidence]]:
    """Yield the citations of a question's verified facts, with what is recorded beside each."""
    evidence = {e.document.id: e for e in findings.evidence}
    for fact in findings.verified(question.id):
        for citation in fact.citations:
            if citation.document_id in evidence:
                yield fact, citation, evidence[citation.document_id]


def _said(
    cited: Iterable[tuple[Fact, Citation, Evidence]], question: Question, language: str
) -> Iterator[_Said]:
    for fact, citation, evidence in cited:
        spans = citation.spans
        blocks = (
            b for b in evidence.blocks if any(b.start < s.end and s.start < b.end for s in spans)
        )
        passage = Passage(citation.quote, tuple(blocks))
        for slot in slots_of(passage, evidence.document, question.text, language):
            yield _Said(slot, fact, evidence.document)


def _speaker(document: Document) -> tuple[str, str]:
    """Return who says what a document says: a file, whatever state of it was read."""
    return document.source_name, document.locator


def _ruled(group: Sequence[_Said], clusters: Mapping[str, int]) -> Iterator[Disagreement]:
    """Yield what is made of the values of one attribute of one subject."""
    apart: dict[frozenset[str], list[_Said]] = {}
    for said in group:
        apart.setdefault(said.slot.qualifiers, []).append(said)
    found = [
        _preferred(classes, clusters)
        for said in apart.values()
        if len(classes := _of_one_voice(_classes(said))) > 1
    ]
    if not found and len(apart) > 1 and len(_classes(group)) > 1:
        by_qualifiers = [c for said in apart.values() for c in _classes(said)]
        found = [(Ruling.QUALIFIERS, by_qualifiers)]
    for ruling, classes in found:
        yield Disagreement(
            subject=group[0].slot.subject,
            attribute=group[0].slot.attribute,
            kind=group[0].slot.value.kind,
            ruling=ruling,
            values=tuple(_value(said, clusters) for said in classes),
        )


def _classes(group: Sequence[_Said]) -> list[_Class]:
    """Return what agrees, directly or over others, together; in the order of the journal."""
    components = Components(len(group))
    for one, other in combinations(range(len(group)), 2):
        if group[one].slot.value.agrees(group[other].slot.value):
            components.join(one, other)
    classes: dict[int, _Class] = {}
    for at, said in enumerate(group):
        classes.setdefault(components.root(at), []).append(said)
    return list(classes.values())


def _of_one_voice(classes: Sequence[_Class]) -> list[_Class]:
    """Leave out the documents that say several values: they decide nothing."""
    values: dict[tuple[str, str], set[int]] = {}
    for at, said in enumerate(classes):
        for one in said:
            values.setdefault(_speaker(one.document), set()).add(at)
    left = ([one for one in said if len(values[_speaker(one.document)]) == 1] for said in classes)
    return [said for said in left if said]


def _preferred(
    classes: Sequence[_Class], clusters: Mapping[str, int]
) -> tuple[Ruling, list[_Class]]:
    """Return why a value stands first, and the values in that order."""
    priorities = [max(one.document.priority for one in said) for said in classes]
    if priorities.count(max(priorities)) == 1:
        order = sorted(range(len(classes)), key=lambda at: -priorities[at])
        return Ruling.PRIORITY, [classes[at] for at in order]
    votes = _votes(classes, clusters)
    everyone = {clusters[one.document.id] for said in classes for one in said}
    first = max(range(len(classes)), key=lambda at: votes[at])
    if 2 * votes[first] > len(everyone):
        rest = [said for at, said in enumerate(classes) if at != first]
        return Ruling.MAJORITY, [classes[first], *rest]
    return Ruling.CONTESTED, list(classes)


def _votes(classes: Sequence[_Class], clusters: Mapping[str, int]) -> list[int]:
    """Return how many origins say each value and no other one."""
    voices: dict[int, set[int]] = {}
    for at, said in enumerate(classes):
        for one in said:
            voices.setdefault(clusters[one.document.id], set()).add(at)
    return [sum(values == {at} for values in voices.values()) for at in range(len(classes))]


def _value(said: Iterable[_Said], clusters: Mapping[str, int]) -> SaidValue:
    everyone = list(said)
    return SaidValue(
        written=everyone[0].slot.value.written,
        qualifiers=tuple(sorted(everyone[0].slot.qualifiers)),
        fact_ids=tuple(dict.fromkeys(one.fact.id for one in everyone)),
        origins=len({clusters[one.document.id] for one in everyone}),
    )
