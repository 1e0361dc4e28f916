"""What a `Reverify` records of a document: read again, not there any more, or not to be reached."""

from __future__ import annotations

from typing import Final

from controller.api.rounds import Rereading, ReverifyRecord
from controller.evidence.carrying import DocumentNow, carry
from controller.loop.found import Found
from controller.loop.intents import ReverifyArguments
from controller.loop.situation import Situation
from controller.loop.status import shortened

_MAX_MESSAGE: Final = 1024


def reverified(
    situation: Situation,
    arguments: ReverifyArguments,
    rereading: Rereading,
    now: DocumentNow | None,
    *,
    corpus_digest: str | None = None,
    message: str = "",
) -> Found:
    """Return the record of a document's facts, each verified again.

    Args:
        situation: what was known when the step was decided.
        arguments: the document, and the source that holds it.
        rereading: what became of it.
        now: the document as it is now, or as it was where it could not be reached.
        corpus_digest: what the source held when it was read, where that has a digest.
        message: why it could not be reached.
    """
    assert arguments.document_id is not None
    assert arguments.source_name is not None
    state = situation.state
    carried = carry(
        state.rounds.unverified,
        arguments.document_id,
        now,
        reverified=state.rounds.former.reverified,
        recorded=tuple(state.evidence.values()),
        language=situation.task.spec.language,
    )
    record = ReverifyRecord(
        document_id=arguments.document_id,
        source_name=arguments.source_name,
        rereading=rereading,
        message=shortened(message, _MAX_MESSAGE),
        read_as=now.document.id if now and rereading is Rereading.READ else None,
        corpus_digest=corpus_digest,
        facts=carried.facts,
        dropped=carried.dropped,
        weights=carried.weights,
    )
    what = "carried unchecked" if rereading is Rereading.UNREACHABLE else "hold"
    gone = len(carried.dropped)
    return Found(
        summary=f"{arguments.document_id} {rereading}: {len(carried.facts)} facts {what}, "
        f"{gone} dropped",
        evidence=carried.evidence,
        reverify=record,
    )


def unreachable(situation: Situation, arguments: ReverifyArguments, message: str) -> Found:
    """Return the record of a document that could not be reached: its facts stand unchecked.

    What its source holds is recorded where it is known all the same: a source that is there and
    cannot be read gives no reason for another round until it holds something else.
    """
    known = situation.state.rounds.unverified.evidence.get(arguments.document_id or "")
    now = DocumentNow(known.document, known.blocks) if known else None
    return reverified(
        situation,
        arguments,
        Rereading.UNREACHABLE,
        now,
        corpus_digest=situation.source_digests.get(arguments.source_name or ""),
        message=message,
    )
