"""Query results in four forms: complete, the same at every run, and harmless on the reader's machine."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import DatabaseError
from pipeline.rows import encode


def _table(**columns: Any) -> pa.Table:
    return pa.table(columns)


def test_table_for_a_terminal() -> None:
    table = _table(name=["a", None], n=pa.array([7, 1234]), ok=[True, False], at=[date(2026, 1, 2), None])
    assert encode(table, "table").decode() == (
        "name     n  ok     at\n"
        "----  ----  -----  ----------\n"
        "a        7  true   2026-01-02\n"
        "NULL  1234  false  NULL\n"
        "(2 rows)\n"
    )
    assert encode(table.slice(0, 1), "table").decode().endswith("(1 row)\n")
    assert encode(table.slice(0, 0), "table").decode().endswith("(0 rows)\n")


def test_long_cell_is_cut_and_says_so() -> None:
    lines = encode(_table(a=["x" * 64, "y" * 65]), "table").decode().splitlines()
    assert lines[2] == "x" * 64
    assert lines[3] == "y" * 63 + "\u2026"


HOSTILE = "a\x1b[31mb\rc\nd\te\u202ef\u200bg\x07\x9b"
WRITTEN_OUT = r"a\u{1b}[31mb\u{d}c\u{a}d\u{9}e\u{202e}f\u{200b}g\u{7}\u{9b}"


@pytest.mark.parametrize("form", ["table", "csv"])
def test_nothing_controls_the_terminal(form: str) -> None:
    shown = encode(pa.table({HOSTILE: [HOSTILE]}), form).decode()
    assert shown.count(WRITTEN_OUT) == 2
    assert {char for char in shown if not char.isprintable()} == {"\n"}


def test_json_is_ascii_and_keeps_the_text() -> None:
    shown = encode(_table(a=[HOSTILE]), "json")
    assert shown.isascii()
    assert json.loads(shown) == [{"a": HOSTILE}]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd", "'+cmd"),
        ("-cmd", "'-cmd"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-12.5", "-12.5"),
        ("+3", "+3"),
        ("1e5", "1e5"),
        ("a=1", "a=1"),
        ('say "hi", you', 'say "hi", you'),
        ("", ""),
    ],
)
def test_csv_cell_is_never_a_formula(text: str, cell: str) -> None:
    ((header, count), (found, number)) = list(csv.reader(io.StringIO(encode(_table(a=[text], n=[-5]), "csv").decode())))
    assert (header, count, found, number) == ("a", "n", cell, "-5")


def test_csv_of_unknown_is_an_empty_cell() -> None:
    assert encode(_table(a=[None, "x"], b=[1, 2]), "csv") == b"a,b\n,1\nx,2\n"
    assert encode(pa.table({"=cmd": [1]}), "csv") == b"'=cmd\n1\n"


def test_json_of_every_kind_of_value() -> None:
    table = pa.table(
        {
            "text": ["x"],
            "unknown": pa.array([None], pa.int64()),
            "number": [1.5],
            "nan": [float("nan")],
            "lists": [[1.0, float("inf")]],
            "at": [datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)],
        }
    )
    assert json.loads(encode(table, "json")) == [
        {
            "text": "x",
            "unknown": None,
            "number": 1.5,
            "nan": "nan",
            "lists": [1.0, "inf"],
            "at": "2026-01-02T03:04:05+00:00",
        }
    ]


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (pa.array([1], pa.timestamp("ns")), "1970-01-01 00:00:00.000000001"),
        (pa.array([10_957 + 45 * 146_097], pa.date32()), "20000-01-01"),  # 45 cycles of 400 years after 2000
    ],
    ids=["nanoseconds", "year 20000"],
)
def test_time_that_python_cannot_hold_is_shown_as_text(column: pa.Array, text: str) -> None:
    assert json.loads(encode(_table(a=column), "json")) == [{"a": text}]
    assert text in encode(_table(a=column), "csv").decode()


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a", "a"], ["a", "a_1"]),
        (["a", "a", "a_1"], ["a", "a_2", "a_1"]),
        (["a", "b", "a", "a"], ["a", "b", "a_1", "a_2"]),
    ],
)
def test_no_column_is_lost_to_another_of_its_name(names: list[str], told: list[str]) -> None:
    table = pa.Table.from_arrays([pa.array([position]) for position in range(len(names))], names=names)
    wanted = dict(zip(told, range(len(names)), strict=True))
    assert json.loads(encode(table, "json")) == [wanted]
    assert pq.read_table(io.BytesIO(encode(table, "parquet"))).to_pylist() == [wanted]


def test_parquet_gives_back_the_rows() -> None:
    table = _table(a=["x", None], b=[1, 2])
    assert pq.read_table(io.BytesIO(encode(table, "parquet"))).equals(table)


def test_type_that_a_form_cannot_hold_is_an_error_of_ours() -> None:
    days = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    with pytest.raises(DatabaseError, match="cast the column to VARCHAR"):
        encode(_table(a=days), "parquet")
