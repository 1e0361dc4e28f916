"""Pages that answer 200 and are no document: challenges, consent, login and error pages. Pure.

Nothing of such a page may be cited. It has no status to know it by, only its looks: it is short,
it says one of a few things, and what it asks for is mostly links and buttons. A page that only
speaks of these things is longer, or has less to click.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

SHORTER_THAN: Final = 300
"""A page of so many characters, white space folded, is taken for a document."""

LINKED_SHARE_PERCENT: Final = 30
"""So much of the text of a consent or login page, at least, is links and buttons."""


class SoftFailure(StrEnum):
    """What a page is instead of a document."""

    CHALLENGE = "a challenge to show that a person reads"
    CONSENT = "a request for consent"
    LOGIN = "a request to log in"
    ERROR = "an error page"


_MARKERS: Final[tuple[tuple[SoftFailure, re.Pattern[str]], ...]] = (
    (
        SoftFailure.CHALLENGE,
        re.compile(
            r"\b(just a moment|checking (if the site connection is secure|your browser)"
            r"|verify(ing)? (that )?you are (a )?human|are you a (human|robot)|i'?m not a robot"
            r"|enable javascript( and cookies)? to (continue|proceed|view)|attention required"
            r"|(un)?usual (traffic|activity) from your|ddos protection by|complete the captcha"
            r"|ray id|making sure you'?re not a bot|überprüfen, ob sie ein mensch sind"
            r"|vérifi(er|ez|ons) que vous êtes (un )?humain|verifique que es (un )?humano)\b"
        ),
    ),
    (
        SoftFailure.CONSENT,
        re.compile(
            r"\b(before you continue|accept (all )?(the )?cookies|accept all|reject all"
            r"|we (and our partners )?(use|value|store).{0,40}\b(cookies|privacy)"
            r"|manage (cookie )?(preferences|consent)|your privacy choices"
            r"|bevor sie (zu .{0,30})?fortfahren|(alle )?cookies (akzeptieren|zulassen)"
            r"|alle (akzeptieren|ablehnen)|tout (accepter|refuser)|aceptar (todas|todo|cookies))\b"
        ),
    ),
    (
        SoftFailure.LOGIN,
        re.compile(
            r"\b((log|sign) ?in (to|with|or)|please (log|sign) ?in|forgot(ten)? (your )?password"
            r"|you (must|need to) (be logged|log|sign) ?in|create (an|a new|your) account"
            r"|passwort vergessen|mot de passe oublié|(olvidaste|olvidó) (tu|su) contraseña)"
        ),
    ),
)

_ERROR_BEGINS: Final = re.compile(
    r"(error )?(40[0-9]|410|429|50[0-4])\b.{0,20}\b(not found|error|forbidden|gone|unavailable"
    r"|bad (gateway|request)|unauthorized|too many requests|timeout|time-out|denied)"
    r"|(oops[!,.]? ?)?(the )?page (you (requested|are looking for) )?"
    r"((was |could |can)?not (be )?found|(doesn'?t|does not|no longer) exists?|(is )?not available)"
    r"|not found\b|access denied|forbidden\b|internal server error|service unavailable"
    r"|bad gateway|gateway time-?out|too many requests|seite nicht gefunden|page introuvable"
    r"|página no encontrada"
)
_SPACE: Final = re.compile(r"\s+")


def soft_failure(text: str, clickable: Sequence[str]) -> SoftFailure | None:
    """Say what a page is instead of a document; None: nothing speaks against it.

    Args:
        text: the page's visible text, its title first.
        clickable: the texts of its links and buttons.
    """
    folded = _folded(text)
    if len(folded) >= SHORTER_THAN:
        return None
    if _ERROR_BEGINS.match(folded):
        return SoftFailure.ERROR
    is_linked = sum(len(_folded(c)) for c in clickable) * 100 >= LINKED_SHARE_PERCENT * len(folded)
    for failure, markers in _MARKERS:
        # A challenge has next to nothing to click: a script is meant to answer it.
        if markers.search(folded) and (is_linked or failure is SoftFailure.CHALLENGE):
            return failure
    return None


def _folded(text: str) -> str:
    return _SPACE.sub(" ", text.replace("\u2019", "'")).strip().lower()
