"""The words of every prompt: one versioned text file each, read once, when this package is loaded.

They are part of the code: who changes one raises the `version` in its first line, which each call
records (`promptTemplate`), so that a journal says what its model was told. A text's placeholders
are filled by `loop.exchanges`; what is filled in is never read for placeholders again.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Final

_FIRST_LINE: Final = "version: "


@dataclass(frozen=True)
class PromptTemplate:
    """A prompt with placeholders: its name, the version of its wording, and the wording."""

    name: str
    version: int
    text: str

    def __str__(self) -> str:
        return f"{self.name}/{self.version}"

    def filled(self, **values: str) -> str:
        """Return the text with each placeholder filled.

        Raises:
            KeyError: a placeholder has no value.
        """
        return Template(self.text).substitute(values)


def read(name: str) -> PromptTemplate:
    """Return the prompt of this name.

    Raises:
        ValueError: its first line does not say which version it is.
    """
    content = files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    first, _, text = content.partition("\n")
    if not first.startswith(_FIRST_LINE):
        raise ValueError(f"the prompt {name} must begin with a line such as `version: 1`")
    return PromptTemplate(name, int(first.removeprefix(_FIRST_LINE)), text.strip())


INSTRUCTIONS: Final = read("instructions")
PLAN: Final = read("plan")
PLAN_TOPIC: Final = read("plan-topic")
PLANNING_TURN: Final = read("planning-turn")
REFINE: Final = read("refine")
EXTRACT: Final = read("extract")
PROPOSE: Final = read("propose")
DRAFT: Final = read("draft")
REVIEW: Final = read("review")
SUMMARIZE: Final = read("summarize")
