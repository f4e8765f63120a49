"""`nvidia-smi mig -lgi` and `-lci` tables: mig_instances.

Rules. A row with one number before `MIG` is a GPU instance, with two a compute instance; where a title is above, it
must agree. Widths of columns do not matter. A finished table without rows is an answer (none), and so are the
sentences that say that there are none; a failure sentence is not an answer: what it stands for stays unknown.
Both tables may follow each other in one capture. Profile ids of the two kinds are numbered separately.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipeline.parsed import Issue, Ledger, Parsed, diagnostic, is_banner, line_fault, split_lines, to_utf8
from schemas import TABLES, unstamped_schema

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts

_GAP, _ID = r"[ \t]+", r"([0-9]{1,5})\*?"
_TAIL = rf"{_GAP}MIG{_GAP}(\S+){_GAP}{_ID}{_GAP}{_ID}(?:{_GAP}([0-9]{{1,5}}):([0-9]{{1,5}}))?[ \t]*\|[ \t]*"
_ROWS = {
    "gpu_instance": re.compile(rf"[ \t]*\|[ \t]*([0-9]{{1,5}}){_TAIL}"),
    "compute_instance": re.compile(rf"[ \t]*\|[ \t]*([0-9]{{1,5}}){_GAP}{_ID}{_TAIL}"),
}
_TITLE = re.compile(r"[ \t]*\|[ \t]*(GPU|Compute) instances:[ \t]*\|[ \t]*", re.IGNORECASE)
_RULE = re.compile(r"\+[-=+]*|\|[-=+]+\|?")
_HEADINGS = {"GPU", "Name", "Profile", "Instance", "Placement", "ID", "Start:Size"}

# "No GPU instances found: Not Found" is an answer; with any other NVML text after the colon it is a failure.
_NONE_FOUND = re.compile(r"No (GPU|compute) instances found(?:: ([^:]*?))?[. ]*", re.IGNORECASE)
_FAILED = re.compile(r"(?:Unable|Failed) to [^|]*: ([^:|]*)", re.IGNORECASE)
_NO_MIG = "no_mig_devices"

_EXPECTED = "expected '| <gpu> [<gi>] MIG <profile> <profile id> <instance id> [<start>:<size>] |'"


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as the declared table, without the two columns that are stamped later."""
    return pa.Table.from_pylist(rows, schema=unstamped_schema(TABLES["mig_instances"]))


def _sentence(text: str, number: int) -> Issue | None:
    """Remark for a sentence in place of a table: none found (a warning), or a failure (an error)."""
    stripped = text.strip()
    if (known := diagnostic(stripped, number)) is not None:
        return known
    none, failed = _NONE_FOUND.fullmatch(stripped), _FAILED.fullmatch(stripped)
    if none is None and failed is None:
        return None
    said = f"nvidia-smi said {stripped[:200]!r} where a table was expected"
    cause = ((none[2] if none else failed[1] if failed else None) or "").strip(" .").casefold()
    if none is not None and cause in ("", "not found"):
        return Issue("warning", f"no_{none[1].lower()}_instances", said, number)
    code = "insufficient_permissions" if cause == "insufficient permissions" else "nvml_error"
    return Issue("error", code, f"{said}; list the instances again with the rights to do so", number)


@dataclass
class _Section:
    """A titled table: how far it got."""

    kind: str
    line: int
    rows: int = 0
    refused: int = 0
    has_body: bool = False
    is_closed: bool = False


@dataclass
class _Reader:
    """One pass over the lines; the last of `sections` is the table that a row is in."""

    parsed: Parsed
    rows: list[dict[str, Any]] = field(default_factory=list)
    sections: list[_Section] = field(default_factory=list)
    has_answer: bool = False
    failure: str | None = None

    @property
    def section(self) -> _Section | None:
        """The table that is open, if any."""
        return self.sections[-1] if self.sections else None

    def read(self, number: int, line: bytes) -> None:
        """Account for one line: a row, header, blank, structure or refused."""
        ledger = self.parsed.ledger
        if not line.strip():
            ledger.blank += 1
        elif fault := line_fault(line):
            self.refuse(number, *fault)
        elif title := _TITLE.fullmatch(text := line.decode()):
            ledger.structure += 1
            kind = "gpu_instance" if title[1].upper() == "GPU" else "compute_instance"
            self.sections.append(_Section(kind, number))
        elif _RULE.fullmatch(text.strip()):
            ledger.structure += 1
            self.rule(text.strip())
        elif _is_heading(text):
            ledger.header += 1
        elif not self.row(number, text):
            self.other(number, text)

    def rule(self, text: str) -> None:
        """Follow a table by its rules: the one of `=` opens the body, one of `-` after it closes the table or a row."""
        if self.section is None:
            return
        if text.startswith("|="):
            self.section.has_body = text.endswith("|")
        elif self.section.has_body:
            self.section.is_closed = text.endswith("+")

    def row(self, number: int, text: str) -> bool:
        """Add a row, or refuse one under the wrong title; false when the line is no row."""
        matches = ((kind, pattern.fullmatch(text)) for kind, pattern in _ROWS.items())
        kind, match = next(((kind, match) for kind, match in matches if match), ("", None))
        if match is None:
            return False
        if self.section is not None and self.section.kind != kind:
            message = f"found a row of a {kind} table under the title of a {self.section.kind} table; re-capture both"
            self.refuse(number, "table_mismatch", message)
            return True
        names = ["gpu_index", "profile_name", "profile_id", f"{kind}_id", "placement_start", "placement_size"]
        if kind == "compute_instance":
            names.insert(1, "gpu_instance_id")
        row: dict[str, Any] = dict(zip(names, match.groups(), strict=True))
        missing = sorted(name for name, cell in row.items() if cell is None)
        row.update({name: int(cell) for name, cell in row.items() if cell is not None and name != "profile_name"})
        absent = " ".join(f"{name}=not_recorded" for name in missing) or None
        self.rows.append({"capture_line": number, "instance_kind": kind, **row, "absent": absent})
        self.parsed.ledger.rows += 1
        if self.section is not None:
            self.section.rows += 1
            self.section.is_closed = False
        return True

    def other(self, number: int, text: str) -> None:
        """Account for a line outside any table: a sentence, a banner, or nothing known."""
        if (remark := _sentence(text, number)) is not None:
            self.parsed.issues.append(remark)
            if remark.severity == "error":
                self.parsed.ledger.refused += 1
                self.failure = self.failure or remark.code
            else:
                self.parsed.ledger.structure += 1
                self.has_answer |= remark.code == _NO_MIG or remark.code.endswith("_instances")
        elif is_banner(text):
            self.parsed.ledger.structure += 1
        else:
            self.refuse(number, "unparsed_line", f"found {text[:200]!r}, {_EXPECTED}; remove or re-capture it")

    def refuse(self, number: int, code: str, message: str) -> None:
        """Refuse a line; a table with a refused line is not empty."""
        self.parsed.ledger.refused += 1
        self.parsed.issues.append(Issue("error", code, message, number))
        if self.section is not None:
            self.section.refused += 1

    def finish(self) -> None:
        """Judge how the tables end; one without rows is an answer, a cut one, or damaged."""
        for section in self.sections:
            if section.rows and not section.is_closed:
                message = "no closing rule stands below the last row: rows may be cut off; re-capture it to be sure"
                self.parsed.issues.append(Issue("warning", "table_not_closed", message, section.line))
            if section.rows or section.refused:
                continue
            if not section.has_body:
                message = (
                    "table ends before its first row could stand, expected rows or a finished table; re-capture it"
                )
                self.parsed.issues.append(Issue("error", "truncated_table", message, section.line))
                self.failure = self.failure or "truncated_table"
                continue
            self.has_answer = True
            message = f"{section.kind} table without rows: there are none"
            self.parsed.issues.append(Issue("note", "empty_table", message, section.line))
            if not section.is_closed:
                message = "the table without rows has no closing rule: it may have been cut; re-capture it to be sure"
                self.parsed.issues.append(Issue("warning", "table_not_closed", message, section.line))


def _is_heading(text: str) -> bool:
    """Whether the line holds column headings only."""
    stripped = text.strip()
    if len(stripped) < len("| |") or not (stripped.startswith("|") and stripped.endswith("|")):
        return False
    words = stripped[1:-1].split()
    return bool(words) and _HEADINGS.issuperset(words)


def parse(data: bytes, _facts: CaptureFacts) -> Parsed:
    """Read the tables; see the module for the rules."""
    lines = split_lines(to_utf8(data))
    reader = _Reader(Parsed(ledger=Ledger(total=len(lines))))
    for number, line in enumerate(lines, start=1):
        reader.read(number, line)
    reader.finish()
    parsed = reader.parsed
    parsed.tables = {"mig_instances": _table(reader.rows)}
    has_table = any(section.has_body and not section.refused for section in reader.sections)
    if not reader.rows and not has_table and (reader.failure or not reader.has_answer):
        parsed.quarantine = reader.failure or "no_rows"
    return parsed


def detect(head: bytes) -> bool:
    """Whether a line is a title or a row of these tables, or the capture begins by saying that there are none."""
    texts = [line.decode(errors="replace") for line in split_lines(head)]
    if any(_TITLE.fullmatch(text) or any(row.fullmatch(text) for row in _ROWS.values()) for text in texts):
        return True
    first = next((text.strip() for text in texts if text.strip()), "")
    remark = diagnostic(first, 1)
    return _NONE_FOUND.fullmatch(first) is not None or (remark is not None and remark.code == _NO_MIG)
