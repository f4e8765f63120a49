"""Rows of dcgm_fields from the definitions of a header, and what is wrong with their ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pipeline.parsers import dcgm_header_comments as comments
from pipeline.parsers.dcgm_header_values import only_name

if TYPE_CHECKING:
    from pipeline.parsers.dcgm_header_defines import Define, Reader

_MARKER = re.compile(
    r"DCGM_FI_(?:\w+_)?(?:FIRST|LAST)_\w+_FIELD_ID|DCGM_FI_(?:\w+_)?MAX_(?:\w+_)?FIELDS"
    r"|DCGM_FI_\w+_FIELDS_\d+_(?:START|END)",
    re.ASCII,
)
_MARKER_CHARACTERS = 128
_EXPECTED = "expected a number, a name, or a sum or difference of both"
_COLUMNS = ("field_name", "field_id", "value_text", "alias_of", "is_deprecated", "is_marker", "meaning", "unit_hint")


def build_rows(reader: Reader) -> list[dict[str, Any]]:
    """One row per name, in the order of the header."""
    numbers = reader.numbers()
    rows = [_row(reader, define, numbers[define.name]) for define in reader.defines.values()]
    _judge_ids(reader, rows)
    return rows


def _row(reader: Reader, define: Define, number: int | str) -> dict[str, Any]:
    """Build a row; every NULL gets its reason, which is not_recorded unless something stood there."""
    place = define.place
    field_id, why = _field_id(reader, define, number)
    before = place.before
    is_damaged = before is not None and not reader.refused.isdisjoint(range(before.first, before.last + 1))
    meaning = None if is_damaged else comments.meaning(before)
    said = comments.says_deprecated([*([before] if before else []), *place.after])
    reasons = dict.fromkeys(("meaning", "unit_hint", "is_deprecated"), "unparsable") if is_damaged else {}
    row: dict[str, Any] = {
        "capture_line": place.line,
        "field_name": define.name,
        "field_id": field_id,
        "value_text": define.value,
        "alias_of": only_name(define.terms),
        "is_deprecated": True if define.is_guarded else None if is_damaged and not said else said,
        "is_marker": len(define.name) <= _MARKER_CHARACTERS and _MARKER.fullmatch(define.name) is not None,
        "meaning": meaning,
        "unit_hint": comments.unit_hint(meaning),
    }
    reasons["field_id"] = why
    missing = (f"{name}={reasons.get(name, 'not_recorded')}" for name in sorted(_COLUMNS) if row[name] is None)
    return {**row, "absent": " ".join(missing) or None}


def _field_id(reader: Reader, define: Define, number: int | str) -> tuple[int | None, str]:
    """The id of a name, or None and the reason, with a remark on what is wrong."""
    name, line, shown = define.name, define.place.line, define.value[:80]
    beside = comments.number(define.place.after)
    if isinstance(number, int) and number >= 0:
        if beside not in (None, number) and not define.value.isdigit():
            message = f"{name} is {number}, but the comment beside it says {beside}; the code counts, check the release"
            reader.remarks.add("warning", "id_disagrees", message, line, name)
        return number, ""
    if define.is_cut:
        message = f"{name} ends at the end of the file without a newline: {shown!r} may be cut; take the header again"
        reader.remarks.add("warning", "truncated_cell", message, line, name)
        return None, "not_recorded"
    if number == "not_recorded" or (number == "error" and name not in reader.conflicting):
        said = "" if beside is None else f", the {beside} beside it is only a comment"
        what = "is not defined in this file" if number == "not_recorded" else "has several values"
        message = f"{name} is {shown!r}, which rests on a name that {what}; its id stays unknown{said}"
        reader.remarks.add("warning", "unresolved_name", message, line, name)
    elif number != "error":
        message = f"{name} is {shown!r}, which gives no id, {_EXPECTED} that gives one from 0 up; take the header again"
        reader.remarks.add("error", "unparsable_value", message, line, name)
    return None, number if isinstance(number, str) else "unparsable"


def _judge_ids(reader: Reader, rows: list[dict[str, Any]]) -> None:
    """Remark on an id that two names claim; aliases and markers share theirs rightly."""
    first: dict[int, dict[str, Any]] = {}
    for row in rows:
        if row["field_id"] is None or row["is_marker"] or row["alias_of"] is not None:
            continue
        known = first.setdefault(row["field_id"], row)
        if known is not row:
            message = (
                f"{row['field_name']} has the id {row['field_id']} of {known['field_name']} (line "
                f"{known['capture_line']}), expected one name for each id; check which of them the release means"
            )
            reader.remarks.add("warning", "duplicate_id", message, row["capture_line"], row["field_name"])
