"""Which reader reads a file: its content says so, its name only where that leaves it open."""

from __future__ import annotations

import os
import time
import zipfile
from io import BytesIO

import pytest

from controller.api.records import CharsetSource
from controller.sources.readers import (
    DocumentFault,
    UnreadableDocumentError,
    read_file,
)
from tests.sources.conftest import MakeCorpus
from tests.sources.pdfs import content, document

PDF = document([content(["Some text."])])
PAGE = b"<!DOCTYPE html><html><body><p>Some text.</p></body></html>"
FEED = b"<?xml version='1.0'?><rss version='2.0'><channel><title>T</title></channel></rss>"
ATOM = b"<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title></feed>"
XML = b"<?xml version='1.0'?><settings><port>8080</port></settings>"
JSON = b'{"port": 8080}'
MARKDOWN = b"# Title\n\nSee [the manual](https://example.org/).\n\n```sh\nmake\n```\n"
REST = b"Title\n=====\n\n.. note:: Mind the gap.\n"
TEXT = b"Some words, and no markup at all.\n"

BY_CONTENT = {
    "application/pdf": PDF,
    "text/html": PAGE,
    "application/rss+xml": FEED,
    "application/atom+xml": ATOM,
    "application/xml": XML,
    "application/json": JSON,
    "text/markdown": MARKDOWN,
    "text/x-rst": REST,
}
SUFFIXES = ["", ".txt", ".pdf", ".html", ".json", ".xml", ".md", ".rst", ".jpg", ".PDF"]


@pytest.mark.parametrize("content_type", BY_CONTENT)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_suffix_makes_a_file_what_it_is_not(content_type: str, suffix: str) -> None:
    assert read_file(BY_CONTENT[content_type], f"a{suffix}").content_type == content_type


@pytest.mark.parametrize("content_type", BY_CONTENT)
@pytest.mark.parametrize("header", ["text/plain", "application/octet-stream", "image/png", "junk"])
def test_no_header_makes_a_file_what_it_is_not(content_type: str, header: str) -> None:
    assert read_file(BY_CONTENT[content_type], "a", header).content_type == content_type


OPEN = (
    ("text/plain", "a.md", "text/markdown"),
    ("text/plain", "a.rst", "text/x-rst"),
    ("text/markdown; charset=utf-8", "a", "text/markdown"),
    ("text/x-rst", "a.md", "text/x-rst"),
    (None, "a.txt", "text/plain"),
    ("text/html", "a", "text/plain"),
    ("application/json", "a.json", "text/plain"),
    ("application/pdf", "a.pdf", "text/plain"),
)


@pytest.mark.parametrize(("header", "path", "content_type"), OPEN)
def test_plain_words_are_what_they_are_called(
    header: str | None, path: str, content_type: str
) -> None:
    assert read_file(TEXT, path, header).content_type == content_type


WRITTEN = {
    "prose that begins with a bracket": (b"[Draft] Notes of a meeting.\n", "text/plain"),
    "prose that begins with a brace": (b"{name} is a placeholder.\n", "text/plain"),
    "JSON that is cut off": (b'{"a": 1, ', "text/plain"),
    "a fragment of a page": (b"<p>One.<p>Two.", "text/html"),
    "a fragment with attributes": (b"<div class='a'>One.</div>", "text/html"),
    "a tag in prose": (b"The <p> element begins a paragraph.", "text/plain"),
    "Markdown that begins with HTML": (
        b"<p align='center'>Logo</p>\n\n# Title\n\nText.\n",
        "text/markdown",
    ),
    "a heading and nothing else": (b"# Heading\n\nwords", "text/markdown"),
    "a shell script": (b"#!/bin/sh\nexit 0\n", "text/plain"),
    "JSON Lines": (b'{"a": 1}\n{"a": 2}\n', "application/json"),
    "a PDF after a mark": (b"\xef\xbb\xbf\n" + PDF, "application/pdf"),
    "a PDF after a mail header": (b"X-Sent: today\r\n\r\n" + PDF, "application/pdf"),
    "prose about PDF": (b"A PDF begins with %PDF-1.4, and so on.", "text/plain"),
    "XHTML": (
        b"<?xml version='1.0'?>\n<!-- x -->\n<html xmlns='http://www.w3.org/1999/xhtml'/>",
        "text/html",
    ),
    "reST in a file of Markdown": (b"Title\n=====\n\n.. note:: Text.\n", "text/x-rst"),
    "white space": (b" \n\t\n ", "text/plain"),
}


@pytest.mark.parametrize("situation", WRITTEN)
def test_content_is_told_from_what_looks_like_it(situation: str) -> None:
    data, content_type = WRITTEN[situation]
    assert read_file(data, "a").content_type == content_type


def archive() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archived:
        archived.writestr("word/document.xml", "<w/>")
    return file.getvalue()


BINARIES = {
    "PNG": b"\x89PNG\r\n\x1a\nrest",
    "JPEG": b"\xff\xd8\xff\xe0rest",
    "GIF": b"GIF89a rest of it",
    "ZIP": archive(),
    "gzip": b"\x1f\x8b\x08rest",
    "RTF": b"{\\rtf1 Some text}",
    "PostScript": b"%!PS-Adobe-3.0\n",
    "NUL": b"text\x00text",
    "control": bytes(range(1, 9)) * 40,
}


@pytest.mark.parametrize("kind", BINARIES)
@pytest.mark.parametrize("path", ["a", "a.txt", "a.html", "a.pdf", "a.json"])
def test_binary_files_are_of_no_type_that_is_read(kind: str, path: str) -> None:
    with pytest.raises(UnreadableDocumentError) as refused:
        read_file(BINARIES[kind], path)
    assert refused.value.fault is DocumentFault.UNSUPPORTED_TYPE
    assert not refused.value.bars_absence
    assert kind in str(refused.value) or "binary" in str(refused.value)


def test_an_empty_file_is_a_document_without_text() -> None:
    reading = read_file(b"", "a.html")
    assert (reading.content_type, reading.text.text, reading.text.blocks) == ("text/plain", "", ())


def test_every_single_byte_has_an_outcome() -> None:
    outcomes: dict[str, int] = {}
    for byte in range(256):
        try:
            reading = read_file(bytes([byte]), "a")
        except UnreadableDocumentError as error:
            outcome = error.fault.value
        else:
            outcome = "text" if reading.text.text else "blank"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert outcomes == {"UnsupportedType": 26, "blank": 6, "text": 224}


NAMES = [
    "a\x00b.txt",
    "../../etc/passwd",
    "\udcff\udcfe.txt",
    "ü" * 300,
    "",
    "/",
    ".",
    "a\nb.md",
    "名.pdf",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_will_do(name: str) -> None:
    reading = read_file(TEXT, name)
    assert reading.text.text == TEXT.decode().strip()
    reading.text.title.encode()


async def test_names_in_any_encoding_are_documents(make_corpus: MakeCorpus) -> None:
    names = (b"latin-\xe9.txt", "utf-é.txt".encode(), "日本.txt".encode("euc_jp"))
    observation = await make_corpus({os.fsdecode(name): TEXT for name in names}).observe()
    assert (observation.documents, observation.warnings) == (3, ())


def test_what_named_the_charset_is_recorded() -> None:
    latin = "<html><meta charset=latin1><body>é".encode("latin-1")
    sources = {
        CharsetSource.BYTE_ORDER_MARK: ("é".encode("utf-8-sig"), None),
        CharsetSource.HEADER: (
            "é".encode("koi8-u", "ignore") + b"\xa4",
            "text/plain; charset=koi8-u",
        ),
        CharsetSource.META: (latin, "text/html"),
        CharsetSource.XML_DECLARATION: (
            "<?xml version='1.0' encoding='iso-8859-5'?><a>п</a>".encode("iso-8859-5"),
            None,
        ),
        CharsetSource.DETECTION: (("Привет, это обычный текст. " * 9).encode("cp1251"), None),
        None: ("é".encode(), "text/plain; charset=unheard-of"),
    }
    for source, (data, header) in sources.items():
        assert read_file(data, "a", header).charset_source is source, source


def test_a_header_comes_before_what_the_file_says() -> None:
    data = "<html><meta charset=utf-8><body>привет".encode("koi8-r")
    reading = read_file(data, "a", 'text/html; charset="KOI8-R"')
    assert (reading.charset, reading.text.text) == ("koi8-r", "привет")
    with pytest.raises(UnreadableDocumentError, match="BadCharset") as refused:
        read_file(data, "a")
    assert refused.value.fault is DocumentFault.BAD_CHARSET


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_charsets_are_read_where_they_are_named(encoding: str) -> None:
    data = "words".encode(encoding)
    assert read_file(data, "a", f"text/plain; charset={encoding}").text.text == "words"
    xml = "<?xml version='1.0' encoding='utf-16'?><a>words</a>".encode(encoding)
    assert read_file(xml, "a").text.text == "a: words"


LARGE = {
    "text": b"word " * (9 * 2**20 + 2**19),
    "JSON": b"[" + b"1," * (25 * 2**20) + b"1]",
    "HTML": b"<p>word" * (7 * 2**20),
    "XML": b"<?xml version='1.0'?>" + b"<a/>" * (12 * 2**20),
    "lines": b"word\n" * (9 * 2**20 + 2**19),
    "PDF": PDF + b" " * (50 * 2**20),
}


@pytest.mark.parametrize("kind", LARGE)
def test_fifty_megabytes_are_refused_at_once(kind: str) -> None:
    assert len(LARGE[kind]) > 45 * 2**20
    started = time.process_time()
    with pytest.raises(UnreadableDocumentError) as refused:
        read_file(LARGE[kind], "a")
    assert refused.value.fault is DocumentFault.TOO_LARGE
    assert refused.value.bars_absence
    assert time.process_time() - started < 0.5


MANY = {
    "paragraphs": b"a\n\n" * 1001,
    "elements": b"<!doctype html>" + b"<p>a" * 1001,
    "list items": b"- a\n" * 1001 + b"\n# A\n\n[a](#b)\n",
    "values": b"[" + b"1," * 1000 + b"1]",
    "rows": b"<table>" + b"<tr><td>a" * 1001,
}


@pytest.mark.parametrize("kind", MANY)
def test_too_many_blocks_are_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.sources.readers.text.MAX_BLOCKS", 1000)
    with pytest.raises(UnreadableDocumentError, match="more than 1000") as refused:
        read_file(MANY[kind], "a")
    assert refused.value.fault is DocumentFault.TOO_LARGE
    assert refused.value.bars_absence
