"""Read JSON strictly: no key twice, no NaN, no half characters, no depth without end. Every fault has its place."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pipeline.parsed import to_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.parsed import Remarks

MAX_DEPTH = 64
"""Levels of lists and objects; a scenario has eight."""
CODE = "json_malformed"
_SHOWN = 80
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_INT_DIGITS = 400
"""An integer of more digits is no finite float, and Python would refuse to read it without saying where it stands."""

Place = tuple[Any, ...]
"""Where a value stands: () is the document, (parent, key) a part. Becomes text only when there is something to say."""


class _Literal(str):
    """NaN, Infinity or -Infinity, kept until its place is known."""

    __slots__ = ()


def read(data: bytes, remarks: Remarks) -> tuple[Any, int]:
    """The value and how many scalars it has (at least 1); (None, 1) and remarks where it is no JSON."""
    twice: dict[int, str] = {}
    try:
        text = to_utf8(data).decode()
        value = json.loads(text, object_pairs_hook=_reader(twice), parse_constant=_Literal, parse_int=_whole)
        scalars = _scalars(value)
    except UnicodeDecodeError as error:
        said = f"found byte {error.object[error.start]:#04x} at {error.start}, expected UTF-8, or UTF-16 with its mark"
        remarks.add("error", CODE, f"{said}; save the document as UTF-8")
    except json.JSONDecodeError as error:
        found = repr(error.doc[error.pos : error.pos + 20]) if error.pos < len(error.doc) else "the end"
        message = f"found {found} at column {error.colno}, not JSON: {error.msg}; correct the document"
        remarks.add("error", CODE, message, error.lineno)
    except RecursionError:
        message = f"found lists and objects more than {MAX_DEPTH} deep, expected at most that; correct the document"
        remarks.add("error", CODE, message)
    else:
        if twice or any(name in text for name in ("NaN", "Infinity")) or _HALF.search(text):
            before = len(remarks.issues)
            _refuse(value, twice, remarks)
            if len(remarks.issues) > before:
                return None, scalars
        return value, scalars
    return None, 1


def _reader(twice: dict[int, str]) -> Any:
    kept = []  # an identity stays one as long as its object lives

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) != len(found):
            seen: set[str] = set()
            twice[id(made)] = next(key for key, _ in found if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            kept.append(made)
        return made

    return pairs


def _whole(text: str) -> int | float:
    return int(text) if len(text) < _INT_DIGITS else float(text)


def _scalars(value: Any) -> int:
    """How many scalars a value has, level by level: no depth of the document is one of the program."""
    count, level = 0, [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                below.extend(part.values())
            elif isinstance(part, list):
                below.extend(part)
            else:
                count += 1
        if not below:
            return max(count, 1)
        level = below
    raise RecursionError


def _refuse(document: Any, twice: dict[int, str], remarks: Remarks) -> None:
    for place, value in _parts(document):
        if isinstance(value, _Literal):
            message = f"found {value} at {pointer(place)}, expected a number of JSON; leave the key out if it is unknown"
        elif isinstance(value, dict) and id(value) in twice:
            message = f"found key {shown(twice[id(value)])} twice at {pointer(place)}, expected it once; remove one"
        elif any(map(is_half, [value, *value] if isinstance(value, dict) else [value])):
            message = f"found half of a character (a lone surrogate) at {pointer(place)}, expected whole ones; correct it"
        else:
            continue
        remarks.add("error", CODE, message, None, pointer(place))


def _parts(document: Any) -> Iterator[tuple[Place, Any]]:
    """Every value with its place, in the order of the document."""
    rest: list[tuple[Place, Any]] = [((), document)]
    while rest:
        place, value = rest.pop()
        yield place, value
        inner: Iterable[tuple[Any, Any]] = ()
        if isinstance(value, dict):
            inner = value.items()
        elif isinstance(value, list):
            inner = enumerate(value)
        rest.extend(reversed([((place, key), part) for key, part in inner]))


def is_half(value: Any) -> bool:
    """Whether a text holds a lone surrogate, which UTF-8 cannot hold."""
    if not isinstance(value, str) or value.isascii():
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


def pointer(place: Place) -> str:
    """JSON pointer (RFC 6901) of a place."""
    parts: list[str] = []
    while place:
        place, key = place
        parts.append(str(key).replace("~", "~0").replace("/", "~1"))
    return _whole_text("".join(f"/{part}" for part in reversed(parts)))


def shown(value: Any) -> str:
    """A value as a message names it: short, on one line, and text that every file can hold."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, (dict, list, tuple)):
        what = "a list" if not isinstance(value, dict) else "an object"
        return f"{what} of {len(value)}"
    if isinstance(value, int) and abs(value) >= 10**_SHOWN:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        return _whole_text(repr(value[:_SHOWN]) + ("..." if len(value) > _SHOWN else ""))
    return _whole_text(repr(value)[:_SHOWN])


def _whole_text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def has_format(head: bytes, name: str) -> bool:
    """Whether the head of a capture is a JSON object that names this format."""
    named = re.compile(rb'"format"\s*:\s*"' + re.escape(name.encode()) + rb'"')
    return head.lstrip()[:1] == b"{" and named.search(head) is not None
