"""Which conditions of the preprocessor enclose a line, as far as DCGM_DEPRECATED is concerned. None is evaluated."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_CONDITION = re.compile(r"#\s*(ifdef|ifndef|if|elif|else|endif)\b(.*)", re.DOTALL)
_GUARD = re.compile(r"\bDCGM_DEPRECATED\b")
# Conditions that hold when old names are switched off.
# Blanks are single by then: runs of them would be tried in every way of sharing them out.
_OFF = re.compile(r"! ?(?:defined ?)?\(? ?DCGM_DEPRECATED\b|\bDCGM_DEPRECATED ?\)? ?(?:== ?0|< ?1)\b")


@dataclass
class _Frame:
    """An open condition: whether the branch now is for old names (None: neither), and what its branches were for."""

    side: bool | None
    seen: set[bool | None]


def _side(word: str, condition: str) -> bool | None:
    """Whether a branch holds the old names (True), what stands in for them (False), or has nothing to do with them."""
    if not _GUARD.search(condition):
        return None
    return not (word == "ifndef" or _OFF.search(" ".join(condition.split())))


@dataclass
class Guards:
    """The conditions that are open."""

    frames: list[_Frame] = field(default_factory=list)
    old: int = 0
    """How many of them are now in the branch of old names."""

    @property
    def is_old(self) -> bool:
        """Whether the line stands in a block of old names."""
        return self.old > 0

    def read(self, code: str) -> None:
        """Follow one directive; an #else or #endif that nothing opened changes nothing."""
        if (match := _CONDITION.match(code)) is None:
            return
        word, condition = match[1], match[2]
        if word.startswith("if"):
            self.enter(_Frame(None, set()), _side(word, condition))
        elif self.frames:
            frame = self.frames.pop()
            self.old -= frame.side is True
            if word == "elif":
                self.enter(frame, _side(word, condition))
            elif word == "else":
                # The rest after "off" is "on", and the other way round; after both it is neither.
                sides = frame.seen - {None}
                self.enter(frame, not sides.pop() if len(sides) == 1 else None)

    def enter(self, frame: _Frame, side: bool | None) -> None:
        """Open a branch."""
        frame.side = side
        frame.seen.add(side)
        self.old += side is True
        self.frames.append(frame)
