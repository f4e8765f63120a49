"""Cells of --query-gpu captures: values by type, tokens that are no values, and texts that are neither."""

from __future__ import annotations

from datetime import datetime

import pytest
from smi_csv_samples import cell, codes, read, reasons, rows, values

# Every token that stands for a value, and why the value is then missing.
TOKENS = [
    ("[N/A]", "not_supported"),
    ("N/A", "not_supported"),
    ("[Not Supported]", "not_supported"),
    ("[Requested functionality has been deprecated]", "deprecated"),
    ("[Function Not Found]", "not_available"),
    ("[Not Found]", "not_available"),
    ("[No Data]", "not_available"),
    ("[Unknown Error]", "error"),
    ("[Insufficient Permissions]", "insufficient_permissions"),
    ("[GPU access blocked by the operating system]", "insufficient_permissions"),
    ("[GPU requires reset]", "requires_reset"),
    ("[GPU is lost]", "error"),
    ("[Timeout]", "error"),
    ("[Insufficient Size]", "error"),
    ("[Corrupted infoROM]", "error"),
    ("[In use by another client]", "error"),
    ("[Insufficient Resources]", "error"),
    ("[Invalid Argument]", "error"),
    ("[Uninitialized]", "error"),
    ("[Driver Not Loaded]", "error"),
    ("[Driver/library version mismatch]", "error"),
    ("[Insufficient Memory]", "error"),
    ("[Insufficient External Power]", "error"),
    ("[Interrupt Request Issue]", "error"),
    ("[Already Initialized]", "error"),
    ("ERR!", "error"),
    ("[n/a]", "not_supported"),
    ("[UNKNOWN ERROR]", "error"),
    ("[Some text of a later driver]", "error"),
]
# A column of each type, with a value of it.
COLUMNS = {
    "clocks.current.sm [MHz]": ("sm_clock_mhz", "1980 MHz", 1980),
    "memory.used [MiB]": ("memory_used_mib", "512 MiB", 512),
    "temperature.gpu.tlimit": ("core_temp_margin_c", "-3", -3),
    "power.draw [W]": ("power_draw_w", "69.85 W", 69.85),
    "name": ("model", "NVIDIA L40S", "NVIDIA L40S"),
    "mig.mode.current": ("mig_mode", "Disabled", "Disabled"),
    "clocks_event_reasons.sw_power_cap": ("is_sw_power_cap", "Not Active", False),
    "remapped_rows.pending": ("is_remapped_rows_pending", "No", False),
    "clocks_event_reasons.active": ("clocks_event_reasons", "0x0000000000000004", 4),
    "timestamp": ("observed_local", "2026/11/02 06:15:41.207", datetime(2026, 11, 2, 6, 15, 41, 207000)),  # noqa: DTZ001
}


@pytest.mark.parametrize(("token", "reason"), TOKENS, ids=[token for token, _ in TOKENS])
def test_token_is_null_with_its_reason_in_every_type(token: str, reason: str) -> None:
    good = ", ".join(text for _, text, _ in COLUMNS.values())
    bad = ", ".join(token for _ in COLUMNS)
    parsed = read(f"index, {', '.join(COLUMNS)}\n0, {good}\n1, {bad}\n")
    known, missing = rows(parsed)
    for column, _, value in COLUMNS.values():
        assert known[column] == value
        assert column not in reasons(known)
        assert missing[column] is None
        assert reasons(missing)[column] == reason


@pytest.mark.parametrize("field", COLUMNS)
def test_a_column_of_tokens_only_has_no_value(field: str) -> None:
    column = COLUMNS[field][0]
    parsed = read(f"index, {field}\n0, [N/A]\n1, [GPU is lost]\n2, [N/A]\n")
    assert values(parsed, column) == [None, None, None]
    assert [reasons(row)[column] for row in rows(parsed)] == ["not_supported", "error", "not_supported"]
    assert parsed.issues == []


def test_unknown_token_is_remarked_once_per_field_and_text() -> None:
    parsed = read("index, fan.speed [%], pstate\n0, [Bad Fan], P0\n1, [Bad Fan], [Bad Fan]\n2, [Bad Fin], P0\n")
    assert [(issue.code, issue.line, issue.subject) for issue in parsed.issues] == [
        ("unknown_token", 2, "fan.speed"),
        ("unknown_token", 4, "fan.speed"),
        ("unknown_token", 3, "pstate"),
    ]
    assert {issue.severity for issue in parsed.issues} == {"warning"}


@pytest.mark.parametrize("text", ["[N/A", "N/A]", "[", "]", "NA", "[N/A] MHz", "n.a."])
def test_what_only_resembles_a_token_is_unparsable_in_a_number(text: str) -> None:
    assert cell("clocks.current.sm [MHz]", text, "sm_clock_mhz") == (None, "unparsable")


@pytest.mark.parametrize("field", ["addressing_mode", "gpu_recovery_action"])
def test_none_is_a_value(field: str) -> None:
    assert cell(field, "None", field) == ("None", None)


@pytest.mark.parametrize("text", ["NULL", "null", "nan", "NaN", "NA", "#N/A", "-", "None", "true", "0"])
def test_texts_that_csv_readers_take_for_null_are_values_in_a_text_column(text: str) -> None:
    assert cell("serial", text, "serial") == (text, None)


@pytest.mark.parametrize("field", COLUMNS)
def test_empty_cell_is_empty_text_or_not_available_never_zero(field: str) -> None:
    column = COLUMNS[field][0]
    is_text = isinstance(COLUMNS[field][2], str)
    assert cell(field, "", column) == (("", None) if is_text else (None, "not_available"))
    assert cell(field, "   ", column) == (("", None) if is_text else (None, "not_available"))


@pytest.mark.parametrize(
    ("field", "text", "column", "value"),
    [
        ("clocks.current.sm [MHz]", "0 MHz", "sm_clock_mhz", 0),
        ("clocks.current.sm [MHz]", "1980", "sm_clock_mhz", 1980),
        ("clocks.current.sm", "1980 MHz", "sm_clock_mhz", 1980),
        ("fan.speed [%]", "134 %", "fan_speed_pct", 134),
        ("temperature.gpu.tlimit", "-12", "core_temp_margin_c", -12),
        ("temperature.gpu.tlimit", "0", "core_temp_margin_c", 0),
        ("memory.total [MiB]", "81559 MiB", "memory_total_mib", 81559),
        ("memory.total [MiB]", "81559", "memory_total_mib", 81559),
        ("clocks_event_reasons_counters.sw_power_cap [us]", "212553937 us", "sw_power_cap_us", 212553937),
        ("power.draw [W]", "604.18 W", "power_draw_w", 604.18),
        ("power.draw [W]", "604.18", "power_draw_w", 604.18),
        ("power.draw [W]", "0.00 W", "power_draw_w", 0.0),
        ("power.draw [W]", "70 W", "power_draw_w", 70.0),
        ("driver_version", "595.91.07", "driver_version", "595.91.07"),
        ("driver_version", "610.62", "driver_version", "610.62"),
        ("compute_cap", "9.0", "compute_cap", "9.0"),
        ("serial", "0001234567890", "serial", "0001234567890"),
        ("vbios_version", "96.00.a5.00.01", "vbios_version", "96.00.a5.00.01"),
        ("pci.device_id", "0x233010DE", "pci_device_id", "0x233010DE"),
        ("name", 'A "quoted" name', "model", 'A "quoted" name'),
        ("name", '"', "model", '"'),
        ("name", "Grafikkarte \u00b5", "model", "Grafikkarte \u00b5"),
        ("clocks_event_reasons.active", "0x0", "clocks_event_reasons", 0),
        ("clocks_event_reasons.active", "0x00000000000001FF", "clocks_event_reasons", 511),
        ("clocks_event_reasons.active", "0xffffffffffffffff", "clocks_event_reasons", 2**64 - 1),
        ("clocks_event_reasons.active", "0x8000000000000000", "clocks_event_reasons", 2**63),
        ("clocks_event_reasons.gpu_idle", "Active", "is_gpu_idle", True),
        ("clocks_event_reasons.gpu_idle", "Not Active", "is_gpu_idle", False),
        ("remapped_rows.failure", "Yes", "is_remapped_rows_failure", True),
        ("pstate", "P0", "pstate", "P0"),
    ],
)
def test_value(field: str, text: str, column: str, value: object) -> None:
    found, reason = cell(field, text, column)
    assert found == value
    assert type(found) is type(value)
    assert reason is None


UNPARSABLE = [
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "2147483648 MHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "99999999999999999999 MHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "\u0661\u0669\u0668\u0660 MHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "1_980 MHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "1e5"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "0x7BC"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "+1980 MHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "1980.0 MHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "1980 GHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "1980MHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "1980  MHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "1980 MHz MHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "MHz"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "-"),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", '"1980 MHz"'),
    ("clocks.current.sm [MHz]", "sm_clock_mhz", "None"),
    ("memory.used [MiB]", "memory_used_mib", "9223372036854775808 MiB"),
    ("memory.used [MiB]", "memory_used_mib", "5 iB"),
    ("memory.used [MiB]", "memory_used_mib", "5 GiB"),
    ("memory.used [MiB]", "memory_used_mib", "1.5 MiB"),
    ("memory.used [MiB]", "memory_used_mib", "1e3 MiB"),
    ("memory.used [MiB]", "memory_used_mib", "--5"),
    ("power.draw [W]", "power_draw_w", "1e5"),
    ("power.draw [W]", "power_draw_w", "1e5 W"),
    ("power.draw [W]", "power_draw_w", "inf"),
    ("power.draw [W]", "power_draw_w", "-inf W"),
    ("power.draw [W]", "power_draw_w", "nan"),
    ("power.draw [W]", "power_draw_w", "NaN W"),
    ("power.draw [W]", "power_draw_w", "1_0.00 W"),
    ("power.draw [W]", "power_draw_w", "\u0666\u0669.\u0668\u0665 W"),
    ("power.draw [W]", "power_draw_w", "69.85 kW"),
    ("power.draw [W]", "power_draw_w", "69.85W"),
    ("power.draw [W]", "power_draw_w", "69.85.1 W"),
    ("power.draw [W]", "power_draw_w", "Infinity"),
    ("clocks_event_reasons.active", "clocks_event_reasons", "4"),
    ("clocks_event_reasons.active", "clocks_event_reasons", "0x"),
    ("clocks_event_reasons.active", "clocks_event_reasons", "0x1FFFFFFFFFFFFFFFF"),
    ("clocks_event_reasons.active", "clocks_event_reasons", "0xG"),
    ("clocks_event_reasons.active", "clocks_event_reasons", "-0x1"),
    ("clocks_event_reasons.active", "clocks_event_reasons", "Active"),
    ("clocks_event_reasons.gpu_idle", "is_gpu_idle", "active"),
    ("clocks_event_reasons.gpu_idle", "is_gpu_idle", "NotActive"),
    ("clocks_event_reasons.gpu_idle", "is_gpu_idle", "Inactive"),
    ("clocks_event_reasons.gpu_idle", "is_gpu_idle", "Enabled"),
    ("clocks_event_reasons.gpu_idle", "is_gpu_idle", "Yes"),
    ("clocks_event_reasons.gpu_idle", "is_gpu_idle", "0"),
    ("remapped_rows.pending", "is_remapped_rows_pending", "Active"),
    ("remapped_rows.pending", "is_remapped_rows_pending", "no"),
    ("remapped_rows.pending", "is_remapped_rows_pending", "False"),
    ("timestamp", "observed_local", "2026/02/30 06:15:41.207"),
    ("timestamp", "observed_local", "2026/11/02 24:00:00.000"),
    ("timestamp", "observed_local", "2026/11/02 06:15:60.000"),
    ("timestamp", "observed_local", "2026/11/02 06:15:41"),
    ("timestamp", "observed_local", "2026/11/02 06:15:41.207Z"),
    ("timestamp", "observed_local", "02/11/2026 06:15:41.207"),
    ("timestamp", "observed_local", "2026/11/2 06:15:41.2070"),
    ("name", "model", "uuid"),
]


@pytest.mark.parametrize(("field", "column", "text"), UNPARSABLE)
def test_other_text_is_unparsable_and_costs_only_itself(field: str, column: str, text: str) -> None:
    good = "Active" if field.endswith("gpu_idle") else COLUMNS[field][1]
    parsed = read(f"index, {field}, count\n0, {good}, 7\n1, {text}, 7\n2, {good}, 7\n")
    assert (values(parsed, "gpu_index"), values(parsed, "gpu_count")) == ([0, 1, 2], [7, 7, 7])
    assert [value is None for value in values(parsed, column)] == [False, True, False]
    assert reasons(rows(parsed)[1])[column] == "unparsable"
    assert codes(parsed) == [("warning", "unparsable_cell", 3)]
    assert parsed.issues[0].subject == field.split(" ", maxsplit=1)[0]
    assert repr(text) in parsed.issues[0].message


# A column without a token is converted whole, one with a token text by text: both must have one grammar.
STRICT = [
    ("power.draw [W]", "power_draw_w", ".5 W"),
    ("power.draw [W]", "power_draw_w", "5. W"),
    ("power.draw [W]", "power_draw_w", "1.0123456789 W"),
    ("power.draw [W]", "power_draw_w", "1234567890123456.00 W"),
    ("memory.used [MiB]", "memory_used_mib", "1000000000000000000 MiB"),
    ("timestamp", "observed_local", "2026-11-02 06:15:41.207"),
    ("timestamp", "observed_local", "2026/11/02T06:15:41.207"),
    ("timestamp", "observed_local", "2026/11-02 06:15:41.207"),
    ("timestamp", "observed_local", "0000/01/01 00:00:00.000"),
]


@pytest.mark.parametrize(("field", "column", "text"), STRICT)
def test_whole_conversion_has_the_grammar_of_the_single_cell(field: str, column: str, text: str) -> None:
    alone = read(f"index, {field}\n0, {text}\n")
    beside = read(f"index, {field}\n0, {text}\n1, [N/A]\n")
    assert reasons(rows(beside)[0]).get(column) == "unparsable"
    assert reasons(rows(alone)[0]).get(column) == "unparsable"


def test_memory_that_does_not_add_up_is_no_fault() -> None:
    header = "index, memory.total [MiB], memory.reserved [MiB], memory.used [MiB], memory.free [MiB]"
    parsed = read(f"{header}\n0, 8192 MiB, 213 MiB, 1 MiB, 7977 MiB\n")
    row = rows(parsed)[0]
    names = ("memory_total_mib", "memory_reserved_mib", "memory_used_mib", "memory_free_mib")
    assert tuple(row[name] for name in names) == (8192, 213, 1, 7977)
    assert parsed.issues == []


def test_text_longer_than_a_name_can_be_is_unparsable() -> None:
    value, reason = cell("name", "x" * 1025, "model")
    assert (value, reason) == (None, "unparsable")
    assert cell("name", "x" * 1024, "model") == ("x" * 1024, None)


def test_blanks_around_a_cell_do_not_matter() -> None:
    parsed = read("index,power.draw [W] ,  name\n0,69.85 W,  A\n  1 , 69.85 W , A  \n")
    assert values(parsed, "gpu_index") == [0, 1]
    assert values(parsed, "power_draw_w") == [69.85, 69.85]
    assert values(parsed, "model") == ["A", "A"]


def test_absent_names_every_column_that_the_query_did_not_ask_for() -> None:
    row = rows(read("index, name, clocks.current.sm [MHz]\n0, A, [N/A]\n"))[0]
    found = reasons(row)
    assert found.pop("sm_clock_mhz") == "not_supported"
    assert set(found.values()) == {"not_recorded"}
    assert {"power_draw_w", "observed_local", "is_gpu_idle"} <= set(found)
    assert not {"gpu_index", "model", "capture_line", "segment", "sweep", "absent"} & set(found)


def test_two_reasons_in_one_row_are_two_sorted_pairs() -> None:
    header = "index, power.draw [W], clocks.current.sm [MHz], temperature.memory"
    parsed = read(f"{header}\n0, [GPU is lost], [Unknown Error], N/A\n1, 1.00 W, 5 MHz, 3\n")
    first, second = ([pair for pair in row["absent"].split() if "not_recorded" not in pair] for row in rows(parsed))
    assert first == ["memory_temp_c=not_supported", "power_draw_w=error", "sm_clock_mhz=error"]
    assert second == []
