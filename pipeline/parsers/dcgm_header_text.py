"""C text as logical lines: continuation lines joined, comments taken out and kept, strings left alone.

A comment that begins on a line with code before it is `after` that code; one that stands before the code, or on lines
of its own, may document the next line of code. Nothing is evaluated: both sides of an `#if` are read.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate

_TOKEN = re.compile(
    r"(?P<block>/\*.*?(?:\*/|\Z))"
    r"|(?P<line>//[^\n]*)"
    r"|(?P<end>\n)"
    r"""|"(?:\\[^\n]|[^"\\\n])*"?|'(?:\\[^\n]|[^'\\\n])*'?"""
    r"|[^/\"'\n]+|/",
    re.DOTALL,
)
# The shortest closed comment; `/*/` opens one and does not close it.
_CLOSED = 4
# Doxygen marks so a comment that documents what stands before it.
_BACKWARDS = re.compile(r"/(?:\*[*!]|/[/!])<")


@dataclass
class Comment:
    """A comment as written; `//` lines that follow each other are one."""

    is_block: bool
    first: int
    last: int
    texts: list[str]


@dataclass
class Logical:
    """One logical line that has code: the code without comments, and the comments around it."""

    code: str
    line: int
    """Physical line, from 1, of its first character of code."""
    last: int
    before: Comment | None = None
    """The nearest comment before it, with only blank lines between."""
    after: list[Comment] = field(default_factory=list)


@dataclass
class Scanned:
    """The lines with code, and the line on which a comment opens that the file never closes."""

    lines: list[Logical] = field(default_factory=list)
    unclosed: int | None = None


@dataclass
class _Places:
    """Physical line of every position of the text with its continuation lines joined."""

    starts: list[int]

    def line(self, position: int) -> int:
        """Line that the character stands on; a joint of no length belongs to the line below it."""
        return bisect_left(self.starts, position + 1)


def _join(lines: list[str]) -> tuple[str, _Places]:
    """Join lines that end in a backslash with the next, as C does before it looks for anything."""
    pieces = [f"{line}\n" for line in lines]
    for number, line in enumerate(lines[:-1]):
        if line.endswith("\\"):
            pieces[number] = line[:-1]
    return "".join(pieces), _Places(list(accumulate((len(piece) for piece in pieces[:-1]), initial=0)))


@dataclass
class _Scanner:
    """One pass over the tokens; `waiting` is the comment that may document the next line of code."""

    places: _Places
    found: Scanned = field(default_factory=Scanned)
    parts: list[str] = field(default_factory=list)
    line: int = 0
    after: list[Comment] = field(default_factory=list)
    waiting: Comment | None = None

    def text(self, text: str, position: int) -> None:
        """Take code, or blanks before it."""
        if not self.line and (blanks := len(text) - len(text.lstrip())) < len(text):
            self.line = self.places.line(position + blanks)
        self.parts.append(text)

    def comment(self, text: str, position: int, *, is_block: bool) -> None:
        """Take a comment; to the code it is one blank."""
        self.parts.append(" ")
        first, last = self.places.line(position), self.places.line(position + len(text) - 1)
        if is_block and (len(text) < _CLOSED or not text.endswith("*/")):
            self.found.unclosed = first
        if self.line:
            self.after.append(Comment(is_block, first, last, [text]))
        elif _BACKWARDS.match(text):
            self.waiting = None
        elif (above := self.waiting) and not is_block and not above.is_block and above.last + 1 == first:
            above.last = last
            above.texts.append(text)
        else:
            self.waiting = Comment(is_block, first, last, [text])

    def end(self, position: int) -> None:
        """End the logical line; one without code leaves the waiting comment where it is."""
        if self.line:
            code = "".join(self.parts).strip()
            last = self.places.line(position)
            self.found.lines.append(Logical(code, self.line, last, self.waiting, self.after))
            self.waiting, self.line, self.after = None, 0, []
        self.parts = []


def scan(lines: list[str]) -> Scanned:
    """Logical lines of a C text that was split at its newlines."""
    text, places = _join(lines)
    scanner = _Scanner(places)
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "end":
            scanner.end(token.start())
        elif kind is None:
            scanner.text(token[0], token.start())
        else:
            scanner.comment(token[0], token.start(), is_block=kind == "block")
    scanner.end(len(text))
    return scanner.found
