"""How a column is declared: type, unit, source, description and rules, once, in a Pandera column.

The Arrow schema, validation, the data dictionary and the SQL comments are read from these objects. Rules are native
checks over the Arrow column (one answer per row, or a plain True when a look at the extremes settles it): built-in
checks do not say which rows broke them, and cost 50 ms per column and million rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pandera.pyarrow import Check, Column, DataFrameSchema

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = pa.dictionary(pa.int32(), pa.string())
"""Text of few distinct values. Free text of many distinct values is a plain pa.string()."""
UTC = pa.timestamp("ms", tz="UTC")
LOCAL = pa.timestamp("ms")

# Pandera wants its own names for dictionaries; all else goes by the Arrow type.
Rule = tuple[str, "Callable[[pa.ChunkedArray], Any]"]


def column(
    kind: pa.DataType,
    description: str,
    *,
    unit: str | None = None,
    source: str | None = None,
    required: bool = False,
    rules: tuple[Rule, ...] = (),
) -> Column:
    """Declare a column; `source` is the nvidia-smi field or label it is read from."""
    return Column(
        kind,
        checks=[_native(name, test) for name, test in rules],
        nullable=not required,
        description=description,
        metadata={"arrow": kind, "unit": unit, "source": source},
    )


def table(
    name: str, description: str, columns: dict[str, Column], checks: list[Check] | None = None
) -> DataFrameSchema:
    """Declare a table: exactly these columns, in this order; the description's first sentence is its grain."""
    fields = [
        pa.field(key, declared.metadata["arrow"], nullable=declared.nullable)
        for key, declared in columns.items()
        if declared.metadata is not None
    ]
    return DataFrameSchema(
        columns,
        name=name,
        description=description,
        checks=checks or [],
        strict=True,
        ordered=True,
        metadata={"arrow": pa.schema(fields)},
    )


def keys(*, line: str = "Line of the capture, from 1, that the row was read from.") -> dict[str, Column]:
    """Return the columns by which every row leads back to a capture and a line."""
    return {
        "capture_id": column(TEXT, "The observation that the row comes from: join key.", required=True, rules=(HEX64,)),
        "capture_sha256": column(TEXT, "SHA-256 of the capture's bytes.", required=True, rules=(HEX64,)),
        "capture_line": column(pa.int32(), line, rules=(at_least(1),)),
    }


def pointer_keys() -> dict[str, Column]:
    """Return the keys of a table that is read from JSON: its place is a pointer, its line is not known."""
    pointer = "Place in the JSON document (RFC 6901), from which the row was read."
    return {
        **keys(line="NULL: JSON has no lines, see capture_pointer."),
        "capture_pointer": column(pa.string(), pointer, required=True),
    }


def absent() -> dict[str, Column]:
    """Return the last column of every table: why the row's NULLs are NULL."""
    text = (
        "Why cells of this row are NULL: sorted `column=reason` pairs, parted by blanks; NULL when nothing is absent."
    )
    return {"absent": column(TEXT, text)}


def arrow_schema(schema: DataFrameSchema) -> pa.Schema:
    """Return the Arrow schema that a Pandera table stands for."""
    return (schema.metadata or {})["arrow"]


def unstamped_schema(schema: DataFrameSchema) -> pa.Schema:
    """The Arrow schema that a parser fills: all but the identity of the capture, which is stamped on later."""
    return pa.schema([known for known in arrow_schema(schema) if known.name not in ("capture_id", "capture_sha256")])


def _native(name: str, test: Callable[[pa.ChunkedArray], Any]) -> Check:
    def check(data: Any) -> Any:
        return test(data.table[data.key])

    return Check(check, name=name)


def at_least(low: float) -> Rule:
    """Value is `low` or more."""

    def test(values: pa.ChunkedArray) -> Any:
        least = pc.min(values).as_py()
        return True if least is None or least >= low else pc.fill_null(pc.greater_equal(values, low), fill_value=True)

    return f"at_least_{low:g}", test


def between(low: float, high: float) -> Rule:
    """Value lies in the closed range."""

    def test(values: pa.ChunkedArray) -> Any:
        extremes = pc.min_max(values).as_py()
        if extremes["min"] is None or (extremes["min"] >= low and extremes["max"] <= high):
            return True
        inside = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
        return pc.fill_null(inside, fill_value=True)

    return f"between_{low:g}_and_{high:g}", test


def matches(name: str, pattern: str) -> Rule:
    """Text matches the whole RE2 pattern; dictionary columns are tested once per distinct text."""

    def test(values: pa.ChunkedArray) -> Any:
        return _per_distinct(values, lambda texts: pc.match_substring_regex(texts, f"^(?:{pattern})$"))

    return name, test


def one_of(*texts: str) -> Rule:
    """Text is one of a closed list."""

    def test(values: pa.ChunkedArray) -> Any:
        allowed = pa.array(texts)
        return _per_distinct(values, lambda found: pc.is_in(found, value_set=allowed))

    return "one_of_" + "_".join(texts), test


def _per_distinct(values: pa.ChunkedArray, test: Callable[[pa.Array], pa.Array]) -> Any:
    if not pa.types.is_dictionary(values.type):
        return pc.fill_null(test(values), fill_value=True)
    answers = [(chunk, test(chunk.dictionary)) for chunk in values.chunks]
    if all(pc.all(answer).as_py() is not False for _, answer in answers):
        return True
    spread = [answer.take(chunk.indices) for chunk, answer in answers]
    return pc.fill_null(pa.chunked_array(spread, type=pa.bool_()), fill_value=True)


HEX64 = matches("sha256_in_hex", "[0-9a-f]{64}")
"""64 lower-case hex digits."""
