"""What the comment of a field says: its meaning as plain text, a unit, whether the field is deprecated, a number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.parsers.dcgm_header_text import Comment

MAX_MEANING = 2000

_OPENING = re.compile(r"/\*[*!/]*<?")
_STARS = re.compile(r"\A\s*\*+")
_SLASHES = re.compile(r"//+!?<?")
# A line of rulers alone is decoration.
_RULER = re.compile(r"[-=*#/~_+.\s]*")

_UNIT = (
    r"(?:[kKMG]?Hz|(?:[Mm]illi)?[Ww]atts?|m?W|(?:[Mm]illi)?[Jj]oules?|mJ|(?:[kKMG]i?)?[Bb]ytes? per second"
    r"|(?:[KMG]i?)?B(?:/s(?:ec)?|ps)?|(?:[kKMG]i?)?[Bb]ytes?|[KMG]b(?:/s(?:ec)?|ps)"
    r"|[Dd]egrees? (?:C|F|Celsius|Fahrenheit)|Celsius|celsius|°C|C"
    r"|(?:[Nn]ano|[Mm]icro|[Mm]illi)?[Ss]econds?|[num]?secs?|[num]s|[Mm]inutes?|[Hh]ours?|[Dd]ays?"
    r"|[Pp]ercent(?:age)?|%|RPM|rpm|m?V|(?:[Mm]illi)?[Vv]olts?|mA|[Aa]mps?|[Aa]mperes?)"
)
_UNITS = re.compile(
    rf"\b[Ii]n (?:units? of |the )?(?P<said>{_UNIT})(?![\w/%])|(?<!\w)[(\[](?P<set>{_UNIT})[)\]]"
    r"|\b(?P<bare>[num]secs?|[kMG]Hz|m[WJV])\b"
)

_DEPRECATED = re.compile(r"\bdeprecat(?:e|ed|ion)\b", re.IGNORECASE)
# The word then speaks of another field, or denies it.
_NOT_ITSELF = re.compile(
    r"\b(?:not|no longer|never|replac\w+|supersed\w+|instead of|rather than|unlike)\s+(?:the\s+|a\s+|an\s+|now\s+)*"
    r"deprecated\b",
    re.IGNORECASE,
)


def _plain(comment: Comment) -> str:
    """Text of a comment without its comment characters, on one line, whole."""
    if comment.is_block:
        inner = _OPENING.sub("", comment.texts[0], count=1).removesuffix("*/").rstrip("*")
        lines = [_STARS.sub("", line, count=1) for line in inner.split("\n")]
    else:
        lines = [_SLASHES.sub("", text, count=1) for text in comment.texts]
    return " ".join(" ".join(line for line in lines if not _RULER.fullmatch(line)).split())


def meaning(comment: Comment | None) -> str | None:
    """What the comment says, at most 2,000 characters of it; None when there is none or it only draws lines."""
    return (_plain(comment)[:MAX_MEANING].rstrip() or None) if comment else None


def unit_hint(text: str | None) -> str | None:
    """The first unit that a text speaks of, as printed."""
    match = _UNITS.search(text or "")
    return match[match.lastgroup or 0] if match else None


def says_deprecated(comments: list[Comment]) -> bool | None:
    """Whether one of the comments calls the field deprecated; None when there is no comment to say so."""
    texts = [text for text in map(_plain, comments) if text and not text.isdigit()]
    if not texts:
        return None
    return any(_DEPRECATED.search(_NOT_ITSELF.sub(" ", text)) for text in texts)


def number(comments: list[Comment]) -> int | None:
    """The number that is all that a comment beside the definition says."""
    texts = [text for text in map(_plain, comments) if re.fullmatch(r"[0-9]{1,9}", text)]
    return int(texts[0]) if texts else None
