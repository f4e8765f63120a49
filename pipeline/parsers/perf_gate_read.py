"""Reading a foreign JSON document place by place: each value with its type, or a fault that names the place.

A value that is missing or null is None: not said. A value of another type, a time that is not finite or negative, or a
number too large for its column is a fault.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipeline.json_document import to_pointer

if TYPE_CHECKING:
    from pipeline.parsed import Remarks

_SHOWN = 80
_INT32 = 2**31 - 1


class Fault(Exception):  # noqa: N818 - what a record has, not what the program meets
    """A place of the record that is not what the format says."""

    def __init__(self, pointer: str, found: Any, expected: str) -> None:
        super().__init__(f"found {found} at {pointer}, expected {expected}; correct it")
        self.pointer = pointer


def shown(value: Any) -> str:
    """A value as it is shown in a remark."""
    try:
        return repr(value)[:_SHOWN]
    except ValueError:  # Python does not spell out integers of more than 4,300 digits
        return "an integer of thousands of digits"


class Reader:
    """A document and its places (JSON pointers)."""

    def __init__(self, document: dict[str, Any], remarks: Remarks) -> None:
        self.remarks = remarks
        self._known: dict[str, Any] = {"": document}

    @staticmethod
    def join(pointer: str, name: str | int) -> str:
        """The place of a part."""
        return pointer + to_pointer((name,))

    def get(self, pointer: str) -> Any:
        """What stands at a place; None where there is nothing."""
        if pointer in self._known:
            return self._known[pointer]
        above, _, name = pointer.rpartition("/")
        part = self.get(above)
        value = None
        if isinstance(part, dict):
            value = part.get(name.replace("~1", "/").replace("~0", "~"))
        elif isinstance(part, list) and name.isdecimal() and int(name) < len(part):
            value = part[int(name)]
        if isinstance(value, (dict, list)):
            self._known[pointer] = value
        return value

    def object(self, pointer: str) -> dict[str, Any]:
        """An object; empty where there is none."""
        value = self.get(pointer)
        if value is not None and not isinstance(value, dict):
            raise Fault(pointer, shown(value), "an object")
        return value or {}

    def list(self, pointer: str) -> list[Any]:
        """A list; empty where there is none."""
        value = self.get(pointer)
        if value is not None and not isinstance(value, list):
            raise Fault(pointer, shown(value), "a list")
        return value or []

    def text(self, pointer: str) -> str | None:
        """A text; an empty one says nothing."""
        value = self.get(pointer)
        if value is not None and not isinstance(value, str):
            raise Fault(pointer, shown(value), "a text")
        return value or None

    def flag(self, pointer: str) -> bool | None:
        """True or false."""
        value = self.get(pointer)
        if value is not None and not isinstance(value, bool):
            raise Fault(pointer, shown(value), "true or false")
        return value

    def number(self, pointer: str) -> float | None:
        """A finite number of at least zero."""
        return self._finite(pointer, self.get(pointer))

    def numbers(self, pointer: str) -> list[float | None]:
        """A list of numbers; NaN stands as None."""
        found = self.list(pointer)
        return [
            value if type(value) is float and 0 <= value < math.inf else self._finite(f"{pointer}/{at}", value)
            for at, value in enumerate(found)
        ]

    @staticmethod
    def _finite(pointer: str, value: Any) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Fault(pointer, shown(value), "a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number) or number < 0:
            raise Fault(pointer, shown(value), "a finite number of at least 0")
        return number

    def whole(self, pointer: str) -> int | None:
        """A whole number of at least zero; 1695.0 is one."""
        number = self.number(pointer)
        if number is None:
            return None
        if not number.is_integer() or number > _INT32:
            raise Fault(pointer, shown(self.get(pointer)), f"a whole number of at most {_INT32}")
        return int(number)

    def needed(self, pointer: str) -> int:
        """A whole number from 1, which must be there."""
        number = self.whole(pointer)
        if not number:
            raise Fault(pointer, shown(self.get(pointer)), "a whole number from 1")
        return number

    def one_of(self, pointer: str, words: tuple[str, ...], *, is_needed: bool = True) -> Any:
        """One of the words; None where nothing stands and nothing must."""
        value = self.get(pointer)
        if value is None and not is_needed:
            return None
        if not isinstance(value, str) or value not in words:
            raise Fault(pointer, "nothing" if value is None else shown(value), f"one of {', '.join(words)}")
        return value

    def time(self, pointer: str) -> datetime | None:
        """A time with its zone, in UTC."""
        told = self.text(pointer)
        if told is None:
            return None
        try:
            found = datetime.fromisoformat(told)
            if found.tzinfo is None:
                raise ValueError(told)
            return found.astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise Fault(pointer, shown(told), "an ISO 8601 time with its zone") from error


def split_dirty(commit: str | None) -> tuple[str | None, bool | None]:
    """A commit, and whether its tree was changed, as `+dirty` behind it says."""
    if commit is None:
        return None, None
    return commit.removesuffix("+dirty"), commit.endswith("+dirty")
