"""Lines, segments, sweeps, times and blocks of --query-gpu captures: what each line costs, and what it must not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from smi_csv_samples import (
    FIRST_GPU,
    SECOND_GPU,
    check,
    codes,
    extra,
    in_blocks,
    ledger,
    read,
    reasons,
    rows,
    values,
)

from pipeline.errors import CaptureError
from pipeline.parsed import MAX_REMARKS, CaptureFacts, split_lines, to_utf8
from pipeline.parsers import smi_csv
from pipeline.parsers.smi_csv_fields import Header

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = "index, name, power.draw [W]\n"
GOOD = "0, A, 1.00 W\n"

# -- encodings and line ends --------------------------------------------------------------------------

PLAIN = "index, name, power.draw [W]\n0, A\u00b5, 1.00 W\n1, B, [N/A]\n"


@pytest.mark.parametrize(
    "data",
    [
        PLAIN.encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.encode("utf-8-sig"),
        b"\xff\xfe" + PLAIN.encode("utf-16-le"),
        b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        b"\xff\xfe" + PLAIN.replace("\n", "\r\n").encode("utf-16-le"),
    ],
    ids=["lf", "crlf", "utf-8-bom", "utf-16-le", "utf-16-be", "utf-16-le-crlf"],
)
def test_encoding_and_line_end_do_not_matter(data: bytes) -> None:
    parsed = read(data)
    assert (values(parsed, "model"), values(parsed, "power_draw_w")) == (["A\u00b5", "B"], [1.0, None])
    assert [row["capture_line"] for row in rows(parsed)] == [2, 3]
    assert parsed.issues == []


@pytest.mark.parametrize("data", [b"\xff\xfe\x00\xd8\x41\x00", b"\xfe\xff\xd8\x00\x00\x41"])
def test_damaged_utf16_is_refused_as_a_whole(data: bytes) -> None:
    with pytest.raises(CaptureError) as caught:
        read(data)
    assert caught.value.code == "undecodable"


def test_mixed_line_ends_are_read() -> None:
    parsed = read("index, name\r\n0, A\n1, B\r\n2, C\n")
    assert values(parsed, "model") == ["A", "B", "C"]


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\r\n", b"   \n\t\n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_nothing_at_all_is_quarantined(data: bytes) -> None:
    parsed = read(data)
    assert parsed.quarantine == "no_rows"
    assert parsed.ledger.rows == 0
    assert parsed.ledger.blank == parsed.ledger.total


@pytest.mark.parametrize("data", ["", "\n", "index, name\n", "index, name, uuid\n0, A"])
def test_quarantine_has_an_error_with_its_reason(data: str) -> None:
    parsed = read(data)
    assert parsed.quarantine is not None
    assert parsed.quarantine in [issue.code for issue in parsed.issues if issue.severity == "error"]


# -- lines that are no rows --------------------------------------------------------------------------


def test_blank_lines_anywhere_cost_nothing() -> None:
    parsed = read(f"\n{HEAD}\n{GOOD}   \n\t\n\r\n{GOOD}\n")
    assert ledger(parsed) == (2, 1, 6, 0, 0)
    assert [row["capture_line"] for row in rows(parsed)] == [4, 8]
    assert parsed.issues == []


@pytest.mark.parametrize(
    "text",
    [
        "index, name\n0, A\n\n1, B\n",
        "index, name\r\n0, A\r\n\r\n1, B\r\n",
        "index, name\n\n0, A\n1, B\n",
        "index, name\n0, A\n1, B\n\n",
    ],
    ids=["between", "crlf", "above", "below"],
)
def test_blank_line_in_an_otherwise_clean_block_is_no_row(text: str) -> None:
    parsed = read(text)
    assert values(parsed, "gpu_index") == [0, 1]
    assert ledger(parsed) == (2, 1, 1, 0, 0)


@pytest.mark.parametrize(
    ("sentence", "severity", "code"),
    [
        ("WARNING: infoROM is corrupted at gpu 0000:4A:00.0", "warning", "inforom_corrupted"),
        (
            "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error",
            "error",
            "device_unreachable",
        ),
        ("Unable to determine the device handle for GPU1: 0000:34:00.0: GPU is lost", "error", "device_unreachable"),
        ("unable to determine the device handle for GPU0000:CB:00.0: x", "error", "device_unreachable"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "error", "driver_not_loaded"),
        ("Failed to initialize NVML: Driver/library version mismatch", "error", "nvml_not_initialized"),
        ("Failed to initialize NVML: Unknown Error, try again", "error", "nvml_not_initialized"),
        ("No devices were found", "error", "no_devices_found"),
        ('Field "foo" is not a valid field to query.', "error", "invalid_field"),
        ("bash: line 1: nvidia-smi: command not found", "error", "tool_not_found"),
    ],
)
def test_error_sentence_among_rows_costs_itself(sentence: str, severity: str, code: str) -> None:
    parsed = read(f"{HEAD}{GOOD}{sentence}\n{GOOD}")
    assert ledger(parsed) == (2, 1, 0, 0, 1)
    assert codes(parsed) == [(severity, code, 3)]
    assert sentence in parsed.issues[0].message
    assert parsed.quarantine is None


def test_capture_of_a_failure_is_quarantined_with_what_the_tool_said() -> None:
    text = (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
        "Make sure that the latest NVIDIA driver is installed and running.\n\n"
    )
    parsed = read(text)
    assert parsed.quarantine == "driver_not_loaded"
    assert ledger(parsed) == (0, 0, 1, 0, 1)


def test_human_table_before_the_rows_is_structure() -> None:
    table = (
        "Mon Nov  2 06:15:41 2026       \n"
        "+-----------------------------------------+\n"
        "| NVIDIA-SMI 595.91.07                    |\n"
        "|=========================================|\n"
        "|   0  NVIDIA L40S, 48 GB            Off  |\n"
        "+-----------------------------------------+\n"
    )
    parsed = read(f"{table}\n{HEAD}{GOOD}")
    assert ledger(parsed) == (1, 1, 1, 6, 0)
    assert [row["capture_line"] for row in rows(parsed)] == [9]
    assert parsed.issues == []


@pytest.mark.parametrize("line", ["0, A", "0, A, 1.00 W, 7", "0", "0; A; 1.00 W", "0,A,1,00 W", "some words"])
def test_wrong_number_of_cells_is_refused(line: str) -> None:
    parsed = read(f"{HEAD}{GOOD}{line}\n{GOOD}")
    assert codes(parsed) == [("error", "cell_count", 3)]
    assert f"found {line.count(',') + 1} cells" in parsed.issues[0].message
    assert values(parsed, "gpu_index") == [0, 0]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"0, A\x00, 1.00 W", "nul_bytes"),
        (b"\x00" * 4096, "nul_bytes"),
        (b"0, \xff\xfe, 1.00 W", "invalid_utf8"),
        (b"0, \xc3\x28, 1.00 W", "invalid_utf8"),
        (b"0, \xed\xa0\x80, 1.00 W", "invalid_utf8"),
        (b"0, " + b"x" * 65536 + b", 1.00 W", "line_too_long"),
        (b"x" * 70000, "line_too_long"),
        (b"," * 70000, "line_too_long"),
    ],
    ids=["nul", "nul-run", "invalid", "overlong", "surrogate", "long-cell", "long-line", "long-commas"],
)
def test_damaged_line_costs_itself(line: bytes, code: str) -> None:
    parsed = read(HEAD.encode() + GOOD.encode() + line + b"\n" + GOOD.encode())
    assert codes(parsed) == [("error", code, 3)]
    assert ledger(parsed) == (2, 1, 0, 0, 1)
    assert [row["capture_line"] for row in rows(parsed)] == [2, 4]


@pytest.mark.parametrize(
    "line", ["0, A, 0x0, " + "x" * 70000, "0, A, 0x0, " + " " * 70000 + "x"], ids=["text", "blanks"]
)
def test_long_line_is_refused_where_no_column_is_typed(line: str) -> None:
    parsed = read(f"index, name, pci.domain, brand.new\n{line}\n0, A, 0x0, y\n")
    assert [(code, line) for _, code, line in codes(parsed) if code != "unknown_field"] == [("line_too_long", 2)]
    assert parsed.ledger.rows == 1


@pytest.mark.parametrize(
    ("head", "line"),
    [("index, name", "0, a\rb"), ("name", "a\rb"), ("index, name", "\r0, a")],
)
def test_carriage_return_within_a_line_costs_no_other_line(head: str, line: str) -> None:
    good = "0, A" if "," in head else "A"
    parsed = read(f"{head}\n{good}\n{line}\n{good}\n")
    assert {2, 4} <= {row["capture_line"] for row in rows(parsed)}


def test_stray_quote_is_a_character() -> None:
    parsed = read(f'{HEAD}0, "A, 1.00 W\n1, B", 2.00 W\n2, "C", 3.00 W\n')
    assert values(parsed, "model") == ['"A', 'B"', '"C"']
    assert values(parsed, "power_draw_w") == [1.0, 2.0, 3.0]


def test_a_thousand_remarks_and_a_count_for_many_bad_lines() -> None:
    parsed = read(HEAD + "bad\n" * 1500 + GOOD)
    assert parsed.ledger.refused == 1500
    assert len(parsed.issues) == MAX_REMARKS + 1
    assert codes(parsed)[-1] == ("error", "cell_count", 1002)
    assert "500 more like this" in parsed.issues[-1].message


@pytest.mark.parametrize("line", ["No devices were found", "{}x, A, 1.00 W"], ids=["sentence", "unparsable"])
def test_other_remarks_have_the_same_limit(line: str) -> None:
    parsed = read(HEAD + GOOD + "".join(line.format(number) + "\n" for number in range(1500)))
    assert len(parsed.issues) <= MAX_REMARKS + 1


def test_each_unparsable_text_is_not_searched_in_the_whole_column(monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline.parsers import smi_csv_rows

    searched = []
    original = smi_csv_rows._first_rows

    def counted(raw: Any) -> dict[str, int]:
        searched.append(len(raw))
        return original(raw)

    monkeypatch.setattr(smi_csv_rows, "_first_rows", counted)
    read(HEAD + "".join(f"x{number}, A, 1.00 W\n" for number in range(400)))
    assert sum(searched) <= 20 * 400


# -- headers and segments --------------------------------------------------------------------------


def test_repeated_header_starts_a_segment() -> None:
    parsed = read(f"{HEAD}{GOOD}{HEAD}1, B, 2.00 W\n")
    assert values(parsed, "segment") == [1, 2]
    assert [row["capture_line"] for row in rows(parsed)] == [2, 4]
    assert ledger(parsed) == (2, 2, 0, 0, 0)
    assert parsed.issues == []


def test_repeated_header_with_other_columns_starts_a_segment_of_those() -> None:
    parsed = read(f"{HEAD}{GOOD}timestamp, index\n2026/11/02 06:15:41.207, 3\nindex, name\n4, C\n")
    assert values(parsed, "segment") == [1, 2, 3]
    assert values(parsed, "gpu_index") == [0, 3, 4]
    assert values(parsed, "model") == ["A", None, "C"]
    assert [reasons(row).get("model") for row in rows(parsed)] == [None, "not_recorded", None]
    assert [reasons(row).get("power_draw_w") for row in rows(parsed)] == [None, "not_recorded", "not_recorded"]


def test_row_of_the_old_width_after_a_new_header_is_refused() -> None:
    parsed = read(f"{HEAD}{GOOD}index, name\n{GOOD}1, B\n")
    assert codes(parsed) == [("error", "cell_count", 4)]
    assert values(parsed, "gpu_index") == [0, 1]


def test_header_twice_in_a_row_is_one_segment() -> None:
    parsed = read(f"{HEAD}{HEAD}{GOOD}")
    assert values(parsed, "segment") == [1]
    assert parsed.ledger.header == 2


@pytest.mark.parametrize("command", [None, "nvidia-smi --query-gpu=pci.domain,pci.bus --format=csv"])
def test_header_of_fields_without_column_is_no_row(command: str | None) -> None:
    head = "pci.domain, pci.bus\n"
    parsed = read(f"{head}0x0000, 0x01\n{head}0x0000, 0x02\n", command=command)
    assert sorted(text for _, _, _, text in extra(parsed)) == ["0x0000", "0x0000", "0x01", "0x02"]
    assert parsed.ledger.header == 2


# -- time --------------------------------------------------------------------------


def test_timestamp_may_be_any_column() -> None:
    parsed = read("index, name, timestamp\n0, A, 2026/11/02 06:15:41.207\n")
    assert str(values(parsed, "observed_local")[0]) == "2026-11-02 06:15:41.207000"


def test_without_a_zone_the_time_in_utc_is_unknown() -> None:
    row = rows(read("timestamp, index\n2026/11/02 06:15:41.207, 0\n"))[0]
    assert row["observed_local"] is not None
    assert row["observed_at"] is None
    assert reasons(row)["observed_at"] == "not_recorded"


@pytest.mark.parametrize(
    ("zone", "local", "utc"),
    [
        ("UTC", "2026/11/02 06:15:41.207", "2026-11-02 06:15:41.207000+00:00"),
        ("Europe/Berlin", "2026/07/01 12:00:00.000", "2026-07-01 10:00:00+00:00"),
        ("Europe/Berlin", "2026/12/01 12:00:00.000", "2026-12-01 11:00:00+00:00"),
        ("Asia/Kolkata", "2026/11/02 06:15:41.207", "2026-11-02 00:45:41.207000+00:00"),
        # Clocks go back at 03:00 on 25 October: 02:00 to 02:59 happen twice.
        ("Europe/Berlin", "2026/10/25 01:59:59.999", "2026-10-24 23:59:59.999000+00:00"),
        ("Europe/Berlin", "2026/10/25 02:00:00.000", None),
        ("Europe/Berlin", "2026/10/25 02:30:00.000", None),
        ("Europe/Berlin", "2026/10/25 02:59:59.999", None),
        ("Europe/Berlin", "2026/10/25 03:00:00.000", "2026-10-25 02:00:00+00:00"),
        # Clocks go forward at 02:00 on 29 March: 02:00 to 02:59 do not happen.
        ("Europe/Berlin", "2026/03/29 01:59:59.999", "2026-03-29 00:59:59.999000+00:00"),
        ("Europe/Berlin", "2026/03/29 02:30:00.000", None),
        ("Europe/Berlin", "2026/03/29 03:00:00.000", "2026-03-29 01:00:00+00:00"),
        ("Mars/Olympus", "2026/11/02 06:15:41.207", None),
        ("", "2026/11/02 06:15:41.207", None),
        ("../../etc/localtime", "2026/11/02 06:15:41.207", None),
    ],
)
def test_time_in_utc(zone: str, local: str, utc: str | None) -> None:
    found = values(read(f"timestamp, index\n{local}, 0\n", timezone=zone), "observed_at")[0]
    assert (None if found is None else str(found)) == utc


def test_fold_does_not_reorder_rows_and_costs_only_its_own_times() -> None:
    locals_ = ["02:59:59.900", "02:00:00.000", "02:00:00.100", "03:00:00.000"]
    text = "timestamp, index\n" + "".join(f"2026/10/25 {time}, 0\n" for time in locals_)
    parsed = read(text, timezone="Europe/Berlin")
    assert [str(value)[11:23] for value in values(parsed, "observed_local")] == [
        "02:59:59.900",
        "02:00:00",
        "02:00:00.100",
        "03:00:00",
    ]
    assert [value is None for value in values(parsed, "observed_at")] == [True, True, True, False]
    assert values(parsed, "sweep") == [1, 2, 3, 4]


@pytest.mark.parametrize("local", ["2026/10/25 02:30:00.000", "[N/A]", "rubbish"])
def test_unknown_time_in_utc_has_its_reason(local: str) -> None:
    row = rows(read(f"timestamp, index\n{local}, 0\n", timezone="Europe/Berlin"))[0]
    assert row["observed_at"] is None
    assert "observed_at" in reasons(row)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/localtime"])
def test_zone_that_does_not_exist_is_remarked(zone: str) -> None:
    parsed = read("timestamp, index\n2026/11/02 06:15:41.207, 0\n", timezone=zone)
    assert codes(parsed) == [("warning", "timezone_unusable", None)]


def test_log_within_the_fold_does_not_blame_the_zone() -> None:
    parsed = read("timestamp, index\n2026/10/25 02:30:00.000, 0\n", timezone="Europe/Berlin")
    assert parsed.issues == []


# -- sweeps --------------------------------------------------------------------------


def sweeps(*gpus: str, field: str = "index") -> list[int]:
    found: list[int] = values(read(f"{field}, count\n" + "".join(f"{gpu}, 1\n" for gpu in gpus)), "sweep")
    return found


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ("0", [1]),
        ("000", [1, 2, 3]),
        ("0101", [1, 1, 2, 2]),
        ("01", [1, 1]),
        ("010", [1, 1, 2]),
        ("1010", [1, 1, 2, 2]),
        ("0110", [1, 1, 2, 2]),
        # A missing row: GPU 1 did not answer in the second sweep.
        ("01001", [1, 1, 2, 3, 3]),
        # A missing first row.
        ("101", [1, 1, 2]),
        ("0012", [1, 2, 2, 2]),
        ("012012", [1, 1, 1, 2, 2, 2]),
        ("012021", [1, 1, 1, 2, 2, 2]),
    ],
)
def test_sweep_begins_when_a_gpu_comes_again(gpus: str, expected: list[int]) -> None:
    assert sweeps(*gpus) == expected


def test_sweep_of_one_moment_has_several_times() -> None:
    text = "timestamp, uuid\n"
    for second in range(3):
        text += f"2026/11/02 06:15:4{second}.207, {FIRST_GPU}\n2026/11/02 06:15:4{second}.213, {SECOND_GPU}\n"
    assert values(read(text), "sweep") == [1, 1, 2, 2, 3, 3]


def test_equal_masked_uuids_are_told_apart_by_index() -> None:
    masked = "GPU-00000000-0000-0000-0000-000000000000"
    text = "index, uuid\n" + f"0, {masked}\n1, {masked}\n" * 2
    assert values(read(text), "sweep") == [1, 1, 2, 2]


def test_bus_id_alone_tells_gpus_apart() -> None:
    assert sweeps("00000000:4A:00.0", "00000000:5D:00.0", "00000000:4A:00.0", field="pci.bus_id") == [1, 1, 2]


def test_rows_that_name_no_gpu_have_no_sweep() -> None:
    parsed = read("timestamp, power.draw [W]\n2026/11/02 06:15:41.207, 1.00 W\n2026/11/02 06:15:41.213, 2.00 W\n")
    assert values(parsed, "sweep") == [None, None]
    assert [reasons(row)["sweep"] for row in rows(parsed)] == ["not_recorded", "not_recorded"]
    assert values(parsed, "gpu_index") == [None, None]


def test_sweeps_go_on_over_segments() -> None:
    assert values(read("index, count\n0, 1\n1, 1\nindex, name\n0, A\n1, B\n"), "sweep") == [1, 1, 2, 2]


@pytest.mark.parametrize(
    "text",
    [
        "index, pstate\n[Unknown Error], P0\n[Unknown Error], P0\n",
        "index, pstate\n0, P0\n[Unknown Error], P0\n1, P0\n",
        "index, pstate\n0, P0\npstate, name\nP0, A\nP8, B\n",
    ],
    ids=["no-index-known", "one-index-unknown", "second-segment-names-none"],
)
def test_sweep_is_null_with_a_reason_exactly_where_a_row_names_no_gpu(text: str) -> None:
    for row in rows(read(text)):
        assert (row["sweep"] is None) == (row["gpu_index"] is None)
        assert ("sweep" in reasons(row)) == (row["sweep"] is None)


# -- blocks --------------------------------------------------------------------------

MONITOR = (
    "timestamp, index, name, clocks.current.sm [MHz], power.draw [W], clocks_event_reasons.active, "
    "pci.domain, brand.new"
)


def monitor_row(number: int) -> str:
    time = f"2026/11/02 06:15:{number % 60:02d}.{number % 1000:03d}"
    return f"{time}, {number % 2}, NVIDIA L40S, {number} MHz, {number}.25 W, 0x{number % 9:016X}, 0x0000, {number % 3}"


def clean_log(count: int) -> str:
    return "\n".join([MONITOR, *(monitor_row(number) for number in range(count))]) + "\n"


def same(one: Any, other: Any) -> None:
    """Compare rows, remarks and ledger. gpu_extra comes field by field within a chunk: its order may differ."""
    assert rows(one) == rows(other)
    assert sorted(extra(one)) == sorted(extra(other))
    assert one.ledger == other.ledger
    assert one.quarantine == other.quarantine
    assert sorted(map(repr, one.issues)) == sorted(map(repr, other.issues))


DIRT = {
    "blank": "",
    "short": "2026/11/02 06:15:41.207, 0",
    "sentence": "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error",
    "header": MONITOR,
    "other-header": "timestamp, index",
    "unparsable": monitor_row(7).replace("7 MHz", "7 GHz"),
    "token": monitor_row(7).replace("7 MHz", "[GPU is lost]"),
    "unknown-token": monitor_row(7).replace("7 MHz", "[Odd]"),
    "quote": monitor_row(7).replace("NVIDIA", '"NVIDIA'),
    "nul": "\0\0\0",
    "long": "x" * 70000,
    "carriage-return": monitor_row(7) + "\r",
    "blanks": "   ",
    "table": "+-----+",
}


@pytest.mark.parametrize("position", [1, 7, 13])
@pytest.mark.parametrize("dirt", DIRT)
def test_block_size_makes_no_difference(monkeypatch: pytest.MonkeyPatch, position: int, dirt: str) -> None:
    lines = clean_log(12).splitlines()
    lines.insert(position, DIRT[dirt])
    text = "\n".join(lines) + "\n"
    whole = read(text)
    for size in (64, 200, 1000):
        in_blocks(monkeypatch, size)
        same(read(text), whole)


def test_clean_block_takes_the_fast_path_and_dirty_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = clean_log(40).splitlines()
    lines.insert(20, "  ")
    in_blocks(monkeypatch, 1000)
    slow: list[bytes] = []
    original = smi_csv._line

    def counted(line: bytes, state: Any) -> None:
        slow.append(line)
        original(line, state)

    monkeypatch.setattr(smi_csv, "_line", counted)
    parsed = read("\n".join(lines) + "\n")
    assert values(parsed, "sm_clock_mhz") == list(range(40))
    # The header, and the lines of the one block with the blanks in it.
    assert 2 <= len(slow) <= 15


def test_each_header_does_not_look_at_all_segments_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Counted(Header):
        def __getattribute__(self, name: str) -> Any:
            if name == "segment":
                asked.append(name)
            return super().__getattribute__(name)

    monkeypatch.setattr(smi_csv, "Header", Counted)
    parsed = read(f"{HEAD}{GOOD}" * 120)
    assert values(parsed, "segment") == list(range(1, 121))
    assert len(asked) <= 10 * 120


def test_header_in_every_block_does_not_read_blocks_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(clean_log(8) for _ in range(30))
    in_blocks(monkeypatch, 1000)
    tried: list[int] = []
    original = smi_csv._clean

    def counted(data: bytes, span: tuple[int, int], header: Any) -> Any:
        tried.append(span[0])
        return original(data, span, header)

    monkeypatch.setattr(smi_csv, "_clean", counted)
    assert len(rows(read(text))) == 240
    assert len(tried) <= 3 * len(text) // 1000


def test_repeated_field_that_differs_in_one_block_only(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{number}, A, {'B' if number == 9 else 'A'}" for number in range(20)]
    in_blocks(monkeypatch, 64)
    parsed = read("index, name, name\n" + "\n".join(lines) + "\n")
    assert (11, "name", True, "B") in extra(parsed)
    assert [code for _, code, _ in codes(parsed)] == ["repeated_field"]
    assert values(parsed, "model") == ["A"] * 20


def test_repeated_field_is_kept_for_the_same_rows_in_any_block(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "index, name, name\n" + "".join(f"{number}, A, {'B' if number == 9 else 'A'}\n" for number in range(20))
    whole = read(text)
    in_blocks(monkeypatch, 64)
    assert sorted(extra(read(text))) == sorted(extra(whole))


# -- properties --------------------------------------------------------------------------

_TEXTS = [
    "0",
    "1",
    "17",
    "345 MHz",
    "69.85 W",
    "[N/A]",
    "N/A",
    "[Odd]",
    "",
    " ",
    "x",
    "Active",
    "Not Active",
    "0x4",
    "A",
]
_LINES = st.one_of(
    st.integers(0, 50).map(monitor_row),
    st.sampled_from([text for name, text in DIRT.items() if name != "long"]),
    st.lists(st.sampled_from(_TEXTS), min_size=8, max_size=8).map(", ".join),
    st.lists(st.sampled_from(_TEXTS), min_size=1, max_size=9).map(",".join),
)
_LOGS = st.lists(_LINES, max_size=25).map(lambda lines: "\n".join([MONITOR, *lines]))
_SOLID = st.lists(_LINES.filter(lambda line: line != ""), max_size=25).map(lambda lines: "\n".join([MONITOR, *lines]))
_SIZES = st.sampled_from([64, 200, 1000])


@pytest.fixture
def _restored_blocks() -> Iterator[None]:
    """Hypothesis runs many examples within one test: the size is set in the body and put back here."""
    before = smi_csv.BLOCK_BYTES
    yield
    smi_csv.BLOCK_BYTES = before


@pytest.mark.usefixtures("_restored_blocks")
@settings(max_examples=100, deadline=None)
@example(text=f"{MONITOR}\n{monitor_row(1)}\n\n{monitor_row(2)}\nx", size=64, end="\n")
@given(text=_LOGS, size=_SIZES, end=st.sampled_from(["", "\n", "\r\n"]))
def test_any_mix_of_lines_gives_the_same_in_any_blocks(text: str, size: int, end: str) -> None:
    smi_csv.BLOCK_BYTES = 8 << 20
    whole = read(text + end)
    smi_csv.BLOCK_BYTES = size
    same(read(text + end), whole)


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=400), command=st.sampled_from([None, "nvidia-smi --query-gpu=index,name"]))
@example(data=b"\xff\xfe\x00", command=None)
@example(data=b"index,name\n\xff,\x00\n", command=None)
def test_any_bytes_are_accounted_for_or_refused_as_a_capture(data: bytes, command: str | None) -> None:
    try:
        parsed = smi_csv.parse(data, CaptureFacts(command=command))
    except CaptureError:
        return
    check(parsed, len(split_lines(to_utf8(data))))


_NASTY = st.text(st.sampled_from("0129aA,.-[]/%x \n\u0661\u00e9\0"), max_size=120)


@settings(max_examples=150, deadline=None)
@given(text=_NASTY)
def test_any_text_below_a_header_is_accounted_for(text: str) -> None:
    read("index, name, power.draw [W]\n0, A, 1.00 W\n" + text)


def test_carriage_returns_anywhere_are_accounted_for() -> None:
    for text in ("0, A\r, 1.00 W\n", "\r\r\n", "0\r, A, 1.00 W\r\n", "a\r\n\rb\n"):
        read("index, name, power.draw [W]\n" + text)


@settings(max_examples=100, deadline=None)
@given(text=_SOLID, data=st.data())
def test_removing_lines_never_makes_a_null_known(text: str, data: st.DataObject) -> None:
    lines = text.split("\n")
    # The header stays: which lines are rows, and of what, depends on it. So do later ones.
    free = [number for number, line in enumerate(lines) if number and line not in (MONITOR, DIRT["other-header"])]
    gone = set(data.draw(st.lists(st.sampled_from(free), unique=True))) if free else set()
    kept = [number for number in range(len(lines)) if number not in gone]
    before = {row["capture_line"]: row for row in rows(read(text + "\n"))}
    after = rows(read("\n".join(lines[number] for number in kept) + "\n"))
    for row in after:
        old = before[kept[row["capture_line"] - 1] + 1]
        for name in set(row) - {"capture_line", "sweep", "segment", "absent"}:
            assert row[name] == old[name]
