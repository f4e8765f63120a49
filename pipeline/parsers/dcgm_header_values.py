"""What macros stand for: numbers, names of others, sums and differences of both. Nothing is evaluated as code.

C puts the text of a macro in place of its name: where B is `1 + 2`, `8 - B` is `8 - 1 + 2`; only parentheses make it
8 - 3. A macro therefore has two numbers: its sum, and that of its first operand, which alone takes a minus before it.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Term(NamedTuple):
    """A number or a name, with its own sign and that of the parentheses around it."""

    outer: int
    sign: int
    operand: int | str
    is_bare: bool
    """Whether no parentheses stand around it."""
    is_first: bool
    """Whether it belongs to the first operand of the sum."""


Terms = tuple[Term, ...]
_Numbers = tuple[int, int]

MAX_ID = 2**31 - 1
_TOKEN = re.compile(
    r"[ \t\r\f\v]*(?:(?P<number>0[xX][0-9a-fA-F]{1,15}|[0-9]{1,18})[uUlL]{0,3}(?![0-9A-Za-z_.])"
    r"|(?P<name>[A-Za-z_][0-9A-Za-z_]*)|(?P<sign>[-+()]))"
)


def _number(text: str) -> int | None:
    """A C integer: decimal, hexadecimal after 0x, octal after 0."""
    base = 16 if text[:2] in ("0x", "0X") else 8 if text.startswith("0") and text.strip("0") else 10
    try:
        return int(text, base)
    except ValueError:
        return None


def terms(value: str) -> Terms | None:
    """Split a value into its terms, parentheses resolved; None when it is anything but such a sum."""
    found: list[Term] = []
    outer, sign, is_operand_next, is_first, place = [1], 1, True, True, 0
    value = value.rstrip()
    while place < len(value):
        if (token := _TOKEN.match(value, place)) is None:
            return None
        place = token.end()
        symbol = token["sign"]
        if symbol is None:
            operand = _number(token["number"]) if token["number"] else token["name"]
            if not is_operand_next or operand is None:
                return None
            found.append(Term(outer[-1], sign, operand, len(outer) == 1, is_first))
            is_operand_next = False
        elif (symbol == "(") != is_operand_next:
            return None
        elif symbol == "(":
            outer.append(outer[-1] * sign)
            sign = 1
        elif symbol == ")":
            if len(outer) == 1:
                return None
            outer.pop()
        else:
            sign, is_operand_next = (1 if symbol == "+" else -1), True
            is_first &= len(outer) > 1
    return tuple(found) if found and len(outer) == 1 and not is_operand_next else None


def only_name(value: Terms | None) -> str | None:
    """The name that a value repeats, or None when it is a number or a sum."""
    if value is None or len(value) != 1:
        return None
    return value[0].operand if isinstance(value[0].operand, str) else None


def resolve(values: Mapping[str, Terms | None], conflicting: frozenset[str] = frozenset()) -> dict[str, int | str]:
    """The number behind every name, or the reason that there is none.

    unparsable: no sum, or one that leads back to itself. not_recorded: rests on a name that is not defined here.
    error: rests on a name that is defined with several values.
    """
    found: dict[str, _Numbers | str] = {}
    waits_for: dict[str, int] = {}
    users: dict[str, list[str]] = defaultdict(list)
    for name, value in values.items():
        needed = {term.operand for term in value or () if term.operand in values}
        waits_for[name] = 0 if name in conflicting else len(needed)
        for other in needed if waits_for[name] else ():
            users[str(other)].append(name)
    ready = deque(name for name, count in waits_for.items() if not count)
    while ready:
        name = ready.popleft()
        found[name] = "error" if name in conflicting else _sum(values[name], found)
        for user in users[name]:
            waits_for[user] -= 1
            if not waits_for[user]:
                ready.append(user)
    known = {name: found.get(name, "unparsable") for name in values}
    return {name: number if isinstance(number, str) else number[0] for name, number in known.items()}


def _sum(value: Terms | None, found: Mapping[str, _Numbers | str]) -> _Numbers | str:
    """Add up, as a whole and the first operand; the first term without a number gives its reason."""
    if value is None:
        return "unparsable"
    total = first = 0
    for outer, sign, operand, is_bare, is_first in value:
        numbers = found.get(operand, "not_recorded") if isinstance(operand, str) else (operand, operand)
        if isinstance(numbers, str):
            return numbers
        whole, leading = numbers
        part = outer * (whole if sign > 0 else whole - 2 * leading)
        total += part
        if is_first:
            first += leading if is_bare else part
    # A sum that no id can be is kept from growing through a chain of doublings.
    return (total, first) if max(abs(total), abs(first)) <= MAX_ID else "unparsable"
