"""Shapes of JSON documents: which keys an object has and what each may hold.

Nothing is converted: "1980" is no number, true is no number, a key that is not named is refused. Every fault of a
document is told, one at a time, so that a document of a million faults costs no more memory than a good one.
A null says nothing, as a key that is left out.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from pipeline.json_text import is_half, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.json_text import Place

    Answer = tuple[str | None, str] | None
    """None: as expected. Else the code (None: that of the document's shape) and what was expected."""
    Scalar = Callable[[Any], Answer]
    Fault = Callable[[str | None, Place, str, str], None]
    """Told with code, place, what was found, what was expected."""

_MAX_WHOLE = 2**31 - 1
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?([Zz]|[+-][0-9]{2}:[0-9]{2})")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class Object:
    """An object with these keys: those it must have, and those it may have."""

    required: dict[str, Shape] = field(default_factory=dict)
    optional: dict[str, Shape] = field(default_factory=dict)


@dataclass(frozen=True)
class ListOf:
    """A list whose entries all have one shape."""

    entry: Shape


@dataclass(frozen=True)
class MapOf:
    """An object of any keys, whose values are all of one kind."""

    entry: Scalar


if TYPE_CHECKING:
    Shape = Object | ListOf | MapOf | Scalar


def check(shape: Shape, value: Any, place: Place, fault: Fault) -> None:
    """Tell every fault of a value against its shape."""
    if isinstance(shape, ListOf):
        if not isinstance(value, (list, tuple)):
            fault(None, place, shown(value), "a list")
            return
        for at, part in enumerate(value):
            check(shape.entry, part, (place, at), fault)
    elif isinstance(shape, (Object, MapOf)):
        if not isinstance(value, dict):
            fault(None, place, shown(value), "an object")
        elif isinstance(shape, MapOf):
            for key, part in value.items():
                if told := text(key):
                    fault(None, (place, key), f"key {shown(key)}", f"{told[1]} as key")
                check(shape.entry, part, (place, key), fault)
        else:
            _check_keys(shape, value, place, fault)
    elif told := shape(value):
        fault(told[0], place, shown(value), told[1])


def _check_keys(shape: Object, value: dict[Any, Any], place: Place, fault: Fault) -> None:
    for key, part in value.items():
        inner = shape.required.get(key)
        if inner is None:
            inner = shape.optional.get(key)
            if part is None and inner is not None:
                continue
        if inner is None:
            known = ", ".join((*shape.required, *shape.optional))
            fault(None, (place, key), f"key {shown(key)}", f"only the keys {known}")
        else:
            check(inner, part, (place, key), fault)
    for key in shape.required:
        if key not in value:
            fault(None, (place, key), "nothing", f"the key {key!r}")


def text(value: Any) -> Answer:
    """Text that is not empty, nor blank."""
    if isinstance(value, str) and value.strip():
        return (None, "text of whole characters") if is_half(value) else None
    return None, "text that is not empty"


def flag(value: Any) -> Answer:
    """True or false."""
    return None if isinstance(value, bool) else (None, "true or false")


def number(value: Any) -> Answer:
    """A finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None, "a number"
    if not abs(value) <= sys.float_info.max:
        return "not_finite", "a finite number"
    return ("negative", "a number of at least 0") if value < 0 else None


def share(value: Any) -> Answer:
    """A number from 0 to 1."""
    told = number(value)
    if (told is not None and told[0] == "negative") or (told is None and value > 1):
        return "out_of_range", "a number from 0 to 1"
    return told


def whole(value: Any) -> Answer:
    """A whole number that fits its column."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None, "a whole number"
    if value < 0:
        return "negative", "a whole number of at least 0"
    return None if value <= _MAX_WHOLE else ("out_of_range", f"a whole number of at most {_MAX_WHOLE}")


def one_of(*names: str) -> Scalar:
    """One of a closed list of texts."""
    expected = " or ".join(map(repr, names))
    return lambda value: None if isinstance(value, str) and value in names else (None, expected)


def matching(pattern: str, expected: str) -> Scalar:
    """Text that matches a whole pattern."""
    known = re.compile(pattern)
    return lambda value: None if isinstance(value, str) and known.fullmatch(value) else (None, expected)


def time(value: Any) -> Answer:
    """A time with its zone."""
    return None if as_time(value) else (None, "an ISO 8601 time with its zone, in the years 1 to 9999 of UTC")


def as_time(value: Any) -> datetime | None:
    """The time in UTC; None where it is none, has no zone, or UTC has no year for it."""
    if not isinstance(value, datetime) and not (isinstance(value, str) and _TIME.fullmatch(value)):
        return None
    try:
        read = value if isinstance(value, datetime) else datetime.fromisoformat(value.upper())
        return read.astimezone(UTC) if read.tzinfo else None
    except (ValueError, OverflowError):
        return None


def day(value: Any) -> Answer:
    """A day, such as 2026-10-03."""
    return None if as_day(value) else (None, "an ISO 8601 day such as 2026-10-03")


def as_day(value: Any) -> date | None:
    """The day; None where it is none."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) and _DAY.fullmatch(value) else None
    except ValueError:
        return None
