"""Pandera over Arrow tables: which rows break which rule. One call per batch, never per capture.

Columns that hold nothing are checked for type by the fixed Arrow schema alone: a rule cannot fail on them, and a
monitor log has sixty of them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pandera.errors import SchemaErrors
from pandera.pyarrow import DataFrameSchema

from pipeline.errors import StoreError
from schemas import TABLES, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterator


def broken_rules(name: str, table: pa.Table) -> dict[int, list[str]]:
    """Rows (by position) of a table that break a rule, each with the rules as `column: rule`."""
    expected = arrow_schema(TABLES[name])
    if table.schema.names != expected.names or table.schema.types != expected.types:
        raise StoreError(f"columns of {name} are {table.schema}, expected {expected}", code="schema_mismatch")
    schema, filled = _filled(TABLES[name], table)
    try:
        schema.validate(filled, lazy=True)
    except SchemaErrors as errors:
        broken: dict[int, list[str]] = defaultdict(list)
        for row, rule in _rows(errors, table):
            broken[row].append(rule)
        return dict(broken)
    return {}


def _filled(schema: DataFrameSchema, table: pa.Table) -> tuple[DataFrameSchema, pa.Table]:
    names = [
        name
        for name, declared in schema.columns.items()
        if not declared.nullable or table[name].null_count < len(table)
    ]
    checks = schema.checks if set(names) == set(schema.columns) or schema.checks else []
    columns = {name: declared for name, declared in schema.columns.items() if name in names or checks}
    return DataFrameSchema(columns, checks=checks, name=schema.name, strict=True), table.select(list(columns))


def _rows(errors: SchemaErrors, table: pa.Table) -> Iterator[tuple[int, str]]:
    nulls: set[str] = set()
    for case in errors.failure_cases.to_pylist():
        column, check, index = case["column"], case["check"], case["index"]
        if check == "not_nullable":
            nulls.add(column)  # pandera's index counts the failures there, not the rows
        elif index is None:
            raise StoreError(
                f"rule {check} of {column} failed for the table as a whole: {case}", code="schema_mismatch"
            )
        else:
            yield index, f"{column or 'row'}: {check}"
    for column in sorted(nulls):
        for index, missing in enumerate(pc.is_null(table[column]).to_pylist()):
            if missing:
                yield index, f"{column}: must not be NULL"


def take_out(table: pa.Table, rows: set[int]) -> pa.Table:
    """Return the table without the rows at these positions."""
    keep: Any = pa.array([position not in rows for position in range(len(table))], pa.bool_())
    return table.filter(keep)
