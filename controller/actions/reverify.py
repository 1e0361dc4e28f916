"""`Reverify`: a document of carried facts is read again, and each of its facts is verified again.

The first one of a round reads nothing: it records what the round carries over. A document that
cannot be reached is no failure of the run: after the last attempt its facts are carried unchecked.
"""

from __future__ import annotations

from controller.actions.context import Context
from controller.api.errors import PermanentError, RetryableError
from controller.api.rounds import Rereading
from controller.evidence.carrying import DocumentNow
from controller.loop.extractive import open_round
from controller.loop.found import Found
from controller.loop.intents import ReverifyArguments
from controller.loop.reading import GONE
from controller.loop.reverification import reverified
from controller.ports import Reread


async def reverify(context: Context, arguments: ReverifyArguments) -> Found:
    """Read a document again and verify its facts; or open the round.

    Raises:
        ActionError: the document could not be read.
    """
    if arguments.document_id is None:
        return open_round(context.situation)
    assert arguments.source_name is not None
    source = context.sources.get(arguments.source_name)
    if source is None:
        missing = context.situation.missing
        why = missing.message if missing else f"there is no source {arguments.source_name}"
        raise RetryableError("Unreachable", why)
    known = context.situation.state.rounds.unverified.evidence.get(arguments.document_id)
    if known is None:  # nothing that is carried comes from it any more
        return reverified(context.situation, arguments, Rereading.MISSING, None)
    try:
        read = await source.read(known.document.locator)
    except PermanentError as error:
        if error.error_class not in GONE:
            raise
        read = Reread(None)
    now = DocumentNow(read.document, read.blocks) if read.document else None
    rereading = Rereading.READ if now else Rereading.MISSING
    return reverified(
        context.situation, arguments, rereading, now, corpus_digest=read.corpus_digest
    )
