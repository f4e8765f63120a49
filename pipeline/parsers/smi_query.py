"""`nvidia-smi -q`, text or XML: every labelled value becomes a row of `gpu_query`.

Rules. The readers of the two forms say where a value stands; this module says what it is. The same quantity has one
`field`, looked up in reference/smi_query_fields.csv by section and label (text) or element path (XML), upper and lower
case alike. A value is a number only where the field is one and its unit is one that the field can have, or, for labels
that the reference does not know, where a known unit follows. A token in place of a value gives its reason, never a
number. A printed text that is no number stays as text, with a warning.
"""

from __future__ import annotations

import csv
import functools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipeline.parsed import CaptureFacts, Issue, Parsed, to_utf8
from pipeline.parsers.smi_query_text import SEPARATOR, Reading, TextReader
from pipeline.parsers.smi_query_xml import XmlReader
from pipeline.tokens import absence, is_known_token
from schemas import TABLES, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

_REFERENCE = Path(__file__).parent.parent / "reference" / "smi_query_fields.csv"
_STAMPED = ("capture_id", "capture_sha256")
_BANNER = re.compile(rb"^[ \t]*=+ *NVSMI LOG *=", re.MULTILINE)
_NUMBER = re.compile(r"(-?[0-9]{1,18}(?:\.[0-9]{1,18})?)(?: ?([A-Za-z%][A-Za-z%/()]{0,15}))?", re.ASCII)
_EMPTY_LISTS = frozenset({"Processes", "Accounted Processes", "MIG Device"})
"""Fields that are a list: printed empty they say "none", which is a value."""
_OTHER_UNITS = frozenset({"KiB", "GiB", "MB/s", "GB/s", "s", "sec", "seconds", "mW", "mW/s", "W/s", "mJ", "J"})
"""Units that follow a number elsewhere in nvidia-smi, beside those in the reference."""
_NOT_A_VALUE = {"not available in wddm driver model": "not_available"}
"""Sentences of `-q` that stand for a value, beside the tokens common to all of nvidia-smi."""


@dataclass(frozen=True)
class Field:
    """One quantity: its name everywhere, whether it is a number, and the units it can have ('' is none)."""

    name: str
    is_number: bool
    units: frozenset[str]


@dataclass(frozen=True)
class Reference:
    """The fields by folded path of their text labels and of their XML elements."""

    text: Mapping[str, Field]
    xml: Mapping[str, Field]
    units: frozenset[str]


@dataclass(frozen=True)
class Value:
    """A text interpreted: what of it goes into the row, and why the rest is NULL."""

    text: str | None
    number: float | None = None
    unit: str | None = None
    absent: str | None = None
    is_odd: bool = False


@functools.cache
def reference() -> Reference:
    """Read reference/smi_query_fields.csv, once."""
    text: dict[str, Field] = {}
    xml: dict[str, Field] = {}
    with _REFERENCE.open(encoding="utf-8", newline="") as lines:
        entries = list(csv.DictReader(lines))
    for entry in entries:
        units = frozenset("" if unit == "-" else unit for unit in _listed(entry["unit"])) or frozenset({""})
        known = Field(entry["field"], entry["kind"] == "number", units)
        text.update((path.casefold(), known) for path in (known.name, *_listed(entry["text_synonyms"])))
        xml.update((path.casefold(), known) for path in _listed(entry["xml_paths"]))
    for entry in entries:
        for table, paths in ((text, "text_synonyms"), (xml, "xml_paths")):
            for path in (entry["field"], *_listed(entry[paths])) if table is text else _listed(entry[paths]):
                _name_sections(table, path, entry["field"])
    units = frozenset().union(*(known.units for known in text.values())) | _OTHER_UNITS
    return Reference(text, xml, units - {""})


def _listed(cell: str) -> list[str]:
    return [part for part in cell.split(" | ") if part]


def _name_sections(table: dict[str, Field], path: str, name: str) -> None:
    """Let a section be a field as well: nvidia-smi prints `Section : N/A` where it has nothing to put below it."""
    steps, names = path.split(SEPARATOR), name.split(SEPARATOR)
    if len(steps) != len(names):
        return
    for depth in range(1, len(steps)):
        section = SEPARATOR.join(names[:depth])
        table.setdefault(SEPARATOR.join(steps[:depth]).casefold(), Field(section, is_number=False, units=frozenset()))


def interpret(text: str, known: Field | None) -> Value:
    """Interpret one printed value as the field wants it."""
    is_number = known is not None and known.is_number
    reason = absence(text) or _NOT_A_VALUE.get(text.casefold())
    if reason is None and not text and not (known and known.name in _EMPTY_LISTS):
        reason = "not_available"
    if reason is not None:
        absent = f"value_number={reason} value_text={reason}" if is_number else f"value_text={reason}"
        return Value(None, absent=absent)
    if known is not None and not is_number:
        return Value(text)
    match = _NUMBER.fullmatch(text)
    unit = (match[2] or "") if match else ""
    if match is not None and unit in (known.units if known else reference().units):
        return Value(text, float(match[1]), unit or None)
    return Value(text, absent="value_number=unparsable", is_odd=True) if is_number else Value(text)


@dataclass
class _Rows:
    """Columns under construction, and the remarks that are made once per label or text."""

    fields: Mapping[str, Field]
    columns: dict[str, list[Any]]
    issues: list[Issue] = field(default_factory=list)
    said: set[tuple[str, str]] = field(default_factory=set)

    def add(self, reading: Reading) -> None:
        path = f"{reading.section}{SEPARATOR}{reading.label}" if reading.section else reading.label
        known = self.fields.get(path.casefold())
        value = interpret(reading.text, known)
        if known is None:
            message = f"found label {path[:200]!r}, expected one of reference/smi_query_fields.csv; kept without field"
            self._say("note", "unknown_label", path, reading, message)
        if value.is_odd:
            message = f"{path[:200]!r} is {reading.text[:80]!r}, expected a number or a token; kept as text"
            self._say("warning", "unparsable_value", path, reading, message)
        if value.text is None and reading.text.startswith("[") and not is_known_token(reading.text):
            message = f"found {reading.text[:80]!r} in place of a value, expected a known token; taken as an error"
            self._say("note", "unknown_token", reading.text, reading, message)
        row = (
            *(reading.line, reading.document, reading.gpu, reading.section, reading.block, reading.label),
            *(known and known.name, value.text, value.number, value.unit, value.absent),
        )
        for column, cell in zip(self.columns.values(), row, strict=True):
            column.append(cell)

    def _say(self, severity: Any, code: str, subject: str, reading: Reading, message: str) -> None:
        if (code, subject) not in self.said:
            self.said.add((code, subject))
            self.issues.append(Issue(severity, code, message, reading.line, reading.label))


def _encode(cells: list[Any], kind: pa.DataType) -> pa.Array:
    """Column of the given type; equal texts are stored once, so that long repeated sections cost nothing."""
    if not pa.types.is_dictionary(kind):
        return pa.array(cells, kind)
    codes: dict[str, int] = {}
    indices = [None if cell is None else codes.setdefault(cell, len(codes)) for cell in cells]
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind.index_type), pa.array(list(codes), kind.value_type))


def _table(columns: dict[str, list[Any]], schema: pa.Schema) -> pa.Table:
    return pa.table([_encode(columns[name], schema.field(name).type) for name in schema.names], schema=schema)


def _is_xml(body: bytes) -> bool:
    return b"<nvidia_smi_log" in body and not _BANNER.search(body)


def detect(head: bytes) -> bool:
    """Whether the head of a capture (UTF-8, first 64 KiB) is of `nvidia-smi -q`."""
    return _BANNER.search(head) is not None or b"<nvidia_smi_log" in head or b"<!DOCTYPE nvidia_smi_log" in head


def parse(data: bytes, facts: CaptureFacts) -> Parsed:
    """Read one capture of `nvidia-smi -q`, text or XML."""
    del facts  # nothing that a sidecar can say changes what these lines mean
    body = to_utf8(data)
    known = reference()
    reader: TextReader | XmlReader = XmlReader() if _is_xml(body) else TextReader()
    reader.read(body)
    schema = arrow_schema(TABLES["gpu_query"])
    for name in _STAMPED:
        schema = schema.remove(schema.get_field_index(name))
    fields = known.xml if isinstance(reader, XmlReader) else known.text
    rows = _Rows(fields, {name: [] for name in schema.names})
    for reading in reader.readings:
        rows.add(reading)
    return Parsed(
        tables={"gpu_query": _table(rows.columns, schema)},
        issues=reader.issues + rows.issues,
        ledger=reader.ledger,
        quarantine=None if reader.readings else reader.failure or "no_rows",
    )
