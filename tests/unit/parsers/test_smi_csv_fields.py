"""Field names: header lines, aliases, command lines, unknown and repeated fields, what is no --query-gpu capture."""

from __future__ import annotations

import pytest
from smi_csv_samples import codes, extra, read, reasons, rows, values

from pipeline.errors import CaptureError
from pipeline.parsers import KINDS, smi_csv
from pipeline.parsers.smi_csv_fields import catalogue, parse_command, parse_header


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("clocks.sm", "clocks.current.sm"),
        ("clocks.mem", "clocks.current.memory"),
        ("clocks.gr", "clocks.current.graphics"),
        ("clocks.max.mem", "clocks.max.memory"),
        ("gpu_name", "name"),
        ("gpu_uuid", "uuid"),
        ("gpu_bus_id", "pci.bus_id"),
        ("gpu.power.draw.average", "power.draw.average"),
        ("gpu.power.current_limit", "enforced.power.limit"),
        ("gpu.power.requested_limit", "power.limit"),
        ("clocks_throttle_reasons.active", "clocks_event_reasons.active"),
        ("clocks_throttle_reasons.supported", "clocks_event_reasons.supported"),
        ("clocks_throttle_reasons.gpu_idle", "clocks_event_reasons.gpu_idle"),
        ("clocks_throttle_reasons.sw_power_cap", "clocks_event_reasons.sw_power_cap"),
        ("clocks_throttle_reasons.hw_power_brake_slowdown", "clocks_event_reasons.hw_power_brake_slowdown"),
        ("DRAMENCRYPTION.MODE.CURRENT", "dramEncryption.mode.current"),
    ],
)
def test_alias_stands_for_its_canonical_field(typed: str, canonical: str) -> None:
    fields = parse_header(f"index, {typed}")
    assert fields is not None
    assert fields[1].name == canonical
    assert fields[1].is_known


def test_alias_in_a_header_fills_the_canonical_column() -> None:
    parsed = read("gpu_uuid, clocks.sm, clocks.mem\nGPU-x, 1980, 2619\n")
    assert (values(parsed, "gpu_uuid"), values(parsed, "sm_clock_mhz")) == (["GPU-x"], [1980])
    assert values(parsed, "memory_clock_mhz") == [2619]
    assert parsed.issues == []


@pytest.mark.parametrize("family", ["clocks_throttle_reasons", "clocks_event_reasons"])
def test_both_families_of_clock_reasons_fill_the_same_columns(family: str) -> None:
    parsed = read(f"index, {family}.active, {family}.sw_power_cap, {family}.hw_slowdown\n0, 0x4, Active, Not Active\n")
    row = rows(parsed)[0]
    assert (row["clocks_event_reasons"], row["is_sw_power_cap"], row["is_hw_slowdown"]) == (4, True, False)


@pytest.mark.parametrize(
    "line",
    [
        "timestamp, name, power.draw [W]",
        "name,uuid",
        "index",
        "  index ,  name  ",
        "index, some.new_field [W/s]",
        "NAME, Uuid",
    ],
)
def test_header_line(line: str) -> None:
    assert parse_header(line) is not None


@pytest.mark.parametrize(
    "line",
    [
        "",
        ",",
        "0, NVIDIA H100, 5",
        "id, name, city",
        "a, b, c, count",
        "name, uuid, ",
        "name; uuid",
        '"name", "uuid"',
        "name, uuid, 7abc",
        "name [a] [b], uuid",
        "name [, uuid",
        "name [], uuid",
        "n\u00e4me, uuid",
        "name\tuuid",
    ],
)
def test_line_that_is_no_header(line: str) -> None:
    assert parse_header(line) is None


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("nvidia-smi --query-gpu=index,name --format=csv,noheader", ("index", "name")),
        ("nvidia-smi --query-gpu index,name --format=csv,noheader", ("index", "name")),
        ("nvidia-smi --format=csv,noheader,nounits --query-gpu=clocks.sm -l 1", ("clocks.current.sm",)),
        ('nvidia-smi "--query-gpu=index, gpu_name" --format=csv', ("index", "name")),
        ("nvidia-smi --query-gpu='index,name'", ("index", "name")),
        ("nvidia-smi --query-gpu=index,brand.new", ("index", "brand.new")),
    ],
)
def test_command_names_the_columns(command: str, names: tuple[str, ...]) -> None:
    fields = parse_command(command)
    assert fields is not None
    assert tuple(field.name for field in fields) == names


@pytest.mark.parametrize(
    "command",
    [
        None,
        "",
        "nvidia-smi",
        "nvidia-smi -q",
        "nvidia-smi --query-gpu",
        "nvidia-smi --query-gpu=",
        "nvidia-smi --query-gpu=,,",
        "nvidia-smi --query-compute-apps=pid,name",
        "nvidia-smi --query-gpus=index",
        "nvidia-smi '--query-gpu=index",
    ],
)
def test_command_that_names_no_columns(command: str | None) -> None:
    assert parse_command(command) is None


@pytest.mark.parametrize(
    "command", ["nvidia-smi --query-gpu=index,clocks.sm", "nvidia-smi --query-gpu index,clocks.sm"]
)
def test_capture_without_header_is_read_with_its_command(command: str) -> None:
    parsed = read("0, 1980 MHz\n1, 345 MHz\n", command=f"{command} --format=csv,noheader")
    assert values(parsed, "sm_clock_mhz") == [1980, 345]
    assert [row["capture_line"] for row in rows(parsed)] == [1, 2]
    assert values(parsed, "segment") == [1, 1]
    assert parsed.ledger.header == 0
    assert parsed.issues == []


def test_capture_without_header_and_command_is_quarantined_with_one_remark() -> None:
    parsed = read("2025/09/08 14:14:37.120, 0, 11409\n" * 50)
    assert parsed.quarantine == "columns_unknown"
    assert parsed.ledger.refused == 50
    assert codes(parsed) == [("error", "columns_unknown", 1), ("error", "columns_unknown", 2)]
    assert "49 more like this" in parsed.issues[1].message
    assert parsed.tables == {}


def test_rows_above_the_header_are_refused_and_those_below_are_read() -> None:
    parsed = read("0, 5\nindex, temperature.gpu\n1, 6\n")
    assert values(parsed, "core_temp_c") == [6]
    assert codes(parsed) == [("error", "columns_unknown", 1)]
    assert parsed.quarantine is None


def test_command_does_not_make_a_row_of_the_header() -> None:
    parsed = read("index, name\n0, A\n", command="nvidia-smi --query-gpu=index,name --format=csv")
    assert (parsed.ledger.rows, parsed.ledger.header) == (1, 1)
    assert values(parsed, "segment") == [1]


def test_header_wins_over_the_command() -> None:
    parsed = read("name, index\nA, 0\n", command="nvidia-smi --query-gpu=index,name --format=csv")
    assert (values(parsed, "model"), values(parsed, "gpu_index")) == (["A"], [0])
    assert parsed.issues == []


def test_command_that_asks_for_other_columns_refuses_the_rows() -> None:
    parsed = read("0, A\n1, B\n", command="nvidia-smi --query-gpu=index,name,uuid --format=csv,noheader")
    assert [code for _, code, _ in codes(parsed)] == ["cell_count", "cell_count"]
    assert parsed.quarantine == "cell_count"


def test_nounits_header_keeps_units_and_values_have_none() -> None:
    parsed = read("utilization.gpu [%], clocks.current.sm [MHz], power.draw [W]\n7, 1800, 137.12\n0, 1695, 77.82\n")
    assert values(parsed, "gpu_utilization_pct") == [7, 0]
    assert values(parsed, "sm_clock_mhz") == [1800, 1695]
    assert values(parsed, "power_draw_w") == [137.12, 77.82]
    assert parsed.issues == []


def test_units_and_bare_values_may_stand_in_one_column() -> None:
    parsed = read("index, power.draw [W], memory.used [MiB]\n0, 1.00 W, 5 MiB\n1, 2.00, 6\n")
    assert values(parsed, "power_draw_w") == [1.0, 2.0]
    assert values(parsed, "memory_used_mib") == [5, 6]


def test_unknown_field_is_kept_as_text_with_a_note() -> None:
    parsed = read("index, flux.capacitor [W/s], name\n0, 1.21, A\n1, [N/A], B\n")
    assert extra(parsed) == [(2, "flux.capacitor", False, "1.21"), (3, "flux.capacitor", False, "[N/A]")]
    assert codes(parsed) == [("note", "unknown_field", None)]
    assert parsed.issues[0].subject == "flux.capacitor"
    assert parsed.ledger.refused == 0


def test_known_field_without_a_column_is_kept_without_a_note() -> None:
    assert catalogue()["pci.domain"].column is None
    parsed = read("index, pci.domain, fabric.state\n0, 0x0000, N/A\n1, 0x0001,\n")
    assert extra(parsed) == [
        (2, "pci.domain", True, "0x0000"),
        (3, "pci.domain", True, "0x0001"),
        (2, "fabric.state", True, "N/A"),
        (3, "fabric.state", True, ""),
    ]
    assert parsed.issues == []


def test_field_printed_twice_with_equal_cells_is_one_column() -> None:
    parsed = read("index, name, gpu_name, power.draw [W], power.draw [W]\n0, A, A, 1.00 W, 1.00 W\n")
    assert (values(parsed, "model"), values(parsed, "power_draw_w")) == (["A"], [1.0])
    assert extra(parsed) == []
    assert parsed.issues == []


def test_field_printed_twice_with_other_cells_keeps_both() -> None:
    parsed = read("index, name, gpu_name, power.draw [W], power.draw [W]\n0, A, B, 1.00 W, 2.00 W\n")
    assert (values(parsed, "model"), values(parsed, "power_draw_w")) == (["A"], [1.0])
    assert extra(parsed) == [(2, "name", True, "B"), (2, "power.draw", True, "2.00 W")]
    assert codes(parsed) == [("warning", "repeated_field", 2), ("warning", "repeated_field", 2)]
    assert [issue.subject for issue in parsed.issues] == ["name", "power.draw"]


def test_239_columns_are_read() -> None:
    names = sorted({field.name for field in catalogue().values()} - {"timestamp"})[:238]
    header = ", ".join(["timestamp", *names])
    parsed = read(f"{header}\n2026/11/02 06:15:41.207{', [N/A]' * 238}\n")
    row = rows(parsed)[0]
    assert row["observed_local"] is not None
    assert reasons(row)["model"] == "not_supported"
    assert parsed.issues == []


PROCESSES = "timestamp, gpu_name, gpu_bus_id, gpu_uuid, pid, process_name, used_gpu_memory [MiB]"


def test_process_list_is_refused_as_a_whole() -> None:
    with pytest.raises(CaptureError) as caught:
        read(f"{PROCESSES}\n2026/11/02 06:15:41.207, A, 0, GPU-x, 17, a,b, 5 MiB\n")
    assert caught.value.code == "unsupported_query"


@pytest.mark.parametrize("head", [PROCESSES.encode() + b"\n", b"pid, name\n1, bob\n"], ids=["apps", "foreign"])
def test_recogniser_never_raises(head: bytes) -> None:
    assert smi_csv.detect(head) in (True, False)


@pytest.mark.parametrize(
    "head",
    [
        b"timestamp, index, power.draw [W]\n2026/11/02 06:15:41.207, 0, 5.00 W\n",
        b"index\n0\n",
        b"index, name\r\n0, A\r\n",
        b"2026/11/02 06:15:41.207, 0, 1980\n",
        b"0, GPU-5be0c1d2-77aa-4f10-9c3e-2f6b8d01e4a7, A\n",
        b"+-----+\n| Processes: |\n+-----+\nindex, name\n0, A\n",
        b"WARNING: infoROM is corrupted at gpu 0000:4A:00.0\nindex, name\n0, A\n",
    ],
)
def test_recognised(head: bytes) -> None:
    assert next(name for name, kind in KINDS.items() if kind.detect(head)) == "smi_csv"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n\n",
        b"id,name,city\n1,Ada,London\n",
        b"country,name,population,area\nx,y,1,2\n",
        b"0, 1980, 604.18\n",
        b"name,age\nAda,36\n",
        b"pid,name\n1,bob\n",
        b"Chapter 1\nindex\n",
        b"the name of the index\n",
        b"\x00\x01\x02",
        b"GPU 0: A (UUID: GPU-5be0c1d2-77aa-4f10-9c3e-2f6b8d01e4a7)\n",
    ],
)
def test_not_recognised(head: bytes) -> None:
    assert not smi_csv.detect(head)


@pytest.mark.parametrize("head", [b"name, age\nAda, 36\n", b"count, word\n3, gpu\n"])
def test_one_known_name_is_not_enough(head: bytes) -> None:
    assert not smi_csv.detect(head)
