"""Answers in the shapes that the servers give, with the fields that they send and nobody reads."""

from __future__ import annotations

from typing import Any, Final
from xml.sax.saxutils import escape

GLOW: Final = "Default: 40 lumens at the lowest dimmer position of the lamp."

Found = tuple[str, str, str]
"""A result: URL, title, and what an engine shows of the page."""

PAGES: Final[tuple[Found, ...]] = (
    ("http://pages.example/glow", "GLOW_LEVEL", "Default: <strong>40 lumens</strong> at the ..."),
    ("http://pages.example/colour", "GLOW_COLOUR", "The colour &amp; its default."),
)


def searxng(*found: Found, unresponsive: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    """Return an answer of SearXNG."""
    results = [
        {
            "url": url,
            "title": title,
            "content": content,
            "publishedDate": None,
            "thumbnail": "",
            "engine": "mediawiki",
            "template": "default.html",
            "parsed_url": ["http", "pages.example", "/glow", "", "", ""],
            "img_src": "",
            "priority": "",
            "engines": ["mediawiki"],
            "positions": [place],
            "score": 1.0 / place,
            "category": "general",
        }
        for place, (url, title, content) in enumerate(found, start=1)
    ]
    return {
        "query": "default GLOW_LEVEL",
        "number_of_results": 0,
        "results": results,
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [list(engine) for engine in unresponsive],
    }


def brave(*found: Found) -> dict[str, Any]:
    """Return an answer of Brave; where it has found nothing, it has no `web` at all."""
    answer: dict[str, Any] = {
        "query": {"original": "default GLOW_LEVEL", "more_results_available": False},
        "mixed": {"type": "mixed", "main": [], "top": [], "side": []},
        "type": "search",
    }
    if found:
        results = [
            {
                "title": title,
                "url": url,
                "is_source_local": False,
                "description": content,
                "page_age": "2025-01-01T00:00:00",
                "profile": {"name": "Pages", "url": url},
                "language": "en",
                "type": "search_result",
                "meta_url": {"scheme": "http", "netloc": "pages.example"},
                "age": "January 1, 2025",
            }
            for url, title, content in found
        ]
        answer["web"] = {"type": "search", "results": results, "family_friendly": True}
    return answer


def brave_limit(*, current: int) -> dict[str, Any]:
    """Return how Brave refuses a request too many: of a second, or of a plan of 2,000 a month."""
    return {
        "id": "5a1f",
        "status": 429,
        "type": "ErrorResponse",
        "error": {
            "id": "5a1f",
            "status": 429,
            "code": "RATE_LIMITED",
            "detail": "Request rate limit exceeded for plan.",
            "meta": {
                "plan": "Free",
                "rate_limit": 1,
                "rate_current": 1,
                "quota_limit": 2000,
                "quota_current": current,
            },
        },
        "time": 1735689600,
    }


def tavily(*found: Found) -> dict[str, Any]:
    """Return an answer of Tavily."""
    results = [
        {"title": title, "url": url, "content": content, "score": 0.9, "raw_content": None}
        for url, title, content in found
    ]
    return {
        "query": "default GLOW_LEVEL",
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": results,
        "response_time": 1.2,
        "request_id": "123e4567-e89b-12d3-a456-426614174111",
    }


def wiki_search(*found: tuple[int, str, str], total: int | None = None) -> dict[str, Any]:
    """Return an answer of MediaWiki's search: pages by number, title and snippet."""
    results = [
        {
            "ns": 0,
            "title": title,
            "pageid": number,
            "size": 512,
            "wordcount": 80,
            "snippet": snippet,
            "timestamp": "2025-01-01T00:00:00Z",
        }
        for number, title, snippet in found
    ]
    hits = len(found) if total is None else total
    return {"batchcomplete": True, "query": {"searchinfo": {"totalhits": hits}, "search": results}}


def wiki_page(number: int, title: str, revision: int, text: str) -> dict[str, Any]:
    """Return an answer of MediaWiki's parser."""
    return {
        "parse": {
            "title": title,
            "pageid": number,
            "revid": revision,
            "redirects": [],
            "text": f'<div class="mw-parser-output">{text}</div>',
            "displaytitle": f'<span class="mw-page-title-main">{title}</span>',
        }
    }


def wiki_error(code: str) -> dict[str, Any]:
    """Return an error of MediaWiki, which it sends with status 200."""
    return {
        "error": {"code": code, "info": f"An error: {code}", "docref": "See api.php for usage."},
        "servedby": "wiki",
    }


def rss(*found: Found) -> bytes:
    """Return an RSS 2.0 feed."""
    items = "".join(
        f"<item><title>{escape(title)}</title><link>{escape(url)}</link>"
        f"<description>{escape(content)}</description>"
        f'<guid isPermaLink="false">{escape(url)}</guid>'
        "<pubDate>Wed, 01 Jan 2025 00:00:00 GMT</pubDate></item>"
        for url, title, content in found
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" '
        'xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>News</title>'
        f"<link>http://feed.example/</link><description>All news</description>{items}"
        "</channel></rss>"
    ).encode()


def atom(*found: Found) -> bytes:
    """Return an Atom feed."""
    entries = "".join(
        f"<entry><id>urn:{escape(url)}</id><title>{escape(title)}</title>"
        f'<link rel="self" href="http://feed.example/entry.xml"/><link href="{escape(url)}"/>'
        f'<updated>2025-01-01T00:00:00Z</updated><summary type="html">{escape(content)}</summary>'
        "</entry>"
        for url, title, content in found
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom">'
        f"<title>News</title><id>urn:news</id><updated>2025-01-01T00:00:00Z</updated>{entries}"
        "</feed>"
    ).encode()


def arxiv(*found: tuple[str, str, str], total: int | None = None) -> bytes:
    """Return a feed of arXiv: preprints by number with version, title and abstract."""
    entries = "".join(
        f"<entry><id>http://arxiv.org/abs/{number}</id><updated>2025-01-02T00:00:00Z</updated>"
        f"<published>2025-01-01T00:00:00Z</published><title>{escape(title)}</title>"
        f"<summary>  {escape(abstract)}\n</summary><author><name>Ada Lovelace</name></author>"
        "<author><name>Emmy Noether</name></author>"
        f'<link href="http://arxiv.org/abs/{number}" rel="alternate" type="text/html"/>'
        f'<link title="pdf" href="http://arxiv.org/pdf/{number}" rel="related"/></entry>'
        for number, title, abstract in found
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">'
        '<link href="http://arxiv.org/api/query?" rel="self" type="application/atom+xml"/>'
        "<title>ArXiv Query: search_query=</title><id>http://arxiv.org/api/cHxbiOd</id>"
        "<updated>2025-01-02T00:00:00-05:00</updated>"
        '<opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
        f"{len(found) if total is None else total}</opensearch:totalResults>"
        '<opensearch:startIndex xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">0'
        f"</opensearch:startIndex>{entries}</feed>"
    ).encode()


def arxiv_error(message: str) -> bytes:
    """Return how arXiv says that a query is wrong: a feed with one entry."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">'
        "<title>ArXiv Query</title><entry>"
        "<id>http://arxiv.org/api/errors#incorrect_id_format</id><title>Error</title>"
        f"<summary>{escape(message)}</summary></entry></feed>"
    ).encode()
