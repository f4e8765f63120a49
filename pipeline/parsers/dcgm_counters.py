"""A counters catalogue of dcgm-exporter: dcgm_counters, one row per counter, those in commented lines as disabled.

Rules are those of the exporter's reader. `#` begins a comment in the first column only; an empty line is skipped, a
line of blanks is not; a quote is the first character of its field or an error, and quoted text may span lines; a record
is name, type and help, each trimmed of spaces alone. The exporter refuses the whole file for one bad line: here that
line is refused, and the good ones stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipeline.parsed import Ledger, Parsed, Remarks, line_fault, split_lines, to_utf8
from schemas import TABLES, unstamped_schema

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts

TYPES = ("gauge", "counter", "histogram", "summary", "label")
_NAME = re.compile(r"DCGM_(?:FI|EXP)_[0-9A-Za-z_]+|dcgm_[0-9a-z_]+")
# Counters that the exporter computes itself; it does not look at their type. The second is an old spelling.
_OWN = ("DCGM_EXP_", "DCGM_FI_EXP_")
_COMMENTED = re.compile(r"\A#+[ \t]*")
_FIELDS = 3
_REFUSES = "the exporter refuses the whole file"


@dataclass(frozen=True)
class _Fault:
    """Which rule a record breaks, and what was found and expected."""

    code: str
    message: str


@dataclass
class _Record:
    """The fields of one record and the lines that it takes."""

    fields: list[str]
    lines: int


def _record(lines: list[str], start: int) -> _Record | _Fault:
    """Split the record that begins on a line into its fields, as the exporter's reader does."""
    fields: list[str] = []
    number, place = start, 0
    while True:
        if lines[number].startswith('"', place):
            quoted = _quoted(lines, number, place + 1)
            if isinstance(quoted, _Fault):
                return quoted
            cell, number, end = quoted
        else:
            text = lines[number]
            end = text.find(",", place)
            end = len(text) if end < 0 else end
            cell = text[place:end]
            if '"' in cell:
                message = f"found a quote within {cell.strip()[:80]!r}, expected it first in its field or nowhere"
                return _Fault("stray_quote", message)
        fields.append(cell)
        if end == len(lines[number]):
            return _Record(fields, number - start + 1)
        place = end + 1


def _quoted(lines: list[str], number: int, place: int) -> tuple[str, int, int] | _Fault:
    """Read a field from behind its quote on: its text, and the line and position that it ends at."""
    parts: list[str] = []
    while True:
        text = lines[number]
        quote = text.find('"', place)
        if quote < 0:
            parts.append(f"{text[place:]}\n")
            number, place = number + 1, 0
            if number == len(lines):
                return _Fault("quote_not_closed", "found a quote that nothing closes, expected a second one")
        elif text.startswith('"', quote + 1):
            parts.append(text[place : quote + 1])
            place = quote + 2
        else:
            parts.append(text[place:quote])
            if quote + 1 < len(text) and text[quote + 1] != ",":
                message = f"found {text[quote + 1 :][:40]!r} after a closing quote, expected a comma or the line's end"
                return _Fault("stray_quote", message)
            return "".join(parts), number, quote + 1


def _fault_of(fields: list[str]) -> _Fault | None:
    """Which rule the trimmed fields of a record break."""
    if len(fields) != _FIELDS:
        return _Fault(
            "cell_count", f"found {len(fields)} fields, expected 3 (name, type, help); quote a help text with commas"
        )
    name, metric_type, _ = fields
    if not _NAME.fullmatch(name):
        return _Fault("unknown_field", f"found the name {name[:80]!r}, expected DCGM_FI_..., DCGM_EXP_... or dcgm_...")
    if metric_type not in TYPES and not name.startswith(_OWN):
        return _Fault("unknown_type", f"found the type {metric_type[:80]!r}, expected one of {', '.join(TYPES)}")
    return None


def _commented(line: str) -> list[str] | None:
    """The fields of a record that is switched off by a comment sign, or None for prose."""
    found = _record([_COMMENTED.sub("", line, count=1)], 0)
    if isinstance(found, _Fault):
        return None
    fields = [cell.strip(" ") for cell in found.fields]
    return None if _fault_of(fields) else fields


@dataclass
class _Reader:
    """One pass over the lines; `faults` are those that are no text at all."""

    lines: list[str]
    faults: dict[int, _Fault]
    ledger: Ledger
    remarks: Remarks = field(default_factory=Remarks)
    rows: list[dict[str, Any]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)

    def read(self, at: int) -> int:
        """Account for the line at a position, and for those that its record goes on to; return the next position."""
        line = self.lines[at]
        if at in self.faults:
            return self.refuse(at, 1, self.faults[at], "re-capture the file")
        if not line:
            self.ledger.blank += 1
        elif line.startswith("#"):
            if (fields := _commented(line)) is not None:
                self.add(at, fields, is_enabled=False)
            else:
                self.ledger.structure += 1
        else:
            return self.record(at)
        return at + 1

    def record(self, at: int) -> int:
        """Take the record that begins here; where its quotes are wrong, the next line is tried by itself."""
        found = _record(self.lines, at)
        if isinstance(found, _Fault):
            return self.refuse(at, 1, found)
        fields = [cell.strip(" ") for cell in found.fields]
        bad = next((line for line in range(at, at + found.lines) if line in self.faults), None)
        if bad is not None:
            message = f"found a record that goes on to line {bad + 1}, which is no text, expected text"
            return self.refuse(at, 1, _Fault("unparsed_line", message), "re-capture the file")
        if (fault := _fault_of(fields)) is not None:
            return self.refuse(at, found.lines, fault)
        self.add(at, fields, is_enabled=True)
        self.ledger.structure += found.lines - 1
        return at + found.lines

    def refuse(self, at: int, count: int, fault: _Fault, advice: str = f"{_REFUSES}: mend or remove this line") -> int:
        """Refuse a record with its reason; return the position behind it."""
        self.ledger.refused += count
        self.remarks.add("error", fault.code, f"{fault.message}; {advice}", at + 1)
        return at + count

    def add(self, at: int, fields: list[str], *, is_enabled: bool) -> None:
        """Add a row; an active name that stands twice is remarked."""
        name, metric_type, text = fields
        self.ledger.rows += 1
        self.rows.append(
            {
                "capture_line": at + 1,
                "field_name": name,
                "metric_type": metric_type,
                "help": text or None,
                "is_enabled": is_enabled,
                "absent": None if text else "help=not_recorded",
            }
        )
        if is_enabled and (first := self.names.setdefault(name, at + 1)) <= at:
            message = f"{name} is active here and on line {first}, expected it once; remove one of the two lines"
            self.remarks.add("warning", "repeated_field", message, at + 1, name)


def _faults(lines: list[bytes]) -> dict[int, _Fault]:
    """Lines that are no text, by position."""
    found = ((at, line_fault(line)) for at, line in enumerate(lines))
    return {at: _Fault(*fault) for at, fault in found if fault}


def parse(data: bytes, _facts: CaptureFacts) -> Parsed:
    """Read a catalogue; see the module for the rules."""
    body = to_utf8(data)
    lines = split_lines(body)
    reader = _Reader([line.decode(errors="replace") for line in lines], _faults(lines), Ledger(total=len(lines)))
    if body is not data:
        message = f"found a byte order mark, expected none; it is read here, but {_REFUSES}: save it as plain UTF-8"
        reader.remarks.add("warning", "byte_order_mark", message, 1)
    at = 0
    while at < len(lines):
        at = reader.read(at)
    if not reader.rows:
        message = "no line is a counter, expected `NAME, type, help` with a DCGM name; check what this file is"
        reader.remarks.add("error", "no_rows", message)
    return Parsed(
        tables={"dcgm_counters": pa.Table.from_pylist(reader.rows, schema=unstamped_schema(TABLES["dcgm_counters"]))},
        issues=reader.remarks.all(),
        ledger=reader.ledger,
        quarantine=None if reader.rows else "no_rows",
    )


def detect(head: bytes) -> bool:
    """Whether some line is a counter, active or commented."""
    texts = (line.decode(errors="replace") for line in split_lines(head) if b"DCGM_" in line or b"dcgm_" in line)
    return any(_commented(text) is not None for text in texts)
