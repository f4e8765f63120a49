"""What the tests of smi_csv share: parsing with the checks that hold for every result, and short ways to one cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.parsed import CaptureFacts, Parsed, split_lines, to_utf8
from pipeline.parsers import smi_csv
from schemas import TABLES, arrow_schema

if TYPE_CHECKING:
    import pytest

FIRST_GPU = "GPU-5be0c1d2-77aa-4f10-9c3e-2f6b8d01e4a7"
SECOND_GPU = "GPU-0d94e7b8-1c52-4e6b-8f2d-a7c31e5590f3"
STAMPED = ("capture_id", "capture_sha256")
ALWAYS_THERE = {"capture_line", "segment", "absent"}
UNREASONED = {"sweep", "observed_at"}
"""Columns whose absence has tests of its own (test_smi_csv.py): not part of the check of every result."""


def read(data: bytes | str, *, command: str | None = None, timezone: str | None = None) -> Parsed:
    """Parse, and check what holds of every result: the ledger, the declared types, a reason for every NULL."""
    raw = data.encode() if isinstance(data, str) else data
    parsed = smi_csv.parse(raw, CaptureFacts(command=command, timezone=timezone))
    check(parsed, len(split_lines(to_utf8(raw))))
    return parsed


def check(parsed: Parsed, lines: int) -> None:
    """Check what holds of every result, whatever the bytes were."""
    assert parsed.ledger.is_whole
    assert parsed.ledger.total == lines
    for name, table in parsed.tables.items():
        table.validate(full=True)
        assert list(table.schema) == [field for field in arrow_schema(TABLES[name]) if field.name not in STAMPED]
    found = rows(parsed)
    assert len(found) == parsed.ledger.rows
    numbers = [row["capture_line"] for row in found]
    assert numbers == sorted(set(numbers))
    assert not numbers or (numbers[0] >= 1 and numbers[-1] <= lines)
    for row in found:
        missing = {name for name, value in row.items() if value is None} - ALWAYS_THERE - UNREASONED
        assert missing == set(reasons(row)) - UNREASONED
    assert (parsed.quarantine is None) == bool(found)


def rows(parsed: Parsed, table: str = "gpu_readings") -> list[dict[str, Any]]:
    """Rows of a table; none when the parser made no table."""
    found: list[dict[str, Any]] = parsed.tables[table].to_pylist() if table in parsed.tables else []
    return found


def reasons(row: dict[str, Any]) -> dict[str, str]:
    """What the row's `absent` says, by column, after a look at its spelling: sorted pairs, parted by one blank."""
    if row["absent"] is None:
        return {}
    pairs = row["absent"].split(" ")
    assert pairs == sorted(pairs)
    found = dict(pair.split("=") for pair in pairs)
    assert len(found) == len(pairs)
    return found


def values(parsed: Parsed, column: str) -> list[Any]:
    """One column of gpu_readings."""
    return [row[column] for row in rows(parsed)]


def cell(field: str, text: str, column: str) -> tuple[Any, str | None]:
    """Value and reason that a text gives in a column of one row."""
    row = rows(read(f"index, {field}, count\n0, {text}, 1\n"))[0]
    return row[column], reasons(row).get(column)


def extra(parsed: Parsed) -> list[tuple[int, str, bool, str]]:
    """Rows of gpu_extra as (line, field, is it known, text)."""
    return [
        (row["capture_line"], row["field"], row["is_known_field"], row["text"]) for row in rows(parsed, "gpu_extra")
    ]


def codes(parsed: Parsed) -> list[tuple[str, str, int | None]]:
    """Remarks as (severity, code, line)."""
    return [(issue.severity, issue.code, issue.line) for issue in parsed.issues]


def ledger(parsed: Parsed) -> tuple[int, int, int, int, int]:
    """Rows, header, blank, structure and refused lines."""
    found = parsed.ledger
    return found.rows, found.header, found.blank, found.structure, found.refused


def in_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Let the parser read in blocks of this many bytes."""
    monkeypatch.setattr(smi_csv, "BLOCK_BYTES", size)
