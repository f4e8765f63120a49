"""Which rows break which rules, by position, whatever the chunks and whatever else is wrong."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pipeline.errors import StoreError
from pipeline.segments import from_rows
from pipeline.validate import broken_rules, take_out

ID = "a" * 64


def _errors(*changes: dict[str, Any]) -> pa.Table:
    plain = {
        "capture_id": ID,
        "capture_sha256": ID,
        "capture_line": 1,
        "severity": "error",
        "code": "c",
        "message": "m",
    }
    return from_rows("source_errors", [plain | change for change in changes])


def test_rows_that_keep_the_rules_break_none() -> None:
    assert broken_rules("source_errors", _errors({}, {"capture_line": None}, {"severity": "note"})) == {}
    assert broken_rules("source_errors", _errors()) == {}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"capture_line": 0}, "capture_line: at_least_1"),
        ({"severity": "fatal"}, "severity: one_of_note_warning_error"),
        ({"severity": None}, "severity: must not be NULL"),
        ({"message": None}, "message: must not be NULL"),
        ({"capture_id": "A" * 64}, "capture_id: sha256_in_hex"),
        ({"capture_id": None}, "capture_id: must not be NULL"),
        ({"capture_sha256": ID[:-1]}, "capture_sha256: sha256_in_hex"),
    ],
    ids=str,
)
def test_row_that_breaks_a_rule_is_found_by_its_position(change: dict[str, Any], rule: str) -> None:
    assert broken_rules("source_errors", _errors({}, {}, change, {})) == {2: [rule]}


def test_positions_count_over_chunks() -> None:
    parts = [_errors({}), _errors({}, {"capture_line": 0}), _errors({"severity": "x"}, {}), _errors({"message": None})]
    table = pa.concat_tables(parts).unify_dictionaries()
    assert {row: len(rules) for row, rules in broken_rules("source_errors", table).items()} == {2: 1, 3: 1, 5: 1}


def test_all_rules_that_a_row_breaks_are_named() -> None:
    found = broken_rules("source_errors", _errors({}, {"capture_line": -1, "severity": "x", "code": None}))
    assert set(found) == {1}
    assert sorted(found[1]) == [
        "capture_line: at_least_1",
        "code: must not be NULL",
        "severity: one_of_note_warning_error",
    ]


def test_every_row_can_be_broken() -> None:
    table = _errors(*[{"capture_line": 0}] * 5)
    assert set(broken_rules("source_errors", table)) == {0, 1, 2, 3, 4}
    assert len(take_out(table, {0, 1, 2, 3, 4})) == 0


def test_other_columns_are_a_fault_of_ours_and_stop_everything() -> None:
    table = _errors({})
    for wrong in (
        table.drop_columns(["absent"]),
        table.append_column("more", pa.array([1])),
        table.select(table.column_names[::-1]),
        table.set_column(2, "capture_line", pa.array([1], pa.int64())),
    ):
        with pytest.raises(StoreError, match="schema_mismatch"):
            broken_rules("source_errors", wrong)


def test_taking_rows_out_keeps_the_order_of_the_rest() -> None:
    table = _errors(*[{"capture_line": line} for line in (1, 2, 3, 4)])
    assert take_out(table, {0, 2})["capture_line"].to_pylist() == [2, 4]
    assert take_out(table, set()).equals(table)
