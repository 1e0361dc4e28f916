"""Wordings of true sentences: honest ones, which should pass, and lies, none of which may.

`python -m tests.evidence.paraphrases` prints how many of each kind the verifier accepts; with a
folder, it makes them of the sentences of the text files below it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from controller.api.records import FactKind, Verdict
from controller.evidence.polar_words import words_for
from controller.evidence.predicates import (
    Passage,
    check_anchors,
    check_coverage,
    check_polarity,
)
from controller.evidence.sentences import sentences
from controller.evidence.soft import is_open
from controller.evidence.tokens import stem, stop_words
from tests.evidence.recorded import blocks_of

WRITTEN: Final = """
The lamp is not dimmed by default, and its first level is 40 lumens.
The default of POWER_SAVE is False, which keeps every lamp on.
The ballast must be replaced at least once after 8000 hours of use.
At most 12 lamps can be connected to one transformer.
The colour temperature of the lamp increases after 20 minutes.
Philips made the first lamp of this series in March 1998.
The timer switches the lamp off after 90 seconds unless the sensor sees a person.
Only the owner of a room may read the log of its lamps.
The lamp does not need a transformer when it is connected to 230 V mains.
A dimmer without a neutral wire cannot be used with these lamps.
The remote control is enabled by default and can be disabled in the menu.
The sensor is disabled by default.
A broken lamp is never repaired; it is replaced by a new one.
The efficiency of the lamp is 85 percent at 25 degrees.
The driver sends the measured values to the gateway every 30 seconds.
The gateway stores more than 500 values before it deletes the oldest ones.
The upper limit of the current is 700 milliamperes in normal operation.
Guests are allowed to change the brightness, but they are forbidden to add lamps.
The name of the lamp is optional and has 32 characters at most.
The serial number is required for every repair.
The lamp is included in the price of the starter set.
Neither the gateway nor the lamp keeps the password.
The firmware is encrypted before it is sent to the lamp.
The battery of the remote control lasts up to 24 months.
Version 2.1 of the gateway supports Zigbee and drops Bluetooth.
The connection to the server is closed if no value arrives for 5 minutes.
The minimum distance between two lamps is 40 centimetres.
The maximum temperature of the housing is 75 degrees.
The lamp blinks twice when it has joined the network successfully.
All lamps except the outdoor models are sold with a plug.
The guarantee ends three years after the purchase.
Older remote controls are not compatible with the new gateway.
The light is slowly reduced before the lamp is switched off.
The gateway does not send the password to the server because it is secret.
A scene simply contains the brightness of each lamp in a room.
The installer should always switch the power off before opening the housing.
The value of FADE_TIME is None, so that the lamp reacts immediately.
Siemens delivers the transformer, and Osram delivers the lamps.
The download takes 4 MB of memory and about 10 seconds.
The lower shelf holds fewer lamps than the upper one.
The price was reduced by 15 % in 2019.
The gateway limits each user to 100 requests per second.
Faults are written to the log, which is read by the service team.
The lamp is absent from the list until it has been activated.
"""

FROM_OTHER_TESTS: Final = """
A savepoint is a marker within a transaction that enables you to roll back part of a transaction.
Set this to True to wrap each view in a transaction on this database.
The default value of False keeps autocommit, the behaviour of the database itself.
In release 1 the default of SETTING_0 is 10 requests.
Its default value is False, so that 1,000 requests cost nothing.
"""

MOST_SENTENCES: Final = 400
"""How many sentences of a folder are taken, at even distances."""

HEADINGS: Final = ("Manual", "Lamps")


class Truth(NamedTuple):
    """A sentence, and the quote that it stands in."""

    sentence: str
    quote: str


class Wording(NamedTuple):
    """What somebody makes of a sentence, and how."""

    how: str
    claim: str
    truth: Truth


def truths(text: str) -> list[Truth]:
    """Return the sentences of some lines, each in a quote with the one before and after it."""
    lines = [line for line in text.splitlines() if line]
    return [Truth(line, " ".join(lines[max(0, at - 1) : at + 2])) for at, line in enumerate(lines)]


TRUTHS: Final = [*truths(WRITTEN), *truths(FROM_OTHER_TESTS)]


def verdicts_on(wording: Wording) -> list[Verdict]:
    """Return what the predicates say of a wording that a claim's words can fail."""
    quote = wording.truth.quote
    passages = [Passage(quote, blocks_of(quote, headings=HEADINGS))]
    return [
        check_anchors(wording.claim, passages),
        check_coverage(wording.claim, FactKind.PARAPHRASE, passages, {}),
        check_polarity(wording.claim, passages, {}),
    ]


def passes(wording: Wording) -> bool:
    return all(verdict.passed for verdict in verdicts_on(wording))


def made(makers: dict[str, Callable[[str], Iterator[str]]], truth: Truth) -> Iterator[Wording]:
    """Yield what each maker makes of a sentence, each wording once, and never the sentence."""
    for how, make in makers.items():
        for claim in dict.fromkeys(make(truth.sentence)):
            tidy = re.sub(r" {2,}", " ", claim).replace(" .", ".").strip()
            tidy = tidy[:1].upper() + tidy[1:]
            if tidy != truth.sentence:
                yield Wording(how, tidy, truth)


def lies(truth: Truth) -> Iterator[Wording]:
    """Yield wordings of a sentence that say something else: one thing is changed in each."""
    return made(LIES, truth)


def honest(truth: Truth) -> Iterator[Wording]:
    """Yield wordings of a sentence that say no more than it does."""
    return made(HONEST, truth)


def _each(pattern: str, sentence: str, *replacements: str) -> Iterator[str]:
    """Yield a sentence with each match replaced by each replacement, one at a time."""
    for match in re.finditer(pattern, sentence):
        for replacement in replacements:
            yield sentence[: match.start()] + match.expand(replacement) + sentence[match.end() :]


def _swaps(pairs: str, sentence: str) -> Iterator[str]:
    for pair in pairs.split():
        one, other = (side.replace("_", " ") for side in pair.split("/"))
        for this, that in ((one, other), (other, one)):
            yield from _each(rf"\b{this}\b", sentence, that)
            yield from _each(rf"^{this.capitalize()}\b", sentence, that.capitalize())


def _other_number(sentence: str) -> Iterator[str]:
    for match in re.finditer(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)", sentence):
        number = match[0].replace(",", "")
        others = {f"{number}0", f"1{number}", str(int(float(number)) + 1), "37", number[::-1]}
        for other in sorted(others - {number, match[0]}):
            yield sentence[: match.start()] + other + sentence[match.end() :]
    yield from _swaps("one/four two/seven three/nine twice/once first/third", sentence)


def _denial_dropped(sentence: str) -> Iterator[str]:
    yield from _each(r"\b(?:not|never) ", sentence, "")
    yield from _each(r"\bcannot\b", sentence, "can")
    yield from _each(r"\bwithout\b", sentence, "with")
    yield from _each(r"\bno\b", sentence, "a", "any")
    if " nor " in sentence:
        yield sentence.replace("Neither", "Both").replace(" nor ", " and ")


_AUXILIARY: Final = r"\b(?:is|are|was|can|may|must|should|will|has|does|do)\b(?! not|')"


def _denial_added(sentence: str) -> Iterator[str]:
    yield from _each(_AUXILIARY, sentence, r"\g<0> not", r"\g<0> never", r"\g<0> no longer")
    yield from _each(r"^(?:The|A|All|Its)\b", sentence, "No", "None of the")


def _boolean(sentence: str) -> Iterator[str]:
    yield from _swaps("True/False None/True None/False enabled/disabled", sentence)
    yield from _each(r"\bswitch(\w*) (.*?)off\b", sentence, r"switch\1 \2on")


def _name(sentence: str) -> Iterator[str]:
    names = r"\b(?:Philips|Siemens|Osram|Zigbee|Bluetooth|POWER_SAVE|FADE_TIME|SETTING_0)\b"
    yield from _each(names, sentence, "Oracle", "Toshiba", "Ada Lovelace", "POWER_LIMIT")
    yield from _each(r"(?<= )March\b", sentence, "April")
    yield from _each(r"^(?:The|A) (?:lamp|gateway|driver|sensor)\b", sentence, "Toshiba")


def _unit(sentence: str) -> Iterator[str]:
    units = "seconds minutes hours months years milliseconds MB GB percent degrees centimetres"
    for unit in units.split():
        others = [other for other in units.split() if other not in {unit, "degrees"}]
        yield from _each(rf"\b{unit}\b", sentence, *others)
    yield from _each(r"per second", sentence, "per minute", "per hour")
    yield from _each(r"(?<=\d) %", sentence, " euros", " seconds")


def _direction(sentence: str) -> Iterator[str]:
    yield from _swaps(
        "more/less fewer/more before/after at_least/at_most minimum/maximum first/last "
        "increases/decreases reduced/increased upper/lower oldest/newest older/newer new/old "
        "above/below read/written sends/receives encrypted/decrypted closed/opened "
        "included/excluded allowed/forbidden required/optional connected/disconnected "
        "supports/drops absent/present activated/deactivated compatible/incompatible "
        "successfully/unsuccessfully",
        sentence,
    )
    yield from _each(r"\bup to\b(?= \d)", sentence, "at least", "more than")


def _bound_lost(sentence: str) -> Iterator[str]:
    yield from _each(r"(?i)\b(?:at least|at most|up to(?= \d)|more than|only) ", sentence, "")
    yield from _each(r" unless [^.]*| except (?:\w+ ){3}", sentence, " ")
    if not re.search(r"(?i)at least|at most|up to|more than|limit", sentence):
        yield from _each(r"(?<= )(?=\d+ \w+)", sentence, "at least ", "up to ", "only ")


UNINFLECTED: Final = (
    stop_words("en")
    | words_for("en").negators
    | words_for("en").exclusive
    | words_for("en").exceptions
    | words_for("en").hedges
    | {"least", "ones", "minimum", "maximum"}
)
"""Words that have no other form."""

LIES: Final[dict[str, Callable[[str], Iterator[str]]]] = {
    "a number changed": _other_number,
    "a denial dropped": _denial_dropped,
    "a denial added": _denial_added,
    "a boolean flipped": _boolean,
    "a name swapped": _name,
    "a unit changed": _unit,
    "a direction flipped": _direction,
    "a bound lost or invented": _bound_lost,
}


def _adverb_dropped(sentence: str) -> Iterator[str]:
    adverbs = "simply slowly immediately successfully always also itself by_default"
    for adverb in adverbs.split():
        yield from _each(rf" ?\b{adverb.replace('_', ' ')}\b", sentence, "")


def _reordered(sentence: str) -> Iterator[str]:
    body = sentence.rstrip(".")
    joint = re.search(r",? (?=(?:when|if|because|before|until|after|unless) )", body)
    if joint:
        main, clause = body[: joint.start()], body[joint.end() :]
        yield f"{clause}, {main[0].lower()}{main[1:]}."
    phrase = re.search(r" (in \w+ \w+|by default|at 25 degrees|in 2019|in a room)$", body)
    if phrase:
        yield f"{phrase[1]}, {body[0].lower()}{body[1 : phrase.start()]}."


def _inflected(sentence: str) -> Iterator[str]:
    for match in re.finditer(r"(?<![\w'\"./(_-])[a-z]{4,}(?![\w'\"()/_-]|\.\w)", sentence):
        word = match[0]
        if word in UNINFLECTED:
            continue
        for other in (f"{word}s", word.removesuffix("s"), f"{word}ing"):
            if other != word and stem(other) == stem(word):
                yield sentence[: match.start()] + other + sentence[match.end() :]
                break


def _function_words(sentence: str) -> Iterator[str]:
    yield from _each(r"\b(?:The|A)\b", sentence, "Each", "This")
    yield from _each(r"\bthe\b", sentence, "a", "this")
    yield from _each(r"\bwhen\b", sentence, "if", "whenever")
    yield from _each(r"\bis\b", sentence, "will be", "was")


def _other_form(sentence: str) -> Iterator[str]:
    yield from _each(r"(\d),(\d)", sentence, r"\1\2")
    yield from _each(r"\bpercent\b", sentence, "%")
    yield from _each(r" %", sentence, " percent")
    yield from _each(r"(?<= )three(?= )", sentence, "3")
    yield from _each(r"\b(is|does|must|can) not\b", sentence, r"\1n't")
    yield from _each(r"\bcannot\b", sentence, "can not", "can't")
    yield from _each(r"(?i)\bat least\b", sentence, "no less than", "not less than")
    yield from _each(r"(?i)\bat most (?=\d)", sentence, "no more than ", "up to ")
    yield from _each(r"\bunless\b", sentence, "except if")
    yield from _each(r"\bOnly\b", sentence, "Solely")


def _clause_dropped(sentence: str) -> Iterator[str]:
    yield from _each(r",? (?:which|so that|because|; it) [^.]*", sentence, "")
    yield from _each(r";[^.]*", sentence, "")
    yield from _each(r", and [^.]*", sentence, "")


HONEST: Final[dict[str, Callable[[str], Iterator[str]]]] = {
    "an adverb dropped": _adverb_dropped,
    "clauses in another order": _reordered,
    "a word inflected": _inflected,
    "function words changed": _function_words,
    "the same in another form": _other_form,
    "a clause dropped": _clause_dropped,
}


def _sentences_below(folder: Path) -> list[Truth]:
    """Return sentences of text files, each in a quote with its neighbours in its paragraph."""
    found = []
    for path in sorted(folder.rglob("*.txt")):
        text = path.read_text(encoding="utf-8", errors="replace")
        for paragraph in re.split(r"\n\s*\n", text):
            plain = re.sub(r":\w+:`~?\.?([^`<]*?)(?: <[^>]*>)?`|``", r"\1", paragraph)
            plain = " ".join(plain.split())
            if not re.fullmatch(r"[A-Z][^|<>\\={}]{60,600}\.", plain):
                continue
            spans = sentences(plain)
            for at, (start, end) in enumerate(spans):
                quote = plain[spans[max(0, at - 1)][0] : spans[min(len(spans), at + 2) - 1][1]]
                if 40 <= end - start <= 240 and len(quote) <= 600:
                    found.append(Truth(plain[start:end], quote))
    return found


def main() -> None:
    """Print, for each kind of wording, how many there are and how many pass."""
    folders = [Path(argument) for argument in sys.argv[1:]]
    found = [t for folder in folders for t in _sentences_below(folder)] if folders else TRUTHS
    found = found[:: -(-len(found) // MOST_SENTENCES)]
    _say(f"{len(found)} sentences")
    for title, maker in (("honest", honest), ("lies", lies)):
        tried: Counter[str] = Counter()
        passed: Counter[str] = Counter()
        left_open = 0
        for wording in (w for truth in found for w in maker(truth)):
            tried[wording.how] += 1
            if passes(wording):
                passed[wording.how] += 1
                left_open += is_open(wording.claim, [(wording.truth.quote, *HEADINGS)])
                if maker is lies:
                    _say(f"    {wording.claim}\n        of {wording.truth.sentence}")
        _say(f"{title}: {passed.total()} of {tried.total()} pass, {left_open} need a soft check")
        for how, count in tried.items():
            _say(f"  {how}: {passed[how]} of {count}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
