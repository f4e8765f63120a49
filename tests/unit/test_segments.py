"""From parsed captures to tables: stamped, checked row by row, accounted for, and encoded the same way each time."""

from __future__ import annotations

import hashlib
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.parsed import CaptureFacts, Issue, Ledger
from pipeline.parsers import KINDS
from pipeline.segments import Item, encode, from_rows, tables, versions
from schemas import TABLES, arrow_schema

A, B = "a" * 64, "b" * 64
HEADER = b"index, name, utilization.gpu [%]\n"


def _item(capture_id: str, data: bytes) -> Item:
    parsed = KINDS["smi_csv"].parse(data, CaptureFacts())
    row: dict[str, Any] = {"capture_id": capture_id, "capture_sha256": capture_id[::-1], "path": capture_id[0]}
    row |= {"status_reason": parsed.quarantine, "kind": "smi_csv"}
    return Item(row, parsed.tables, list(parsed.issues), parsed.ledger)


def _made(*items: Item) -> dict[str, pa.Table]:
    return dict(tables(list(items)))


def test_rows_carry_the_identity_of_their_capture() -> None:
    made = _made(_item(A, HEADER + b"0, x, 1 %\n"), _item(B, HEADER + b"1, y, 2 %\n2, y, 3 %\n"))
    readings = made["gpu_readings"]
    assert readings["capture_id"].to_pylist() == [A, B, B]
    assert readings["capture_sha256"].to_pylist() == [A[::-1], B[::-1], B[::-1]]
    assert readings["capture_line"].to_pylist() == [2, 2, 3]
    assert readings["gpu_index"].to_pylist() == [0, 1, 2]
    assert readings.schema.equals(arrow_schema(TABLES["gpu_readings"]))


def test_captures_come_last_and_each_is_a_row() -> None:
    made = _made(_item(A, HEADER + b"0, x, 1 %\n"), _item(B, HEADER + b"0\n"))
    assert list(made) == ["gpu_readings", "captures", "source_errors"]
    assert made["captures"]["path"].to_pylist() == ["a", "b"]
    assert made["captures"]["status"].to_pylist() == ["accepted", "quarantined"]


def test_no_captures_no_tables() -> None:
    assert _made() == {}


def test_row_that_breaks_a_rule_is_refused_and_the_rest_stays() -> None:
    bad = _item(A, b"\n" + HEADER + b"0, x, 10 %\n1, x, 250 %\n2, x, 30 %\n3, x, 4\n")
    good = _item(B, HEADER + b"0, y, 100 %\n")
    made = _made(bad, good)
    assert made["gpu_readings"]["capture_line"].to_pylist() == [3, 5, 6, 2]
    assert made["gpu_readings"]["gpu_utilization_pct"].to_pylist() == [10, 30, 4, 100]
    one, other = made["captures"].to_pylist()
    counts = ("total_count", "row_count", "header_count", "blank_count", "structure_count", "refused_count")
    assert [one[name] for name in counts] == [6, 3, 1, 1, 0, 1]
    assert [other[name] for name in counts] == [2, 1, 1, 0, 0, 0]
    assert (one["status"], other["status"]) == ("accepted_with_rejects", "accepted")
    (error,) = made["source_errors"].to_pylist()
    assert (error["capture_id"], error["capture_line"], error["severity"], error["code"]) == (
        A,
        4,
        "error",
        "rule_broken",
    )
    assert "gpu_readings.gpu_utilization_pct: between_0_and_100" in error["message"]


def test_line_is_refused_in_every_table_it_gave_rows_to() -> None:
    header = b"index, utilization.gpu [%], my.own.field\n"
    made = _made(_item(A, header + b"0, 250 %, lost\n1, 20 %, kept\n"))
    assert made["gpu_extra"]["text"].to_pylist() == ["kept"]
    assert made["gpu_readings"]["gpu_index"].to_pylist() == [1]
    (capture,) = made["captures"].to_pylist()
    assert (capture["row_count"], capture["refused_count"]) == (1, 1)


def test_line_that_breaks_two_rules_is_one_refusal() -> None:
    header = b"index, utilization.gpu [%], utilization.memory [%]\n"
    made = _made(_item(A, header + b"0, 250 %, 999 %\n1, 2 %, 3 %\n"))
    (error,) = [row for row in made["source_errors"].to_pylist() if row["severity"] == "error"]
    assert "gpu_utilization_pct" in error["message"]
    assert "memory_utilization_pct" in error["message"]
    (capture,) = made["captures"].to_pylist()
    assert (capture["row_count"], capture["refused_count"]) == (1, 1)


def test_capture_whose_rows_are_all_refused_is_quarantined() -> None:
    made = _made(_item(A, HEADER + b"0, x, 250 %\n"))
    assert "gpu_readings" not in made
    (capture,) = made["captures"].to_pylist()
    assert (capture["row_count"], capture["refused_count"], capture["total_count"]) == (0, 1, 2)
    assert (capture["status"], capture["status_reason"]) == ("quarantined", "rule_broken")


def test_rows_say_why_a_cell_is_null() -> None:
    (row,) = from_rows(
        "source_errors", [{"capture_id": A, "severity": "note", "code": "c", "message": "m"}]
    ).to_pylist()
    assert row["capture_sha256"] is None
    assert row["absent"] == "capture_sha256=not_recorded"


def test_remark_that_breaks_the_rules_of_remarks_is_a_fault_of_ours() -> None:
    row = {"capture_id": A, "capture_sha256": A, "path": "a", "status_reason": None}
    item = Item(row, {}, [Issue("error", "c", "m", 0)], Ledger())
    with pytest.raises(AssertionError, match="source_errors breaks its own rules"):
        _made(item)


# -- Parquet ---------------------------------------------------------------------------------------------------------


def test_same_table_gives_the_same_bytes_and_comes_back_whole() -> None:
    first, second = (_made(_item(A, HEADER + b"0, x, 1 %\n1, x, [N/A]\n"))["gpu_readings"] for _ in range(2))
    assert bytes(encode(first)) == bytes(encode(second))
    back = pq.read_table(pa.BufferReader(encode(first)))
    assert back.schema.names == first.schema.names
    assert back.to_pylist() == first.to_pylist()


def test_segment_has_the_full_schema_and_checksums() -> None:
    data = bytes(encode(_made(_item(A, HEADER + b"0, x, 1 %\n"))["gpu_readings"]))
    stored = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    assert stored.schema_arrow.names == arrow_schema(TABLES["gpu_readings"]).names
    wrong = bytearray(data)
    wrong[60] ^= 1  # in the first page
    with pytest.raises(OSError, match=r"CRC|checksum|Couldn't deserialize"):
        pq.ParquetFile(pa.BufferReader(bytes(wrong)), page_checksum_verification=True).read()
    assert hashlib.sha256(wrong).hexdigest() != hashlib.sha256(data).hexdigest()


def test_versions_name_what_wrote_a_batch() -> None:
    assert versions()["pyarrow"] == pa.__version__
    assert all(isinstance(text, str) and text for text in versions().values())
