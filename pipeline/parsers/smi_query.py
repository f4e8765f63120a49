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

from pipeline.parsed import CaptureFacts, Parsed, Remarks, to_utf8
from pipeline.parsers.smi_query_text import SEPARATOR, Reading, Severity, TextReader
from pipeline.parsers.smi_query_xml import XmlReader
from pipeline.tokens import absence, is_known_token
from schemas import TABLES, unstamped_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

_REFERENCE = Path(__file__).parent.parent / "reference" / "smi_query_fields.csv"
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
    with _REFERENCE.open(encoding="utf-8", newline="") as lines:
        entries = list(csv.DictReader(lines))
    text: dict[str, Field] = {}
    xml: dict[str, Field] = {}
    sections: list[tuple[dict[str, Field], str, str]] = []
    for entry in entries:
        units = frozenset("" if unit == "-" else unit for unit in _listed(entry["unit"])) or frozenset({""})
        known = Field(entry["field"], entry["kind"] == "number", units)
        labels, paths = [known.name, *_listed(entry["text_synonyms"])], _listed(entry["xml_paths"])
        text.update((path.casefold(), known) for path in labels)
        xml.update((path.casefold(), known) for path in paths)
        sections += [(text, path, known.name) for path in labels] + [(xml, path, known.name) for path in paths]
    for table, path, name in sections:
        _name_sections(table, path, name)
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


Cells = tuple[str | None, str | None, float | None, str | None, str | None]
"""Field, value_text, value_number, unit and absent of a row."""


@dataclass
class _Interpreter:
    """Interprets each distinct label and text once, and remarks on each label or token once."""

    fields: Mapping[str, Field]
    remarks: Remarks
    _done: dict[tuple[str, str], Cells] = field(default_factory=dict)
    _said: set[tuple[str, str]] = field(default_factory=set)

    def cells(self, reading: Reading) -> Cells:
        """Cells of the row that follow from the label and the text."""
        done = self._done.get((reading.path, reading.text))
        if done is None:
            known = self.fields.get(reading.path.casefold())
            value = interpret(reading.text, known)
            self._remark(reading, known, value)
            done = (known.name if known else None, value.text, value.number, value.unit, value.absent)
            self._done[reading.path, reading.text] = done
        return done

    def _remark(self, reading: Reading, known: Field | None, value: Value) -> None:
        path, text = reading.path[:200], reading.text[:80]
        if known is None:
            message = f"found label {path!r}, expected one of reference/smi_query_fields.csv; kept without field"
            self._say("note", "unknown_label", reading.path, reading, message)
        if value.is_odd:
            message = f"{path!r} is {text!r}, expected a number with its unit, or a token; kept as text"
            self._say("warning", "unparsable_value", reading.path, reading, message)
        if value.text is None and text.startswith("[") and not is_known_token(reading.text):
            message = f"found {text!r} in place of a value, expected a known token; taken as an error"
            self._say("note", "unknown_token", reading.text, reading, message)

    def _say(self, severity: Severity, code: str, subject: str, reading: Reading, message: str) -> None:
        if (code, subject) not in self._said:
            self._said.add((code, subject))
            self.remarks.add(severity, code, message, reading.line, reading.label)


def _encode(cells: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    """Column of the given type; equal texts are stored once, so that long repeated sections cost nothing."""
    if not pa.types.is_dictionary(kind):
        return pa.array(cells, kind)
    distinct = [cell for cell in dict.fromkeys(cells) if cell is not None]
    codes = {cell: code for code, cell in enumerate(distinct)}
    indices = pa.array(list(map(codes.get, cells)), kind.index_type)
    return pa.DictionaryArray.from_arrays(indices, pa.array(distinct, kind.value_type))


def _table(reader: TextReader | XmlReader, interpreter: _Interpreter) -> pa.Table:
    """Rows of all readings, in the order of the capture."""
    schema = unstamped_schema(TABLES["gpu_query"])
    number = reader.blocks.number
    rows = [
        (reading.line, reading.document, reading.gpu, reading.section, number(reading), reading.label, *cells)
        for reading, cells in ((reading, interpreter.cells(reading)) for reading in reader.readings)
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.Table.from_arrays(
        [_encode(cells, place.type) for cells, place in zip(columns, schema, strict=True)], schema=schema
    )


def _count_gpus(reader: TextReader | XmlReader) -> None:
    """Remark where a document says more GPUs than it shows: cut between lines, it would look whole."""
    shown: dict[int, set[str]] = {}
    said: dict[int, Reading] = {}
    for reading in reader.readings:
        if reading.gpu is not None:
            shown.setdefault(reading.document, set()).add(reading.gpu)
        elif reading.label.casefold().replace("_", " ") == "attached gpus":
            said[reading.document] = reading
    for document, reading in said.items():
        found = len(shown.get(document, ()))
        if reading.text != str(found):
            message = f"{reading.text[:20]!r} GPUs are attached, {found} are shown; the others were left out or cut off"
            reader.remarks.add("warning", "gpus_missing", message, reading.line, reading.label)


def _is_xml(body: bytes) -> bool:
    return body.lstrip().startswith(b"<") or (b"<nvidia_smi_log" in body and not _BANNER.search(body))


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
    fields = known.xml if isinstance(reader, XmlReader) else known.text
    table = _table(reader, _Interpreter(fields, reader.remarks))
    _count_gpus(reader)
    return Parsed(
        tables={"gpu_query": table},
        issues=reader.remarks.all(),
        ledger=reader.ledger,
        quarantine=None if reader.readings else reader.remarks.failure or "no_rows",
    )
