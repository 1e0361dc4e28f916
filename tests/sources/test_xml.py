"""XML and feeds: what becomes of elements, and that nothing beyond the document is looked at."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.sources.readers import (
    DocumentFault,
    FeedEntry,
    UnreadableDocumentError,
    entries_of,
    read_file,
)

Shown = tuple[str, tuple[str, ...], str]


def shown(source: str) -> list[Shown]:
    text = read_file(source.encode(), "a.xml").text
    return [(block.kind.value, block.heading_path, block.text) for block in text.blocks]


STRUCTURES: dict[str, tuple[str, list[Shown]]] = {
    "fields under the names of what they are in": (
        "<settings><server><port>8080</port><host>example.org</host></server></settings>",
        [
            ("Field", ("settings", "server"), "port: 8080"),
            ("Field", ("settings", "server"), "host: example.org"),
        ],
    ),
    "a title is the heading of what stands beside it": (
        "<book><title>Tides</title><chapter><title>Springs</title><para>Long.</para></chapter></book>",
        [
            ("Heading", ("Tides",), "Tides"),
            ("Heading", ("Tides", "Springs"), "Springs"),
            ("Field", ("Tides", "Springs"), "para: Long."),
        ],
    ),
    "mixed text is a paragraph": (
        "<doc><p>Some <b>bold</b>\n text.</p></doc>",
        [("Paragraph", ("doc", "p"), "Some bold text.")],
    ),
    "long text is a paragraph": (
        f"<doc><p>{'word ' * 50}</p></doc>",
        [("Paragraph", ("doc", "p"), ("word " * 50).strip())],
    ),
    "attributes alone": (
        '<doc><setting name="port" value="8080"/><empty/></doc>',
        [("Field", ("doc",), 'setting: name="port" value="8080"')],
    ),
    "namespaces are left out": (
        '<a:doc xmlns:a="urn:a"><a:port>1</a:port></a:doc>',
        [("Field", ("doc",), "port: 1")],
    ),
    "characters by name and by number": (
        "<doc><a>&lt;&#65;&eacute;&nbsp;&amp;</a></doc>",
        [("Field", ("doc",), "a: <Aé &")],
    ),
    "CDATA, comments and instructions": (
        "<doc><a><![CDATA[<b>]]></a><!-- no --><?no no?></doc>",
        [("Field", ("doc",), "a: <b>")],
    ),
    "a document type that lies elsewhere": (
        '<!DOCTYPE doc PUBLIC "-//X" "http://example.org/x.dtd"><doc><a>1</a></doc>',
        [("Field", ("doc",), "a: 1")],
    ),
}


@pytest.mark.parametrize("situation", STRUCTURES)
def test_structure(situation: str) -> None:
    source, expected = STRUCTURES[situation]
    assert shown(f"<?xml version='1.0'?>{source}") == expected


def test_blocks_know_their_lines() -> None:
    source = "\n<?xml version='1.0'?>\n<doc>\n<a>1</a>\n<p>one <b>two</b>\nthree</p></doc>"
    blocks = read_file(source.encode(), "a").text.blocks
    assert [(b.lines.first, b.lines.last) for b in blocks if b.lines] == [(4, 4), (5, 6)]


def laughs(levels: int) -> str:
    entities = "".join(
        f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(levels)
    )
    return f"<?xml version='1.0'?><!DOCTYPE a [{entities}]><a>&l{levels - 1};</a>"


HOSTILE = {
    "a billion laughs": laughs(10),
    "a quadratic blow-up": (
        f"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY x \"{'x' * 100_000}\">]>"
        f"<a>{'&x;' * 10_000}</a>"
    ),
    "a file": (
        "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>"
    ),
    "an address": ("<?xml version='1.0'?><!DOCTYPE a [<!ENTITY x SYSTEM '{url}'>]><a>&x;</a>"),
    "a parameter entity": (
        "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY % x SYSTEM '{url}'> %x;]><a/>"
    ),
    "a document type with both": (
        "<?xml version='1.0'?><!DOCTYPE a SYSTEM '{url}' [<!ENTITY x 'y'>]><a>&x;</a>"
    ),
    "an entity that nobody declares": "<?xml version='1.0'?><a>&undeclared;</a>",
    "an element that does not end": "<?xml version='1.0'?><a><b></a>",
    "nothing": "<?xml version='1.0'?>",
    "two roots": "<?xml version='1.0'?><a/><b/>",
    "an attribute twice": "<?xml version='1.0'?><a b='1' b='2'/>",
    "a control character": "<?xml version='1.0'?><a>&#1;</a>",
}


@pytest.fixture
def requests() -> Iterator[tuple[str, list[str]]]:
    """A server that a document names, and the paths that were asked of it."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/x.dtd", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("situation", HOSTILE)
def test_hostile_documents_are_refused_at_once(
    situation: str, requests: tuple[str, list[str]]
) -> None:
    url, asked = requests
    source = HOSTILE[situation].replace("{url}", url)
    started = time.process_time()
    with pytest.raises(UnreadableDocumentError, match="Malformed") as refused:
        read_file(source.encode(), "a")
    assert refused.value.fault is DocumentFault.MALFORMED
    assert "root:" not in str(refused.value)
    assert time.process_time() - started < 2
    assert asked == []


@pytest.mark.parametrize("source", ["<a>" * 300 + "</a>" * 300, f"<a>{'<b/>' * 200_001}</a>"])
def test_deep_and_endless_documents_are_too_large(source: str) -> None:
    with pytest.raises(UnreadableDocumentError) as refused:
        read_file(f"<?xml version='1.0'?>{source}".encode(), "a")
    assert refused.value.fault is DocumentFault.TOO_LARGE


MARKUP = st.sampled_from(
    ["<a>", "</a>", "<b c='d'/>", "text ", "&amp;", "<![CDATA[", "]]>", "<!--", "-->", "<?p?>", "é"]
)


@settings(deadline=None)
@given(body=st.lists(MARKUP, max_size=40).map("".join))
def test_any_xml_is_read_or_refused(body: str) -> None:
    with suppress(UnreadableDocumentError):
        text = read_file(f"<?xml version='1.0'?><r>{body}</r>".encode(), "a").text
        assert text.text == "\n".join(block.text for block in text.blocks)
        assert all(text.text[b.start : b.end] == b.text for b in text.blocks)


ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="urn:media">
  <title type="html">Harbour &lt;b&gt;news&lt;/b&gt;</title>
  <subtitle>What happens here.</subtitle>
  <link rel="self" href="https://example.org/feed"/>
  <entry>
    <title>The office moves</title>
    <link rel="enclosure" href="https://example.org/a.mp3"/>
    <link rel="alternate" href="https://example.org/moves"/>
    <id>urn:uuid:1</id>
    <published>2026-01-02T03:04:05Z</published>
    <updated>2026-02-03T04:05:06Z</updated>
    <summary>Shorter.</summary>
    <content type="html">&lt;p&gt;In March it &lt;em&gt;moves&lt;/em&gt;.&lt;/p&gt;
      &lt;ul&gt;&lt;li&gt;To the pier.&lt;/li&gt;&lt;/ul&gt;&lt;p hidden&gt;no&lt;/p&gt;</content>
  </entry>
  <entry>
    <title type="text">1 &lt; 2</title>
    <link href="/relative"/>
    <id>urn:uuid:2</id>
    <updated>2026-03-04T05:06:07Z</updated>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>A <b>b</b> &amp; c.</p>
    </div></content>
  </entry>
</feed>"""

RSS = """<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>Harbour news</title><link>https://example.org/</link><description>About it.</description>
<item><title>One</title><link>https://example.org/one</link><guid isPermaLink="false">1</guid>
<pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate><description>Plain &amp;amp; short.</description>
<content:encoded><![CDATA[<p>The whole text of it.</p>]]></content:encoded></item>
<item><title>Two</title><guid>https://example.org/two</guid><description>First.

Second.</description></item>
<item/>
</channel></rss>"""

RSS_1 = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://example.org/"><title>Old news</title></channel>
<item rdf:about="https://example.org/old"><title>Old</title><link>https://example.org/old</link>
<dc:date>2004-01-01</dc:date><description>Text.</description></item></rdf:RDF>"""


def test_an_atom_feed_as_data() -> None:
    first, second = entries_of(ATOM.encode())
    assert first == FeedEntry(
        title="The office moves",
        link="https://example.org/moves",
        id="urn:uuid:1",
        published="2026-01-02T03:04:05Z",
        updated="2026-02-03T04:05:06Z",
        summary="In March it moves.\nTo the pier.",
    )
    assert (second.title, second.link) == ("1 < 2", "/relative")
    assert second.published == "2026-03-04T05:06:07Z"
    assert second.summary == "A b & c."


def test_rss_feeds_as_data() -> None:
    one, two, three = entries_of(RSS.encode())
    assert one == FeedEntry(
        title="One",
        link="https://example.org/one",
        id="1",
        published="Fri, 02 Jan 2026 03:04:05 GMT",
        updated="",
        summary="The whole text of it.",
    )
    assert (two.link, two.summary) == ("https://example.org/two", "First.\nSecond.")
    assert three == FeedEntry("", "", "", "", "", "")
    (old,) = entries_of(RSS_1.encode())
    assert (old.link, old.id, old.published) == (
        "https://example.org/old",
        "https://example.org/old",
        "2004-01-01",
    )


def test_a_feed_as_a_document() -> None:
    reading = read_file(ATOM.encode(), "feed")
    assert (reading.content_type, reading.text.title) == ("application/atom+xml", "Harbour news")
    first = ("Harbour news", "The office moves")
    second = ("Harbour news", "1 < 2")
    assert [(b.kind.value, b.heading_path, b.text) for b in reading.text.blocks] == [
        ("Heading", ("Harbour news",), "Harbour news"),
        ("Paragraph", ("Harbour news",), "What happens here."),
        ("Heading", first, "The office moves"),
        ("Field", first, "Published: 2026-01-02T03:04:05Z"),
        ("Paragraph", first, "In March it moves."),
        ("Item", first, "To the pier."),
        ("Heading", second, "1 < 2"),
        ("Field", second, "Published: 2026-03-04T05:06:07Z"),
        ("Paragraph", second, "A b & c."),
        ("Hidden", first, "no"),
    ]


def test_a_feed_of_the_older_kind_as_a_document() -> None:
    reading = read_file(RSS_1.encode(), "feed")
    assert reading.content_type == "application/rss+xml"
    assert [block.text for block in reading.text.blocks] == [
        "Old news",
        "Old",
        "Published: 2004-01-01",
        "Text.",
    ]


NO_FEEDS = {
    "a page": ("<html><body/></html>", DocumentFault.UNSUPPORTED_TYPE),
    "XML of another kind": ("<settings/>", DocumentFault.UNSUPPORTED_TYPE),
    "prose": ("Not a feed.", DocumentFault.MALFORMED),
    "nothing": ("", DocumentFault.MALFORMED),
    "half a feed": (ATOM[:400], DocumentFault.MALFORMED),
    "a bomb": (laughs(10), DocumentFault.MALFORMED),
}


@pytest.mark.parametrize("what", NO_FEEDS)
def test_what_is_no_feed_is_refused_by_its_class(what: str) -> None:
    source, fault = NO_FEEDS[what]
    with pytest.raises(UnreadableDocumentError) as refused:
        entries_of(source.encode())
    assert refused.value.fault is fault


def test_a_feed_in_another_charset() -> None:
    source = RSS.replace("Harbour", "Häfen").encode("latin-1")
    with pytest.raises(UnreadableDocumentError):
        entries_of(source + b"\xff" * 50)
    assert len(entries_of(b"<?xml version='1.0' encoding='latin1'?>" + source)) == 3
    assert len(entries_of(source, "iso-8859-1")) == 3
