"""Query results as a table for a terminal, CSV, JSON or Parquet. Nothing in a capture acts on the reader's machine."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any

from pipeline.errors import DatabaseError
from pipeline.renderers.escape import csv_cell, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

_WIDEST = 64


def encode(table: pa.Table, form: str) -> bytes:
    """Encode rows in one of the forms of `_FORMS`."""
    import pyarrow as pa

    try:
        return _FORMS[form](table.rename_columns(_apart(table.column_names)))
    except pa.ArrowNotImplementedError as error:
        raise DatabaseError(f"{error}; cast the column to VARCHAR", code="sql_failed") from error


def _apart(names: list[str]) -> list[str]:
    """Columns of one name (`SELECT 1 AS a, 2 AS a`) get numbers: an object or a Parquet file would lose one."""
    taken = set(names)
    found: set[str] = set()
    apart = []
    for name in names:
        number, told = 0, name
        while told in found or (number and told in taken):
            number += 1
            told = f"{name}_{number}"
        found.add(told)
        apart.append(told)
    return apart


def _records(table: pa.Table) -> list[list[Any]]:
    columns = [_values(column) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)] if columns else []


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Python values; times that Python has no type for (nanoseconds, infinity, year 20000) as text."""
    import pyarrow as pa

    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return list(column.cast(pa.string()).to_pylist())


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return printable(value.isoformat() if hasattr(value, "isoformat") else str(value))


def _as_table(table: pa.Table) -> bytes:
    """Columns side by side; a long cell is cut and says so."""
    shown = [[_cut(_text(cell)) for cell in row] for row in [list(table.column_names), *_records(table)]]
    widths = [max(len(row[position]) for row in shown) for position in range(table.num_columns)]
    numeric = [_is_number(known.type) for known in table.schema]
    lines = []
    for number, row in enumerate(shown):
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
    lines.append(f"({table.num_rows} row{'' if table.num_rows == 1 else 's'})")
    return ("\n".join(lines) + "\n").encode()


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "\u2026"


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _as_csv(table: pa.Table) -> bytes:
    """RFC 4180; NULL is an empty cell; a text that a spreadsheet would run as a formula is made harmless."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([csv_cell(_text(name)) for name in table.column_names])
    for row in _records(table):
        writer.writerow(["" if cell is None else csv_cell(_text(cell)) for cell in row])
    return sink.getvalue().encode()


def _as_json(table: pa.Table) -> bytes:
    """One array of objects; unknown is null."""
    rows = [dict(zip(table.column_names, map(_finite, row), strict=True)) for row in _records(table)]
    return (json.dumps(rows, indent=1, ensure_ascii=True, default=_text, allow_nan=False) + "\n").encode()


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become the texts nan and inf, and not null, which means unknown."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, (list, tuple)) else value


def _as_parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


_FORMS: dict[str, Callable[[pa.Table], bytes]] = {
    "table": _as_table,
    "csv": _as_csv,
    "json": _as_json,
    "parquet": _as_parquet,
}
