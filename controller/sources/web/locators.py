"""The one form of a URL by which a document is known: its canonical locator. Pure.

What is dropped says nothing of the document: the fragment, the usual port, and the parameters by
which sites follow readers about. The origin is never another one.
"""

from __future__ import annotations

import re
from typing import Final

import httpx2

from controller.api.errors import UserError
from controller.connections import origin_of
from controller.sources.web.request import LONGEST_URL

_TRACKING: Final = frozenset(
    {
        "_ga", "_gl", "_hsenc", "_hsmi", "_openstat", "dclid", "epik", "fb_action_ids", "fb_ref",
        "fb_source", "fbclid", "gad_source", "gbraid", "gclid", "gclsrc", "igsh", "igshid",
        "li_fat_id", "mc_cid", "mc_eid", "mibextid", "mkt_tok", "msclkid", "oly_anon_id",
        "oly_enc_id", "rb_clickid", "s_cid", "srsltid", "ttclid", "twclid", "vero_conv",
        "vero_id", "wbraid", "wickedid", "yclid", "ysclid",
    }
)  # fmt: skip
"""Parameters that say where a reader comes from; those that begin with `utm_` do as well."""

_ESCAPE: Final = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def canonical_locator(url: str) -> str:
    """Return the canonical form of a URL; that of a canonical form is itself.

    Raises:
        UserError: it is no URL that could be fetched, or its canonical form is too long.
    """
    origin = origin_of(url)
    parsed = httpx2.URL(url)
    path, _, query = parsed.raw_path.decode("ascii").partition("?")
    kept = "&".join(p for p in _normal(query).split("&") if p and not _is_tracking(p))
    usual = str(origin).removesuffix({"http": ":80", "https": ":443"}[origin.scheme])
    locator = usual + _without_dots(_normal(path)) + (f"?{kept}" if kept else "")
    if len(locator) > LONGEST_URL:
        message = f"a URL of {origin} has more than {LONGEST_URL} characters in its canonical form"
        raise UserError(message)
    return locator


def canonical_of_page(url: str, canonical_link: str | None) -> str:
    """Return the canonical locator of a page that may name its own, in `rel=canonical`.

    A page is believed within its own origin alone: else it could pass itself off as another's.

    Args:
        url: where the page was found.
        canonical_link: what it calls its canonical URL, as it stands there; None: nothing.

    Raises:
        UserError: `url` is no URL that could be fetched.
    """
    found = canonical_locator(url)
    if canonical_link is None or not canonical_link.strip():
        return found
    try:
        named = canonical_locator(str(httpx2.URL(found).join(canonical_link.strip())))
    except (UserError, httpx2.InvalidURL, UnicodeError):
        return found
    return named if origin_of(named) == origin_of(found) else found


def _normal(text: str) -> str:
    """Return a text with its escapes in capitals, and none of what needs no escape."""

    def escape(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        return character if character in _UNRESERVED else match[0].upper()

    return _ESCAPE.sub(escape, text)


def _is_tracking(parameter: str) -> bool:
    name = parameter.partition("=")[0].lower()
    return name.startswith("utm_") or name in _TRACKING


def _without_dots(path: str) -> str:
    """Return an absolute path without `.` and `..` (RFC 3986, section 5.2.4)."""
    *folders, last = path.split("/")[1:]
    kept: list[str] = []
    for segment in folders:
        _step(kept, segment)
    _step(kept, last)
    is_folder = last in {"", ".", ".."}
    return "/" + "/".join(kept) + ("/" if is_folder and kept and kept[-1:] != [""] else "")


def _step(kept: list[str], segment: str) -> None:
    if segment == "..":
        del kept[-1:]
    elif segment != ".":
        kept.append(segment)
