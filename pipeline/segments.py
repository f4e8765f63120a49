"""From parsed captures to the tables of a batch: stamp, validate, refuse rows, account, encode as Parquet."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import captures as files
from pipeline.parsed import Issue, rows_table
from pipeline.validate import broken_rules, take_out
from schemas import TABLES, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.captures import Capture
    from pipeline.parsed import Ledger, Parsed

ROW_GROUP = 131_072
MANY = 16
"""Captures in a group from which their tables are copied into one chunk each."""


@dataclass
class Item:
    """A parsed capture: its row of `captures`, its tables, its remarks and its ledger."""

    row: dict[str, Any]
    tables: dict[str, pa.Table]
    issues: list[Issue]
    ledger: Ledger

    @classmethod
    def of(cls, capture: Capture, parsed: Parsed) -> Item:
        """Join a capture and what its parser made of it. The bytes are let go."""
        row = files.row(capture) | {"status_reason": parsed.quarantine}
        return cls(row, parsed.tables, [*capture.issues, *parsed.issues], parsed.ledger)

    @property
    def row_count(self) -> int:
        """Rows over all its tables."""
        return sum(len(table) for table in self.tables.values())


def tables(group: list[Item]) -> Iterator[tuple[str, pa.Table]]:
    """Return the validated tables of a group of captures."""
    return checked(joined(group), group)


def joined(group: list[Item]) -> dict[str, pa.Table]:
    """Return what the captures of a group say, stamped, one table of a kind."""
    return {name: table for name in TABLES if (table := _joined(name, group)) is not None}


def checked(data: dict[str, pa.Table], group: list[Item]) -> Iterator[tuple[str, pa.Table]]:
    """Validate joined tables; `captures` and `source_errors` come last. A faultless table is given back as it is."""
    if not group:
        return
    for name, table in _without_broken(data, group).items():
        if len(table):
            yield name, table
    for item in group:
        item.row |= _status(item)
    for name, rows in (
        ("captures", [item.row for item in group]),
        ("source_errors", [_error_row(issue, item.row) for item in group for issue in item.issues]),
    ):
        table = from_rows(name, rows)
        if broken := broken_rules(name, table):
            raise AssertionError(f"{name} breaks its own rules: {broken}")
        if rows:
            yield name, table


def _joined(name: str, group: list[Item]) -> pa.Table | None:
    stamped = [_stamp(name, item.tables[name], item.row) for item in group if name in item.tables]
    if not stamped:
        return None
    table = pa.concat_tables(stamped).unify_dictionaries()
    # Every chunk now holds the whole dictionary: thousands of small captures would be looked up thousands of times.
    return table.combine_chunks() if len(stamped) > MANY else table


def _stamp(name: str, table: pa.Table, row: dict[str, Any]) -> pa.Table:
    """Put the identity of the capture into every row."""
    schema = arrow_schema(TABLES[name])
    arrays = []
    for known in schema:
        if known.name in ("capture_id", "capture_sha256"):
            codes = pa.repeat(pa.scalar(0, pa.int32()), len(table))
            arrays.append(pa.DictionaryArray.from_arrays(codes, pa.array([row[known.name]], pa.string())))
        else:
            arrays.append(table[known.name])
    return pa.Table.from_arrays(arrays, schema=schema)


def _without_broken(data: dict[str, pa.Table], group: list[Item]) -> dict[str, pa.Table]:
    """Refuse the lines whose rows break a rule: their rows leave every table, their capture says so."""
    lines: dict[tuple[str, int | None], list[str]] = defaultdict(list)
    for name, table in data.items():
        for position, rules in sorted(broken_rules(name, table).items()):
            place = (table["capture_id"][position].as_py(), table["capture_line"][position].as_py())
            lines[place] += [f"{name}.{rule}" for rule in rules]
    if not lines:
        return data
    by_id = {item.row["capture_id"]: item for item in group}
    for (capture_id, line), rules in lines.items():
        item = by_id[capture_id]
        item.ledger.rows -= 1
        item.ledger.refused += 1
        message = f"row breaks {', '.join(rules)}; the line is refused, its bytes are kept"
        item.issues.append(Issue("error", "rule_broken", message, line))
    return {name: take_out(table, _positions(table, set(lines))) for name, table in data.items()}


def _positions(table: pa.Table, lines: set[tuple[str, int | None]]) -> set[int]:
    places = zip(table["capture_id"].to_pylist(), table["capture_line"].to_pylist(), strict=True)
    return {position for position, place in enumerate(places) if place in lines}


def _status(item: Item) -> dict[str, Any]:
    ledger = item.ledger
    reason = item.row["status_reason"]
    if reason is None and not ledger.rows and any(issue.code == "rule_broken" for issue in item.issues):
        reason = "rule_broken"
    status = "quarantined" if reason else "accepted_with_rejects" if ledger.refused else "accepted"
    counts = {f"{name}_count": getattr(ledger, name) for name in ("header", "blank", "structure", "refused")}
    counts |= {"total_count": ledger.total, "row_count": ledger.rows}
    return {"status": status, "status_reason": reason, "counted": ledger.counted, **counts}


def _error_row(issue: Issue, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "capture_id": row["capture_id"],
        "capture_sha256": row["capture_sha256"],
        "capture_line": issue.line,
        "severity": issue.severity,
        "code": issue.code,
        "subject": issue.subject,
        "message": issue.message,
    }


def from_rows(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Make a table of few rows; a column that a row does not name is NULL, and absent says not_recorded."""
    return rows_table(arrow_schema(TABLES[name]), rows)


def encode(table: pa.Table) -> memoryview:
    """Encode as Parquet: the same table gives the same bytes, and every page has a checksum.

    Integers come in steps (lines, sweeps, clocks) and go as differences. Statistics are for numbers and times alone:
    over text they cost as much as all the rest, and no query here prunes by text.
    """
    sink = pa.BufferOutputStream()
    kinds = {known.name: known.type for known in table.schema}
    texts = [name for name, kind in kinds.items() if pa.types.is_dictionary(kind) or pa.types.is_floating(kind)]
    steps = {name: "DELTA_BINARY_PACKED" for name, kind in kinds.items() if _is_step(kind)}
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=1,
        row_group_size=ROW_GROUP,
        write_page_checksum=True,
        write_statistics=[name for name, kind in kinds.items() if not pa.types.is_dictionary(kind)],
        use_dictionary=texts,
        column_encoding=steps,
    )
    return memoryview(sink.getvalue())


def _is_step(kind: pa.DataType) -> bool:
    return bool(pa.types.is_signed_integer(kind) or pa.types.is_timestamp(kind))


def versions() -> dict[str, str]:
    """Return the versions that wrote a batch."""
    return {name: version(name) for name in ("gpu-evidence", "pandera", "pyarrow")}
