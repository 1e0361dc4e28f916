"""Lines of reStructuredText: indented bodies, adornments, and the shape of a directive."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

_DIRECTIVE: Final = re.compile(
    r"\.\. +(?:\|[^|]+\| +)?([A-Za-z0-9](?:[\w.+-]|:(?!:)){0,60})::(?: +|$)"
)
_OPTION: Final = re.compile(r":([A-Za-z][\w-]*):(?: +|$)")
_LEADING: Final = re.compile(r" *\t[ \t]*")


def is_adornment(line: str) -> bool:
    """Say whether a line consists of one punctuation character, at least twice."""
    return len(line) > 1 and line[0] in _PUNCTUATION and line == line[0] * len(line)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive lines of a file without their common indentation; `first` is the first's number.

    A blank line is the empty string.
    """

    lines: list[str]
    first: int

    @classmethod
    def of(cls, text: str) -> Chunk:
        """Return a file's lines, tabulators at their beginning widened to stops of 8."""
        lines = []
        for line in text.replace("\v", " ").replace("\f", " ").split("\n"):
            if not line or line.isspace():
                lines.append("")
                continue
            if leading := _LEADING.match(line):
                line = leading[0].expandtabs(8) + line[leading.end() :]  # noqa: PLW2901 - the same line, widened
            lines.append(line.rstrip(" \t"))
        return cls(lines, 1)

    def part(self, start: int, end: int | None = None) -> Chunk:
        """Return some of the lines."""
        return Chunk(self.lines[start:end], self.first + start)

    def until_blank(self, at: int) -> int:
        """Return the position of the next blank line, or the end."""
        while at < len(self.lines) and self.lines[at]:
            at += 1
        return at

    def is_blank_or_indented(self, at: int, pattern: re.Pattern[str]) -> bool:
        """Say whether a line may follow the first line of a list item."""
        if at >= len(self.lines) or not self.lines[at]:
            return True
        return self.lines[at][0] == " " or pattern.match(self.lines[at]) is not None

    def indented(self, at: int) -> tuple[Chunk, int]:
        """Return the indented body that begins at a line, and where it ends."""
        end = self._indented_end(at, 1)
        return Chunk(_dedented(self.lines[at:end]), self.first + at), end

    def hanging(self, at: int, indent: int) -> tuple[Chunk, int]:
        """Return the body that begins behind a marker, its lines indented as far as the first."""
        end = self._indented_end(at + 1, indent)
        lines = [line[indent:] for line in self.lines[at:end]]
        return Chunk(lines, self.first + at), end

    def after(self, at: int, indent: int) -> tuple[Chunk, int]:
        """Return the body behind a marker, whatever the common indentation of its lines."""
        end = self._indented_end(at + 1, 1)
        first = self.lines[at][indent:]
        return Chunk([first, *_dedented(self.lines[at + 1 : end])], self.first + at), end

    def _indented_end(self, at: int, indent: int) -> int:
        margin = " " * indent
        end = at
        for index in range(at, len(self.lines)):
            line = self.lines[index]
            if not line:
                continue
            if not line.startswith(margin):
                break
            end = index + 1
        return end


def _dedented(lines: list[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip(" ")) for line in lines if line), default=0)
    return [line[margin:] for line in lines]


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive as written: `.. name:: argument`, options, and the lines below.

    `arguments` are the lines up to the first option or blank line; `body` is what is left.
    """

    name: str
    arguments: tuple[str, ...]
    options: dict[str, str]
    body: Chunk
    first: int
    argument_is_body: Chunk = field(compare=False)

    @property
    def signatures(self) -> tuple[str, ...]:
        """The arguments, one a line, without the backslashes that escape."""
        joined = " ".join(self.arguments) if self.arguments[0].endswith("\\") else None
        lines = self.arguments if joined is None else (joined,)
        return tuple(line.replace("\\", "") for line in lines)

    @property
    def title(self) -> str:
        """The arguments as one element of a heading path."""
        return ", ".join(self.signatures)

    @property
    def has_body(self) -> bool:
        """Whether there is anything below the arguments."""
        return any(self.body.lines)


def parse_directive(chunk: Chunk, at: int) -> tuple[Directive | None, int]:
    """Return the directive that begins at a line, or None, and where the construct ends.

    A comment, a target or a substitution is no directive; an empty comment ends at its line.
    """
    line = chunk.lines[at]
    if line == ".." and (at + 1 == len(chunk.lines) or not chunk.lines[at + 1]):
        return None, at + 1
    match = _DIRECTIVE.match(line)
    if match is None or line.startswith(".. |"):
        return None, chunk.after(at, len(line))[1]
    content, end = chunk.after(at, match.end())
    blank = content.until_blank(0) if content.lines[0] else _blank_after_options(content)
    head = content.lines[:blank]
    option_at = next((i for i, text in enumerate(head) if _OPTION.match(text)), len(head))
    arguments = tuple(text.strip() for text in head[:option_at] if text)
    directive = Directive(
        name=match[1].lower().rpartition(":")[2],
        arguments=arguments,
        options=_options(head[option_at:]),
        body=content.part(blank),
        first=chunk.first + at,
        argument_is_body=Chunk(head[:option_at] + [""] * (blank - option_at), content.first),
    )
    return directive, end


def _blank_after_options(content: Chunk) -> int:
    """Return where the head of a directive without an argument on its line ends.

    Lines right below such a directive are its body, unless they are options.
    """
    at = 1
    while at < len(content.lines) and _OPTION.match(content.lines[at]):
        at += 1
        while at < len(content.lines) and content.lines[at].startswith(" "):
            at += 1
    return at


def _options(lines: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    name = None
    for line in lines:
        if match := _OPTION.match(line):
            name = match[1].lower()
            options[name] = line[match.end() :].strip()
        elif name is not None:
            options[name] = f"{options[name]} {line.strip()}".strip()
    return options
