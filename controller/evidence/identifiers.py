"""The identifiers of a work that stand in a URL: its DOI and its arXiv id. Pure.

Two pages with one of them in common are near-duplicates: the same work at two places.
"""

from __future__ import annotations

import re
from typing import Final

_URL: Final = re.compile(
    r"https?://(?:[^/?#]*@)?([^/?#:]+)[^/?#]*([^?#]*)(?:\?([^#]*))?.*", re.IGNORECASE | re.DOTALL
)
_ESCAPES: Final = re.compile("(?:%[0-9A-Fa-f]{2})+")

_DOI: Final = re.compile(r"(?:^|/|doi:)(10\.[0-9]{4,9}/[(a-z0-9][-._;()/:<>a-z0-9]*)")
_DOI_PARAMETERS: Final = frozenset({"doi", "id"})
_VIEW: Final = re.compile(
    r"(/(abstract|abs|epdf|full|fulltext|full-text|html|meta|pdf|pdfdirect|references|summary)"
    r"|\.(full|html?|pdf|xml))+$"
)
"""What publishers put behind a DOI to say which view of the work is meant."""

_ARXIV_HOST: Final = re.compile(r"(?:[a-z0-9-]+\.)*arxiv\.org|ar5iv\.org")
_ARXIV_PATH: Final = re.compile(
    r"/(?:abs|pdf|html|ps|e-print|format|src|tb)/"
    r"([0-9]{4}\.[0-9]{4,5}|[a-z-]+(?:\.[a-z]{2})?/[0-9]{7})(?:v[0-9]+)?(?:\.pdf)?/?"
)
_ARXIV_DOI: Final = re.compile(r"10\.48550/arxiv\.(.+?)(?:v[0-9]+)?")


def work_identifiers(url: str) -> frozenset[str]:
    """Return the identifiers in a URL, such as `doi:10.1000/182` and `arxiv:2101.00001`.

    A DOI is taken from the path, or from a parameter `doi` or `id` that is one; an arXiv id, which
    loses its version, from a page of arXiv or from arXiv's own DOIs.
    """
    parsed = _URL.fullmatch(url)
    if parsed is None:
        return frozenset()
    host, path, query = (_decoded(part or "").lower() for part in parsed.groups())
    found: set[str] = set()
    for text in (path, *_values(query)):
        for match in _DOI.finditer(text):
            found |= _of_doi(match[1])
    if _ARXIV_HOST.fullmatch(host) and (arxiv := _ARXIV_PATH.fullmatch(path)) is not None:
        found.add(f"arxiv:{arxiv[1]}")
    return frozenset(found)


def _of_doi(text: str) -> set[str]:
    doi = _VIEW.sub("", text.rstrip("./;:")).rstrip("./;:")
    if (arxiv := _ARXIV_DOI.fullmatch(doi)) is not None:
        return {f"doi:10.48550/arxiv.{arxiv[1]}", f"arxiv:{arxiv[1]}"}
    return {f"doi:{doi}"}


def _values(query: str) -> list[str]:
    parameters = (parameter.partition("=") for parameter in query.split("&"))
    return [value for name, _, value in parameters if name in _DOI_PARAMETERS]


def _decoded(text: str) -> str:
    """Return a text without percent escapes; what they spell that is no UTF-8 stays out."""

    def spelt(match: re.Match[str]) -> str:
        return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")

    return _ESCAPES.sub(spelt, text)
