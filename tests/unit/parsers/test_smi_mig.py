"""The parser of the `mig -lgi` and `-lci` tables: rows, answers of none, failures, and a whole ledger for any bytes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.errors import CaptureError
from pipeline.parsed import CaptureFacts, Parsed
from pipeline.parsers import smi_list, smi_mig
from schemas import TABLES, arrow_schema

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "corpus" / "smi_mig"
BUNDLED = ROOT / "captures" / "a100-mig-simulated"
REAL = ROOT.parent / "shared" / "captures"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the real captures are not beside this checkout")

TITLE = "| GPU instances:                                     |\n"
HEADINGS = (
    "| GPU   Name          Profile  Instance   Placement  |\n|                       ID       ID       Start:Size |\n"
)
BODY = "|====================================================|\n"
ROW = "|   0  MIG 1g.5gb       19        7          0:1     |\n"
END = "+----------------------------------------------------+\n"


def read(data: bytes | str) -> Parsed:
    """Parse, and check what holds of every result: whole ledger and declared types."""
    parsed = smi_mig.parse(data.encode() if isinstance(data, str) else data, CaptureFacts())
    assert parsed.ledger.is_whole
    table = parsed.tables["mig_instances"]
    table.validate(full=True)
    declared = list(arrow_schema(TABLES["mig_instances"]))
    assert list(table.schema) == [field for field in declared if field.name not in ("capture_id", "capture_sha256")]
    assert table.num_rows == parsed.ledger.rows
    return parsed


def rows(parsed: Parsed) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parsed.tables["mig_instances"].to_pylist()
    return found


def codes(parsed: Parsed) -> list[tuple[str, str]]:
    return [(issue.severity, issue.code) for issue in parsed.issues]


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.txt")), ids=lambda path: path.stem)
@pytest.mark.parametrize("crlf", [False, True], ids=["lf", "crlf"])
def test_corpus_gives_its_expected_rows(path: Path, crlf: bool) -> None:
    data = path.read_bytes()
    parsed = read(data.replace(b"\n", b"\r\n") if crlf else data)
    assert rows(parsed) == json.loads(path.with_suffix(".expected.json").read_text())["mig_instances"]
    assert parsed.ledger.refused == 0
    assert parsed.quarantine is None
    assert smi_mig.detect(data)
    assert not smi_list.detect(data)


def test_ledger_of_a_small_table() -> None:
    ledger = read(END + TITLE + HEADINGS + BODY + ROW + END).ledger
    assert (ledger.total, ledger.rows, ledger.header, ledger.structure) == (7, 1, 2, 4)


def test_closed_empty_table_is_an_answer() -> None:
    parsed = read(END + TITLE + HEADINGS + BODY + END)
    assert codes(parsed) == [("note", "empty_table")]
    assert parsed.quarantine is None


def test_open_empty_table_is_an_answer_in_doubt() -> None:
    parsed = read(END + TITLE + HEADINGS + BODY)
    assert codes(parsed) == [("note", "empty_table"), ("warning", "table_not_closed")]
    assert parsed.quarantine is None


@pytest.mark.parametrize("text", [END + TITLE, END + TITLE + HEADINGS, END + TITLE + HEADINGS + BODY[:20]])
def test_table_cut_before_its_body_is_no_answer(text: str) -> None:
    parsed = read(text)
    assert codes(parsed) == [("error", "truncated_table")]
    assert parsed.quarantine == "truncated_table"


def test_table_whose_only_row_is_cut_is_no_answer() -> None:
    parsed = read(END + TITLE + HEADINGS + BODY + ROW[:40])
    assert codes(parsed) == [("error", "unparsed_line")]
    assert parsed.quarantine == "no_rows"


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("No GPU instances found: Not Found", "no_gpu_instances"),
        ("No GPU instances found", "no_gpu_instances"),
        ("No compute instances found: Not Found", "no_compute_instances"),
        ("No MIG-enabled devices found.", "no_mig_devices"),
    ],
)
def test_sentence_that_there_are_none_is_an_answer(sentence: str, code: str) -> None:
    parsed = read(sentence + "\n")
    assert codes(parsed) == [("warning", code)]
    assert parsed.quarantine is None
    assert smi_mig.detect(sentence.encode())


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("Insufficient Permissions", "insufficient_permissions"),
        ("No GPU instances found: Insufficient Permissions", "insufficient_permissions"),
        ("Failed to display GPU instances: Insufficient Permissions", "insufficient_permissions"),
        ("Unable to query compute instances on GPU  0: Unknown Error", "nvml_error"),
        ("No GPU instances found: Unknown Error", "nvml_error"),
        ("Failed to initialize NVML: Driver/library version mismatch", "nvml_not_initialized"),
        ("No devices were found", "no_devices_found"),
    ],
)
def test_failure_is_not_an_answer(sentence: str, code: str) -> None:
    parsed = read(sentence + "\n")
    assert codes(parsed) == [("error", code)]
    assert parsed.quarantine == code
    assert parsed.ledger.refused == 1


def test_failure_beside_rows_is_an_error_without_quarantine() -> None:
    parsed = read("Failed to display GPU instances: Insufficient Permissions\n" + TITLE + HEADINGS + BODY + ROW + END)
    assert codes(parsed) == [("error", "insufficient_permissions")]
    assert parsed.quarantine is None


def test_answer_beside_a_failure_is_quarantined() -> None:
    parsed = read("No GPU instances found: Not Found\nFailed to initialize NVML: Unknown Error\n")
    assert parsed.quarantine == "nvml_not_initialized"


def test_row_under_the_wrong_title_is_refused() -> None:
    parsed = read(TITLE.replace("GPU instances:    ", "Compute instances:") + ROW)
    assert codes(parsed) == [("error", "table_mismatch")]
    assert rows(parsed) == []


def test_rows_without_title_go_by_their_count_of_numbers() -> None:
    compute = "|   0      3       MIG 1c.2g.20gb       0         1          1:1     |\n"
    parsed = read(ROW + compute)
    assert [row["instance_kind"] for row in rows(parsed)] == ["gpu_instance", "compute_instance"]
    assert (rows(parsed)[1]["gpu_instance_id"], rows(parsed)[1]["compute_instance_id"]) == (3, 1)
    assert smi_mig.detect(ROW.encode())


def test_compute_instance_id_of_a_gpu_instance_is_not_absent() -> None:
    row = rows(read(ROW))[0]
    assert (row["compute_instance_id"], row["absent"]) == (None, None)


def test_profile_name_stays_text() -> None:
    assert [row["profile_name"] for row in rows(read(ROW.replace("1g.5gb", "007   ")))] == ["007"]
    assert [row["profile_name"] for row in rows(read(ROW.replace("1g.5gb", "\u00b2     ")))] == ["\u00b2"]


@pytest.mark.parametrize(
    "line",
    [
        ROW.replace("19", "N/A"),
        ROW.replace("19", "\u0661\u0669"),
        ROW.replace("19", "1234567"),
        ROW.replace("MIG", "GIM"),
        "| GPU instance profiles:                             |\n",
        "|   0    3   1   2  |              12MiB / 20096MiB    | 16      0 |  2   0    2    0    2 |\n",
    ],
    ids=["token", "other-digits", "too-many-digits", "no-mig", "profile-table", "default-table"],
)
def test_what_is_no_row_is_refused(line: str) -> None:
    parsed = read(line)
    assert codes(parsed) == [("error", "unparsed_line")]
    assert parsed.quarantine == "no_rows"
    assert not smi_mig.detect(line.encode())


def test_prompt_and_blank_lines_are_accounted_for() -> None:
    ledger = read("root@node:/# nvidia-smi mig -lgi\n\n" + TITLE + HEADINGS + BODY + ROW + END).ledger
    assert (ledger.structure, ledger.blank, ledger.refused) == (4, 1, 0)


def test_empty_capture_is_quarantined() -> None:
    assert read(b"").quarantine == "no_rows"


@pytest.mark.parametrize(
    "line",
    [
        "|" + " " * 65_000 + "x",
        "| 0 MIG " + "x " * 30_000,
        "| 0 MIG x 1 2" + " " * 60_000,
        "Failed to " + ": " * 30_000,
    ],
    ids=["blanks", "many-words", "open-tail", "many-colons"],
)
def test_hostile_line_costs_little_time(line: str) -> None:
    started = time.perf_counter()
    read(line)
    assert time.perf_counter() - started < 1


PIECES = st.sampled_from(
    [text.encode() for text in (END, TITLE, HEADINGS, BODY, ROW, ROW[:-2], "|", "+", "\r\n", "\0", "|=")]
)


@given(
    st.one_of(st.binary(max_size=300), st.lists(st.one_of(PIECES, st.binary(max_size=12)), max_size=20).map(b"".join))
)
@example(b"\xfe\xff\x00")
@settings(max_examples=200, deadline=None)
def test_ledger_is_whole_for_any_bytes(data: bytes) -> None:
    try:
        parsed = read(data)
    except CaptureError as error:
        assert error.code == "undecodable"  # noqa: PT017 - most inputs do not raise
    else:
        assert parsed.ledger.rows or parsed.quarantine or parsed.issues
    assert smi_mig.detect(data) in (True, False)


def test_bundled_tables_agree_with_each_other() -> None:
    gpu_instances = rows(read((BUNDLED / "lgi.txt").read_bytes()))
    compute_instances = rows(read((BUNDLED / "lci.txt").read_bytes()))
    listing = smi_list.parse((BUNDLED / "list.txt").read_bytes(), CaptureFacts(masked=False))
    profiles = sorted(row["mig_profile"] for row in listing.tables["mig_devices"].to_pylist())
    assert sorted(row["profile_name"] for row in gpu_instances) == profiles
    assert sorted(row["profile_name"] for row in compute_instances) == profiles
    pairs = [
        {(row["gpu_instance_id"], row["profile_name"]) for row in found} for found in (gpu_instances, compute_instances)
    ]
    assert pairs[0] == pairs[1]
    taken = [unit for row in gpu_instances for unit in range(row["placement_start"], placement_end(row))]
    assert sorted(taken) == list(range(8))


def placement_end(row: dict[str, Any]) -> int:
    return int(row["placement_start"]) + int(row["placement_size"])


@needs_real
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cnd-k8s-7x1g5gb.txt", [("1g.5gb", 19, 7 + unit, unit, 1) for unit in range(7)]),
        ("cnd-ocp.txt", [("2g.10gb", 19, 3, 4, 2), ("2g.10gb", 19, 5, 0, 2), ("2g.10gb", 19, 6, 2, 2)]),
    ],
)
def test_real_tables(name: str, expected: list[tuple[str, int, int, int, int]]) -> None:
    parsed = read((REAL / "smi_mig" / name).read_bytes())
    columns = ("profile_name", "profile_id", "gpu_instance_id", "placement_start", "placement_size")
    assert [tuple(row[column] for column in columns) for row in rows(parsed)] == expected
    assert parsed.issues == []


@pytest.mark.parametrize(
    ("tail", "codes"), [("+-----+\n", []), ("+-----", ["table_not_closed"]), ("", ["table_not_closed"])]
)
def test_table_with_rows_that_is_not_closed_is_in_doubt(tail: str, codes: list[str]) -> None:
    text = f"+-----+\n| GPU instances: |\n|=====|\n|   0  MIG 1g.5gb   19   7   0:1   |\n{tail}"
    parsed = smi_mig.parse(text.encode(), CaptureFacts())
    assert parsed.ledger.rows == 1
    assert [issue.code for issue in parsed.issues] == codes
