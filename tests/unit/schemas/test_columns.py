"""Rules of columns: each with a value at its edge, one beyond it, and unknown, which breaks no rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from schemas import TABLES, arrow_schema
from schemas.columns import HEX64, TEXT, at_least, between, column, matches, one_of, table

if TYPE_CHECKING:
    from schemas.columns import Rule


def _answers(rule: Rule, values: list[Any], kind: pa.DataType) -> list[bool]:
    """One answer per value; a plain True says that all are fine."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    parts = [pa.array([value], plain) for value in values]
    data = pa.chunked_array([part.dictionary_encode().cast(kind) if plain != kind else part for part in parts], kind)
    answer = rule[1](data)
    return [True] * len(values) if answer is True else list(answer.to_pylist())


@pytest.mark.parametrize(
    ("rule", "kind", "values", "expected"),
    [
        (at_least(0), pa.int32(), [0, -1, None, 5], [True, False, True, True]),
        (at_least(1), pa.float64(), [1.0, 0.999], [True, False]),
        (at_least(0), pa.int64(), [None, None], [True, True]),
        (between(0, 100), pa.int32(), [0, 100, -1, 101, None], [True, True, False, False, True]),
        (between(-100, 250), pa.int32(), [-100, 250], [True, True]),
        (matches("pstate", "P[0-9]{1,2}"), TEXT, ["P0", "P12", "P123", "xP0", None], [True, True, False, False, True]),
        (matches("pstate", "P[0-9]"), TEXT, ["P0\n", "P0"], [False, True]),
        (matches("or", "a|bc"), pa.string(), ["a", "bc", "ac", "abc"], [True, True, False, False]),
        (one_of("note", "error"), TEXT, ["note", "error", "Note", "", None], [True, True, False, False, True]),
        (HEX64, TEXT, ["0" * 64, "f" * 64, "F" * 64, "0" * 63, "0" * 65], [True, True, False, False, False]),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) and isinstance(value[0], str) else "",
)
def test_rule(rule: Rule, kind: pa.DataType, values: list[Any], expected: list[bool]) -> None:
    assert _answers(rule, values, kind) == expected


def test_value_of_a_dictionary_that_no_row_uses_breaks_nothing() -> None:
    data = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), pa.array(["P0", "bad"]))
    answer = matches("pstate", "P[0-9]")[1](pa.chunked_array([data]))
    assert answer is True or answer.to_pylist() == [True, True]


def test_declaration_gives_the_arrow_schema() -> None:
    made = table(
        "t",
        "One row per thing.",
        {"a": column(TEXT, "A.", required=True), "b": column(pa.int64(), "B.", unit="MHz", source="clocks")},
    )
    assert arrow_schema(made) == pa.schema([pa.field("a", TEXT, nullable=False), pa.field("b", pa.int64())])


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_described_and_leads_back_to_a_capture(name: str) -> None:
    schema = TABLES[name]
    assert schema.description
    assert schema.description.startswith("One row per ")
    fields = arrow_schema(schema)
    assert fields.names == list(schema.columns)
    assert fields.names[0] == "capture_id"
    assert fields.names[1] == "capture_sha256"
    assert fields.names[-1] == "absent"
    assert not fields.field("capture_id").nullable
    for column_name, declared in schema.columns.items():
        assert declared.description, f"{name}.{column_name}"
        assert declared.description.endswith("."), f"{name}.{column_name}"
