"""Documents of our own in JSON: read strictly, checked against a Pydantic model, faults named by JSON pointer.

Nothing is guessed: duplicate keys, NaN and unknown keys are refused, since a mistyped cap must not vanish. A document
is accepted or refused as a whole; its elements are its scalar values.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import pydantic

from pipeline.parsed import Ledger, Parsed, Remarks, rows_table, to_utf8
from schemas import TABLES, unstamped_schema
from schemas.hashes import canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

_SHOWN = 80
_Model = TypeVar("_Model", bound=pydantic.BaseModel)

Text = Annotated[str, pydantic.Field(strict=True, min_length=1)]
Number = Annotated[float, pydantic.Field(strict=True, ge=0, allow_inf_nan=False)]


class Part(pydantic.BaseModel):
    """A part of a document: unknown keys are refused."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


def parse(
    data: bytes,
    tables: tuple[str, ...],
    rows: Callable[[dict[str, Any], Remarks], dict[str, list[dict[str, Any]]]],
    *,
    is_foreign: bool = False,
) -> Parsed:
    """Read a document and make its tables; one with a fault is refused whole, with every fault named.

    In a foreign format (`is_foreign`) a bare NaN is read as null: its place is remarked and kept in `not_numbers`.
    """
    remarks = Remarks()
    document = _load(data, remarks, is_foreign=is_foreign)
    leaves = 1 if document is None else _leaves(document)
    found = rows(document, remarks) if document is not None else {}
    if remarks.has_errors:
        refused = Ledger(total=leaves, refused=leaves, counted="elements")
        return Parsed({}, remarks.all(), refused, remarks.failure or _first_error(remarks))
    made = {name: table(name, found[name]) for name in tables if found.get(name) or not is_foreign}
    return Parsed(made, remarks.all(), Ledger(total=leaves, rows=leaves, counted="elements"))


def _first_error(remarks: Remarks) -> str:
    return next(issue.code for issue in remarks.issues if issue.severity == "error")


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as the declared table, without the identity of the capture."""
    return rows_table(unstamped_schema(TABLES[name]), rows)


def _load(data: bytes, remarks: Remarks, *, is_foreign: bool) -> dict[str, Any] | None:
    constant = _nan if is_foreign else _constant
    try:
        document = json.loads(to_utf8(data), object_pairs_hook=_pairs, parse_constant=constant)
        if not isinstance(document, dict):
            raise ValueError("the document is not an object")  # noqa: TRY004 - one error for all faults of the text
        if is_foreign and b"NaN" in data:
            document = {key: _without_nan(part, (key,), remarks) for key, part in document.items()}
        _keep(document)
    except json.JSONDecodeError as error:
        remarks.add("error", "json_malformed", f"not JSON: {error.msg}; correct the document", error.lineno)
    except (ValueError, RecursionError) as error:
        said = "it nests too deep" if isinstance(error, RecursionError) else str(error)[:200]
        remarks.add("error", "json_malformed", f"not JSON as expected: {said}; correct the document")
    else:
        return document
    return None


def _keep(document: dict[str, Any]) -> None:
    """Refuse what cannot be kept as UTF-8: a lone surrogate."""
    try:
        canonical_json(document)
    except UnicodeError as error:
        raise ValueError("a text holds half a character (a lone surrogate)") from error
    except ValueError:
        canonical_json(_without_infinity(document))


def _without_infinity(value: Any) -> Any:
    """1e999 reads as infinity: the model refuses it by its place, and canonical JSON must not stumble before."""
    if isinstance(value, dict):
        return {key: _without_infinity(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_infinity(part) for part in value]
    return 0 if value in (float("inf"), float("-inf")) else value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
        raise ValueError(f"key {twice[:_SHOWN]!r} occurs twice in one object")
    return made


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _nan(name: str) -> Any:
    return _NAN if name == "NaN" else _constant(name)


_NAN = object()


def _without_nan(value: Any, place: tuple[str | int, ...], remarks: Remarks) -> Any:
    """Read NaN as null: it states that there is no number, and remark where."""
    if isinstance(value, dict):
        return {key: _without_nan(part, (*place, key), remarks) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_nan(part, (*place, at), remarks) for at, part in enumerate(value)]
    if value is not _NAN:
        return value
    pointer = to_pointer(place)
    remarks.not_numbers.add(pointer)
    remarks.add("note", "not_a_number", f"found NaN at {pointer}, read as null: there is no number", None, pointer)
    return None


def _leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_leaves, value.values())) or 1
    if isinstance(value, list):
        return sum(map(_leaves, value)) or 1
    return 1


def check(model: type[_Model], document: dict[str, Any], code: str, remarks: Remarks) -> _Model | None:
    """The document as the model, or None with every fault remarked, in document order."""
    try:
        return model.model_validate(document)
    except pydantic.ValidationError as error:
        for fault in error.errors(include_url=False):
            _remark(fault, code, remarks)
    except RecursionError:
        remarks.add("error", code, "the document nests too deep; expected the format of the data dictionary")
    return None


_FAULTS = {
    "finite_number": ("not_finite", "a finite number"),
    "greater_than_equal": ("negative", "a number of at least 0"),
    "less_than_equal": ("out_of_range", "a number from 0 to 1"),
}
_EXPECTED = {
    "missing": "this key with a value",
    "extra_forbidden": "no such key",
    "float_type": "a number",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "list_type": "a list",
    "too_short": "a list that is not empty",
    "tuple_type": "a list",
    "model_type": "an object",
}


def _remark(fault: Any, code: str, remarks: Remarks) -> None:
    pointer = to_pointer(fault["loc"])
    found = "nothing" if fault["type"] == "missing" else _shown(fault["input"])
    told, expected = _FAULTS.get(fault["type"], (code, fault["msg"]))
    if told == "negative" and pointer.rsplit("/", 1)[-1] in ("loss", "share", "intensity"):
        told, expected = _FAULTS["less_than_equal"]
    expected = _EXPECTED.get(fault["type"], expected)
    remarks.add("error", told, f"found {found} at {pointer}, expected {expected}; correct it", None, pointer)


def _shown(value: Any) -> str:
    try:
        return repr(value)[:_SHOWN]
    except ValueError:  # Python does not spell out integers of more than 4,300 digits
        return "an integer of thousands of digits"


def to_pointer(parts: Iterable[str | int]) -> str:
    """JSON pointer (RFC 6901) of a place."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def has_format(head: bytes, name: str) -> bool:
    """Whether the head of a capture is a JSON object that names this format."""
    return bool(re.match(rb"\s*\{", head)) and bool(
        re.search(rb'"format"\s*:\s*"' + re.escape(name.encode()) + rb'"', head)
    )
