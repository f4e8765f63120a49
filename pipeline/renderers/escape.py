r"""Text that came from a capture, made safe to show: one function for each kind of place it is shown in.

A capture's author chooses its bytes. What is invisible (controls, bidirectional overrides, zero-width marks) could make
a reader see something else than what is there, so it is written out: U+202E is shown as ``\u{202e}``.
"""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_STRICT_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def printable(text: str, keep: str = "") -> str:
    r"""Write out every character that cannot be seen, except those in `keep`: ESC becomes \u{1b}."""
    if text.isascii() and text.isprintable():  # nearly every text: no look at single characters
        return text
    return "".join(_written_out(char) if char not in keep and _is_invisible(char) else char for char in text)


def csv_cell(text: str) -> str:
    """Put ' before a cell that a spreadsheet would run as a formula; numbers such as -12.5 stay numbers."""
    if text.startswith(_FORMULA_STARTS) and not _STRICT_NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) in _INVISIBLE or _is_noncharacter(ord(char))


def _is_noncharacter(point: int) -> bool:
    # The last two code points of every plane, and 32 in the Arabic block: never text, and forbidden in XML.
    return point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF  # noqa: PLR2004


def _written_out(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"
