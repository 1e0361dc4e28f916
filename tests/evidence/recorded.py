"""Builders of recorded evidence: documents made of blocks, as readers and searches record them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from _pytest.mark import ParameterSet

from controller.api.base import digest_of_text
from controller.api.records import (
    Block,
    BlockKind,
    Document,
    Evidence,
    Extractor,
    Lines,
    Question,
)

DOCUMENT_ID = "d-0123456789ab"


def cases(rows: Mapping[str, object]) -> list[ParameterSet]:
    """The rows of a table keyed by a sentence, each a tuple of arguments or the one argument."""
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), id=sentence)
        for sentence, row in rows.items()
    ]


def document(text: str = "", document_id: str = DOCUMENT_ID) -> Document:
    return Document(
        id=document_id,
        source_name="django-docs",
        locator="file:docs/ref/settings.txt",
        title="Settings",
        content_type="text/x-rst",
        charset="utf-8",
        bytes_digest=digest_of_text(text),
        text_digest=digest_of_text(text),
        bytes=len(text.encode()),
        characters=len(text),
        extractor=Extractor(name="rest", version="1"),
        origin_key="django",
        priority=50,
    )


def blocks_of(
    *pieces: str | tuple[BlockKind, str], headings: Sequence[str] = ("Settings",)
) -> tuple[Block, ...]:
    """Blocks that follow each other, each one line of its file; a bare text is a paragraph."""
    blocks: list[Block] = []
    for line, piece in enumerate(pieces, start=1):
        kind, text = (BlockKind.PARAGRAPH, piece) if isinstance(piece, str) else piece
        start = blocks[-1].end + 1 if blocks else 0
        blocks.append(
            Block(
                start=start,
                end=start + len(text),
                kind=kind,
                heading_path=tuple(headings),
                lines=Lines(first=line, last=line),
                text=text,
            )
        )
    return tuple(blocks)


def evidence_of(
    *pieces: str | tuple[BlockKind, str],
    headings: Sequence[str] = ("Settings",),
    document_id: str = DOCUMENT_ID,
) -> Evidence:
    blocks = blocks_of(*pieces, headings=headings)
    text = "\n".join(block.text for block in blocks)
    return Evidence(document=document(text, document_id), blocks=blocks)


def question(text: str) -> Question:
    return Question(id="q", text=text)
