"""Cells of `--query-gpu` captures: text in, typed values and reasons of absence out.

A column of few distinct texts is interpreted once per distinct text and spread with `take`. A column of many (time,
power, memory) is converted whole; where one cell does not fit, it is interpreted per distinct text as well. A text
that is neither a value nor a known token is `unparsable`: never a number, never "no".
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.parsers.smi_csv_fields import catalogue
from pipeline.tokens import REASONS, absence, is_known_token
from schemas.columns import arrow_schema
from schemas.gpu_readings import GPU_READINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.parsers.smi_csv_fields import Field

MANY_DISTINCT = frozenset({"timestamp", "float"})
"""Types whose columns are read as plain text: nearly every row has its own."""
_MAX_TEXT = 1024
_MAX_DIGITS = 18
_INT = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_FLOAT = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,9})?", re.ASCII)
_HEX = re.compile(r"0x[0-9A-Fa-f]{1,16}", re.ASCII)
_TIMESTAMP = re.compile(r"[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}", re.ASCII)
_STATES = {"active": {"Active": True, "Not Active": False}, "yesno": {"Yes": True, "No": False}}


@functools.cache
def target(field: Field) -> pa.DataType:
    """Arrow type that the field's values are read as: its column's, plain text for dictionary columns."""
    kind = arrow_schema(GPU_READINGS).field(field.column).type
    return pa.string() if pa.types.is_dictionary(kind) else kind


def is_plain(field: Field) -> bool:
    """Whether the field's column is read as plain text rather than as a dictionary."""
    return field.column is not None and (field.type in MANY_DISTINCT or field.unit in {"MiB", "us"})


@dataclass(frozen=True)
class Column:
    """A typed column: values, per row the index into REASONS where one is missing, and texts worth a remark."""

    values: pa.Array
    reasons: pa.Array | None = None
    odd: tuple[tuple[str, str], ...] = ()


def interpret(cells: pa.Array, field: Field) -> Column:
    """Type a raw text column; `odd` lists its unparsable texts and unknown tokens as (text, reason)."""
    if not pa.types.is_dictionary(cells.type):
        trimmed = pc.ascii_trim(cells, " ")
        whole = _whole(trimmed, field)
        if whole is not None:
            return Column(whole)
        cells = trimmed.dictionary_encode()
    distinct = _distinct(pc.ascii_trim(cells.dictionary, " "), field)
    values = distinct.values
    if pa.types.is_string(values.type):
        # Two spellings that differ in blanks only become one entry; a text without value becomes a NULL index.
        encoded = values.dictionary_encode()
        spread = pa.DictionaryArray.from_arrays(encoded.indices.take(cells.indices), encoded.dictionary)
    else:
        spread = values.take(cells.indices)
    reasons = None if distinct.reasons is None else distinct.reasons.take(cells.indices)
    return Column(spread, reasons, distinct.odd)


def _whole(texts: pa.Array, field: Field) -> pa.Array | None:
    """Convert a column in one go, or give None when any cell does not fit the grammar of `_READERS` to the letter."""
    try:
        if field.type == "timestamp":
            return _whole_times(texts, field)
        # What is left of the digits must be exactly the unit (or nothing), so that nothing else is trimmed away.
        digits = "0123456789." if field.type == "float" else "0123456789"
        rest = pc.unique(pc.ascii_ltrim(texts, digits))
        if not set(rest.to_pylist()) <= {"", f" {field.unit}"}:
            return None
        bare = pc.ascii_rtrim(texts, f" {field.unit}")
        fits = _is_power(bare) if field.type == "float" else pc.max(pc.binary_length(bare)).as_py() <= _MAX_DIGITS
        return pc.cast(bare, target(field)) if fits else None
    except pa.ArrowInvalid:
        return None


def _whole_times(texts: pa.Array, field: Field) -> pa.Array | None:
    """Times as nvidia-smi prints them; Arrow's own reader would take other separators and a year 0 as well."""
    if pc.min_max(pc.binary_length(texts)).as_py() != {"min": 23, "max": 23}:
        return None
    # "/11/02 ", a few distinct texts in any log
    days = pc.unique(pc.binary_slice(texts.cast(pa.binary()), 4, 11)).to_pylist()
    if any(day[:1] + day[3:4] + day[6:] != b"// " for day in days):
        return None
    times = pc.cast(pc.replace_substring(texts, "/", "-"), target(field))
    return times if pc.min(pc.year(times)).as_py() >= 1 else None


def _is_power(bare: pa.Array) -> bool:
    """Whether every number has digits, a point and two decimals."""
    point = pc.min_max(pc.find_substring(bare, ".")).as_py()
    length = pc.binary_length(bare)
    decimals = pc.min_max(pc.subtract(length, pc.find_substring(bare, "."))).as_py()
    return bool(point["min"] >= 1 and decimals == {"min": 3, "max": 3} and pc.max(length).as_py() <= _MAX_DIGITS)


def has_surprise(cells: pa.Array) -> bool:
    """Whether a raw column holds a text that only a look at the whole line can place: very long, or a field's name.

    Cells of fields without a column are never interpreted, so that nothing else would notice.
    """
    texts = cells.dictionary if pa.types.is_dictionary(cells.type) else cells
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > _MAX_TEXT:
        return True
    if texts is cells:
        return False  # read whole against its grammar: a name would not fit
    names = pc.utf8_lower(pc.replace_substring_regex(pc.ascii_trim(texts, " "), r" \[.*\]$", ""))
    return bool(pc.any(pc.is_in(names, value_set=_field_names())).as_py())


@functools.cache
def _field_names() -> pa.Array:
    return pa.array(sorted(catalogue()), pa.string())


def _distinct(texts: pa.Array, field: Field) -> Column:
    read = _READERS[field.type]
    values: list[Any] = []
    reasons: list[int | None] = []
    odd: list[tuple[str, str]] = []
    for text in texts.to_pylist():
        reason = absence(text)
        value = None if reason else read(text, field)
        values.append(value)
        if reason and not is_known_token(text):
            odd.append((text, reason))
        if reason is None and value is None:
            # An empty cell is legal: the tool printed nothing, which is neither zero nor a fault of the file.
            reason = "unparsable" if text else "not_available"
            if text:
                odd.append((text, reason))
        reasons.append(None if reason is None else REASONS.index(reason))
    missing = None if all(reason is None for reason in reasons) else pa.array(reasons, pa.int32())
    return Column(pa.array(values, target(field)), missing, tuple(odd))


def _bare(text: str, unit: str) -> str:
    """The number without its unit: `nounits` drops units from values only, so both forms are right."""
    return text.removesuffix(f" {unit}") if unit else text


def _read_int(text: str, field: Field) -> int | None:
    bare = _bare(text, field.unit)
    if not _INT.fullmatch(bare):
        return None
    number = int(bare)
    return number if abs(number) < 2 ** (target(field).bit_width - 1) else None


def _read_float(text: str, field: Field) -> float | None:
    bare = _bare(text, field.unit)
    return float(bare) if _FLOAT.fullmatch(bare) else None


def _read_hex(text: str, _: Field) -> int | None:
    return int(text, 16) if _HEX.fullmatch(text) else None


def _read_state(text: str, field: Field) -> bool | None:
    return _STATES[field.type].get(text)


def _read_timestamp(text: str, _: Field) -> datetime | None:
    if not _TIMESTAMP.fullmatch(text):
        return None
    try:
        return datetime.strptime(text, "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=UTC).replace(tzinfo=None)
    except ValueError:
        return None


def _read_text(text: str, _: Field) -> str | None:
    """Any text but a field's own name: that is a repeated header, never a value."""
    return None if len(text) > _MAX_TEXT or text.lower() in catalogue() else text


_READERS: dict[str, Callable[[str, Field], Any]] = {
    "timestamp": _read_timestamp,
    "int": _read_int,
    "float": _read_float,
    "hex": _read_hex,
    "active": _read_state,
    "yesno": _read_state,
    "text": _read_text,
}


def tail_state(text: str, before: str | None, field: Field) -> str:
    """Whether the last cell of a file without final newline is `whole`, `cut`, or cannot be told (`unknown`).

    `before` is the same cell of the row before. A bare number could have lost digits: it cannot be told.
    """
    if absence(text) is not None:
        return "whole"
    if text.startswith("[") or text == "":
        return "cut"
    if field.type in {"int", "float"}:
        number = _bare(text, field.unit)
        if number != text:
            return "whole" if (_FLOAT if field.type == "float" else _INT).fullmatch(number) else "cut"
        if " " in text or (before is not None and " " in before):
            return "cut"
        is_power = field.type == "float" and re.fullmatch(r"-?[0-9]+\.[0-9]{2}", text, re.ASCII)
        return "whole" if is_power else "cut" if field.type == "float" else "unknown"
    if field.type == "hex":
        return "unknown" if before is None else "whole" if len(text) == len(before) else "cut"
    if field.type in {"active", "yesno", "timestamp"}:
        return "whole" if _READERS[field.type](text, field) is not None else "cut"
    return "whole" if text == before or text in {"Enabled", "Disabled"} else "unknown"
