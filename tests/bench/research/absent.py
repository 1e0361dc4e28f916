"""Stratum D: names that are provably nowhere in the corpus, real ones and invented ones.

Of 50 real settings every mention is taken out of a copy of Django's documentation, the entry and
each line that names it; 50 more are made of the halves of real names. A plain search through the
bytes of all files shows, for both, that none of them is there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.bench.research.corpora import REDUCED
from tests.bench.research.questions import Question
from tests.bench.research.settings import SETTINGS_PAGE, entries_of

EACH: Final = 50
"""How many real names are taken out, and how many are invented."""

_WORD: Final = r"[0-9A-Za-z_]"


def removed_names(folder: Path) -> list[str]:
    """Return the settings that are taken out of a copy of a corpus: a fixed choice of 50."""
    entries = entries_of((folder / SETTINGS_PAGE).read_text("utf-8"))
    names = {entry.name for entry in entries if "_" in entry.name}
    return sorted(names, key=_shuffled)[:EACH]


def invented_names(folder: Path) -> list[str]:
    """Return 50 names that are made of the halves of real ones, and stand nowhere in a corpus."""
    entries = entries_of((folder / SETTINGS_PAGE).read_text("utf-8"))
    names = sorted({entry.name for entry in entries if entry.name.count("_") > 1})
    heads = sorted({name.rpartition("_")[0] for name in names})
    tails = sorted({name.rpartition("_")[2] for name in names})
    candidates = sorted((f"{h}_{t}" for h in heads for t in tails), key=_shuffled)[: 4 * EACH]
    there = mentioned(folder, candidates)
    return [name for name in candidates if name not in there][:EACH]


def reduce(folder: Path) -> None:
    """Take every mention of the chosen settings out of a copy of Django's documentation."""
    names = removed_names(folder)
    page = folder / SETTINGS_PAGE
    text = page.read_text("utf-8")
    for entry in reversed(entries_of(text)):
        if entry.name in names:
            text = text[: entry.start] + text[entry.end :]
    page.write_text(text, "utf-8")
    named = _any_of(names)
    for file in _files(folder):
        lines = file.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if not named.search(line)]
        if len(kept) < len(lines):
            file.write_bytes(b"".join(kept))


def mentioned(folder: Path, names: Iterable[str]) -> set[str]:
    """Return which names stand as words, in any case, in the bytes of a folder's files."""
    by_folded = {name.casefold(): name for name in names}
    named = _any_of(by_folded)
    return {
        by_folded[found.decode().casefold()]
        for file in _files(folder)
        for found in named.findall(file.read_bytes())
    }


def absent_settings(reduced: Path, whole: Path) -> Iterator[Question]:
    """Yield stratum D.

    Args:
        reduced: the corpus that is asked, from which settings were taken out.
        whole: the corpus that it was made from, which names them.

    Raises:
        ValueError: a name is there after all.
    """
    removed, invented = removed_names(whole), invented_names(whole)
    there = mentioned(reduced, [*removed, *invented])
    if there:
        raise ValueError(f"not absent from {reduced}: {', '.join(sorted(there))}")
    for kind, names in (("removed", removed), ("invented", invented)):
        for name in names:
            yield Question(f"D/{kind}/{name}", REDUCED, f"What is the default value of {name}?")


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.rglob("*")) if file.is_file())


def _any_of(names: Iterable[str]) -> re.Pattern[bytes]:
    alternatives = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return re.compile(rf"(?<!{_WORD})(?:{alternatives})(?!{_WORD})".encode(), re.IGNORECASE)


def _shuffled(name: str) -> bytes:
    return hashlib.sha256(f"absent {name}".encode()).digest()
