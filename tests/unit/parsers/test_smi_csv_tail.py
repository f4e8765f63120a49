"""The last line without a newline: a killed logger cuts it anywhere, and a cut cell must never be taken for a value."""

from __future__ import annotations

from typing import Any

import pytest
from smi_csv_samples import codes, extra, ledger, read, reasons, rows, values

HEAD = "index, name, clocks.current.sm [MHz]\n0, A, 345 MHz\n"


@pytest.mark.parametrize(
    "tail", ["1", "1, A", "1, A,", "1, A, ", "1, A, 1980 M", "1, A, 1980 MH", "1, A, 1980", "1, A, 19"]
)
def test_visibly_cut_row_is_refused_with_a_warning(tail: str) -> None:
    parsed = read(HEAD + tail)
    assert values(parsed, "sm_clock_mhz") == [345]
    assert ledger(parsed) == (1, 1, 0, 0, 1)
    assert codes(parsed) == [("warning", "truncated_row", 3)]
    assert parsed.quarantine is None


def test_whole_cell_with_unit_is_kept() -> None:
    parsed = read(HEAD + "1, A, 1980 MHz")
    assert values(parsed, "sm_clock_mhz") == [345, 1980]
    assert parsed.issues == []


@pytest.mark.parametrize("tail", ["[N", "[N/", "[N/A", "[Unknown Err", "["])
@pytest.mark.parametrize("field", ["clocks.current.sm [MHz]", "power.draw [W]", "mig.mode.current", "fabric.state"])
def test_cut_token_is_refused(field: str, tail: str) -> None:
    parsed = read(f"index, {field}\n0, [N/A]\n1, {tail}")
    assert ledger(parsed) == (1, 1, 0, 0, 1)
    assert codes(parsed) == [("warning", "truncated_row", 3)]


@pytest.mark.parametrize("field", ["clocks.current.sm [MHz]", "power.draw [W]", "mig.mode.current", "fabric.state"])
def test_whole_token_is_kept(field: str) -> None:
    parsed = read(f"index, {field}\n0, [N/A]\n1, [N/A]")
    assert ledger(parsed) == (2, 1, 0, 0, 0)
    assert parsed.issues == []


# header cell, the cell in the row before, the last cell, column, what is left of it
KEPT: list[tuple[str, str, str, str, Any]] = [
    ("power.draw [W]", "69.85 W", "604.18 W", "power_draw_w", 604.18),
    ("power.draw [W]", "69.85", "604.18", "power_draw_w", 604.18),
    ("clocks_event_reasons.active", "0x0000000000000001", "0x0000000000000004", "clocks_event_reasons", 4),
    ("clocks_event_reasons.gpu_idle", "Active", "Not Active", "is_gpu_idle", False),
    ("clocks_event_reasons.gpu_idle", "Not Active", "Active", "is_gpu_idle", True),
    ("remapped_rows.pending", "No", "Yes", "is_remapped_rows_pending", True),
    ("timestamp", "2026/11/02 06:15:41.207", "2026/11/02 06:15:41.258", "observed_local", "2026-11-02 06:15:41.258000"),
    ("mig.mode.current", "Disabled", "Enabled", "mig_mode", "Enabled"),
    ("name", "NVIDIA L40S", "NVIDIA L40S", "model", "NVIDIA L40S"),
]


@pytest.mark.parametrize(("field", "before", "last", "column", "value"), KEPT)
def test_whole_last_cell_is_kept(field: str, before: str, last: str, column: str, value: object) -> None:
    parsed = read(f"index, {field}\n0, {before}\n1, {last}")
    found = values(parsed, column)[1]
    assert (str(found) if column == "observed_local" else found) == value
    assert parsed.issues == []


CUT = [
    ("power.draw [W]", "69.85 W", "604.18 "),
    ("power.draw [W]", "69.85 W", "604.18"),
    ("power.draw [W]", "69.85 W", "604.1"),
    ("power.draw [W]", "69.85", "604.1"),
    ("power.draw [W]", "69.85", "604."),
    ("power.draw [W]", "69.85", "60"),
    ("clocks_event_reasons.active", "0x0000000000000001", "0x00000000"),
    ("clocks_event_reasons.active", "0x0000000000000001", "0x000000000000000"),
    ("clocks_event_reasons.active", "0x0000000000000001", "0"),
    ("clocks_event_reasons.gpu_idle", "Active", "Not"),
    ("clocks_event_reasons.gpu_idle", "Active", "Not Activ"),
    ("clocks_event_reasons.gpu_idle", "Active", "Act"),
    ("remapped_rows.pending", "No", "Y"),
    ("timestamp", "2026/11/02 06:15:41.207", "2026/11/02 06:15:41.25"),
    ("timestamp", "2026/11/02 06:15:41.207", "2026/11/02 06:15:41"),
    ("clocks.current.sm [MHz]", "345 MHz", "1980"),
    ("memory.used [MiB]", "5 MiB", "81559 Mi"),
    ("utilization.gpu [%]", "5 %", "99 "),
    ("mig.mode.current", "Enabled", ""),
]


@pytest.mark.parametrize(("field", "before", "last"), CUT)
def test_cut_last_cell_costs_the_row(field: str, before: str, last: str) -> None:
    parsed = read(f"index, {field}\n0, {before}\n1, {last}")
    assert values(parsed, "gpu_index") == [0]
    assert codes(parsed) == [("warning", "truncated_row", 3)]


# A bare number may have lost digits, a text may have lost its end: the row stays, the cell is not used.
UNKNOWN = [
    ("temperature.gpu", "58", "5", "core_temp_c"),
    ("temperature.gpu", "58", "58", "core_temp_c"),
    ("clocks.current.sm [MHz]", "345", "1980", "sm_clock_mhz"),
    ("memory.used [MiB]", "345", "81559", "memory_used_mib"),
    ("mig.mode.current", "Disabled", "Enab", "mig_mode"),
    ("name", "NVIDIA L40S", "NVIDIA L4", "model"),
    ("driver_version", "595.91.07", "595.91.0", "driver_version"),
]


@pytest.mark.parametrize(("field", "before", "last", "column"), UNKNOWN)
def test_last_cell_that_may_be_cut_is_null_and_the_row_stays(field: str, before: str, last: str, column: str) -> None:
    parsed = read(f"index, {field}\n0, {before}\n1, {last}")
    assert values(parsed, "gpu_index") == [0, 1]
    first, second = rows(parsed)
    assert first[column] is not None
    assert second[column] is None
    assert reasons(second)[column] == "not_recorded"
    assert codes(parsed) == [("warning", "truncated_cell", 3)]
    assert (parsed.ledger.rows, parsed.ledger.refused) == (2, 0)


def test_first_hex_mask_without_newline_cannot_be_told() -> None:
    parsed = read("index, clocks_event_reasons.active\n0, 0x0000000000000004")
    assert values(parsed, "clocks_event_reasons") == [None]
    assert codes(parsed) == [("warning", "truncated_cell", 2)]


def test_only_the_last_cell_is_in_doubt() -> None:
    parsed = read("index, name, temperature.gpu\n0, A, 58\n1, B, 6")
    assert values(parsed, "model") == ["A", "B"]
    assert values(parsed, "core_temp_c") == [58, None]


def test_last_cell_of_a_field_without_column_is_not_kept_when_in_doubt() -> None:
    parsed = read("index, fabric.cliqueId\n0, 17\n1, 1")
    assert extra(parsed) == [(2, "fabric.cliqueId", True, "17")]
    assert codes(parsed) == [("warning", "truncated_cell", 3)]


@pytest.mark.parametrize(
    ("field", "before", "last"),
    [
        ("clocks.applications.graphics [MHz]", "1980 MHz", "1410 MHz"),
        ("clocks.applications.memory [MHz]", "1980 MHz", "9 MHz"),
        ("protected_memory.used [MiB]", "5 MiB", "6 MiB"),
        ("utilization.jpeg [%]", "5 %", "6 %"),
    ],
)
def test_last_cell_with_unit_of_a_field_without_column(field: str, before: str, last: str) -> None:
    parsed = read(f"index, {field}\n0, {before}\n1, {last}")
    assert [text for _, _, _, text in extra(parsed)] == [before, last]
    assert parsed.issues == []


def test_single_column_without_newline_is_refused() -> None:
    parsed = read("temperature.gpu\n58\n5")
    assert values(parsed, "core_temp_c") == [58]
    assert codes(parsed) == [("warning", "truncated_row", 3)]


def test_only_row_is_cut() -> None:
    parsed = read("index, name, uuid\n0, A")
    assert parsed.quarantine is not None
    assert rows(parsed) == []


def test_header_without_newline_is_a_header() -> None:
    parsed = read("index, name")
    assert parsed.ledger.header == 1
    assert rows(parsed) == []


def test_repeated_header_without_newline_is_a_header() -> None:
    parsed = read("index, name\n0, A\nindex, name")
    assert ledger(parsed) == (1, 2, 0, 0, 0)


def test_error_sentence_at_the_end_is_no_cut_row() -> None:
    parsed = read(HEAD + "Unable to determine the device handle for GPU 0000:CB:00.0: Unknown Error")
    assert codes(parsed) == [("error", "device_unreachable", 3)]


def test_blank_tail_is_blank() -> None:
    assert ledger(read(HEAD + "  ")) == (1, 1, 1, 0, 0)


def test_tail_with_too_many_cells_is_refused_for_that() -> None:
    assert codes(read(HEAD + "1, A, 5 MHz, 6")) == [("error", "cell_count", 3)]


def test_tail_ends_in_carriage_return_only() -> None:
    parsed = read("index, clocks.current.sm [MHz]\r\n0, 5 MHz\r\n1, 1980 MHz\r")
    assert values(parsed, "sm_clock_mhz") == [5, 1980]
    assert parsed.issues == []


@pytest.mark.parametrize("at", range(1, len("1, NVIDIA L40S, 1980 MHz, 604.18 W, 0x0000000000000004")))
def test_cut_anywhere_never_gives_a_wrong_value(at: int) -> None:
    whole = "1, NVIDIA L40S, 1980 MHz, 604.18 W, 0x0000000000000004"
    header = "index, name, clocks.current.sm [MHz], power.draw [W], clocks_event_reasons.active"
    before = "0, NVIDIA L40S, 345 MHz, 70.02 W, 0x0000000000000001"
    parsed = read(f"{header}\n{before}\n{whole[:at]}")
    assert values(parsed, "gpu_index") == [0]
    assert parsed.ledger.refused == 1
