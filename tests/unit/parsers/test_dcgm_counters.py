"""The parser of exporter catalogues: one failing case per rule, the real catalogues, a whole ledger for any bytes."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.errors import CaptureError
from pipeline.parsed import CaptureFacts, Parsed
from pipeline.parsers import dcgm_counters
from schemas import TABLES, unstamped_schema

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "corpus" / "dcgm_counters"
BUNDLED = ROOT / "captures" / "dcgm-4.6.1" / "counters.csv"
HEADER = ROOT / "captures" / "dcgm-4.6.1" / "dcgm_fields.h"
REAL = ROOT.parent / "shared" / "captures" / "dcgm_counters"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the real catalogues (../shared/captures) are not there")

GOOD = "DCGM_FI_DEV_GPU_TEMP,gauge,Core temperature.\n"
REFUSES = "the exporter refuses the whole file"


def read(data: bytes | str) -> Parsed:
    """Parse, and check what holds of every result: whole ledger, declared types, a row for each line counted as one."""
    parsed = dcgm_counters.parse(data.encode() if isinstance(data, str) else data, CaptureFacts())
    assert parsed.ledger.is_whole
    table = parsed.tables["dcgm_counters"]
    table.validate(full=True)
    assert table.schema == unstamped_schema(TABLES["dcgm_counters"])
    assert parsed.ledger.rows == table.num_rows == len(set(table["capture_line"].to_pylist()))
    assert (parsed.quarantine is None) == bool(table.num_rows)
    for row in table.to_pylist():
        assert row["absent"] == (None if row["help"] is not None else "help=not_recorded")
    return parsed


def rows(parsed: Parsed) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parsed.tables["dcgm_counters"].to_pylist()
    return found


def cells(text: str) -> list[tuple[str, str, str | None, bool]]:
    return [(row["field_name"], row["metric_type"], row["help"], row["is_enabled"]) for row in rows(read(text))]


def codes(parsed: Parsed) -> list[tuple[str, str, int | None]]:
    return [(issue.severity, issue.code, issue.line) for issue in parsed.issues]


# -- the exporter's rules ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ("DCGM_FI_A,gauge,x", ("DCGM_FI_A", "gauge", "x", True)),
        ("  DCGM_FI_A  ,  counter ,  x  ", ("DCGM_FI_A", "counter", "x", True)),
        ("DCGM_FI_A,gauge,\tx\t", ("DCGM_FI_A", "gauge", "\tx\t", True)),
        ("DCGM_FI_A,histogram,x", ("DCGM_FI_A", "histogram", "x", True)),
        ("DCGM_FI_A,summary,x", ("DCGM_FI_A", "summary", "x", True)),
        ("DCGM_FI_A,label,x", ("DCGM_FI_A", "label", "x", True)),
        ('"DCGM_FI_A","gauge","x, ""y"""', ("DCGM_FI_A", "gauge", 'x, "y"', True)),
        ('"  DCGM_FI_A ",gauge,"  x "', ("DCGM_FI_A", "gauge", "x", True)),
        ('DCGM_FI_A,gauge,"x\n\ny"', ("DCGM_FI_A", "gauge", "x\n\ny", True)),
        ('DCGM_FI_A,gauge,"x\r\ny"\r', ("DCGM_FI_A", "gauge", "x\ny", True)),
        ('DCGM_FI_A,gauge,"#x\n# DCGM_FI_B, gauge, y"', ("DCGM_FI_A", "gauge", "#x\n# DCGM_FI_B, gauge, y", True)),
        ("DCGM_FI_A,gauge,x # y", ("DCGM_FI_A", "gauge", "x # y", True)),
        ("DCGM_FI_A,gauge,", ("DCGM_FI_A", "gauge", None, True)),
        ('DCGM_FI_A,gauge,""', ("DCGM_FI_A", "gauge", None, True)),
        ("dcgm_sm_clock,gauge,x", ("dcgm_sm_clock", "gauge", "x", True)),
        ("DCGM_EXP_P2P_STATUS,whatever,x", ("DCGM_EXP_P2P_STATUS", "whatever", "x", True)),
        ("DCGM_EXP_P2P_STATUS,,x", ("DCGM_EXP_P2P_STATUS", "", "x", True)),
        ("DCGM_FI_EXP_OLD_COUNT,whatever,x", ("DCGM_FI_EXP_OLD_COUNT", "whatever", "x", True)),
    ],
)
@pytest.mark.parametrize("end", ["\n", ""], ids=["newline", "none"])
def test_record_that_the_exporter_accepts(record: str, wanted: tuple[str, str, str | None, bool], end: str) -> None:
    assert cells(record + end) == [wanted]
    assert read(record + end).issues == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("DCGM_FI_A,gauge", "cell_count"),
        ("DCGM_FI_A", "cell_count"),
        ("DCGM_FI_A,gauge,x, y", "cell_count"),
        ("DCGM_FI_A,gauge,x,", "cell_count"),
        (" ", "cell_count"),
        ("\t", "cell_count"),
        (" # DCGM_FI_A", "cell_count"),
        ('DCGM_FI_A,gauge, "x"', "stray_quote"),
        ('DCGM_FI_A,gauge,x "y"', "stray_quote"),
        ('DCGM_FI_A,gauge,"x" ', "stray_quote"),
        ('DCGM_FI_A,gauge,"x"y', "stray_quote"),
        (' "DCGM_FI_A",gauge,x', "stray_quote"),
        ("DCGM_FI_A,Gauge,x", "unknown_type"),
        ("DCGM_FI_A,\tgauge,x", "unknown_type"),
        ("DCGM_FI_A,,x", "unknown_type"),
        ("DCGM_FI_A\t,gauge,x", "unknown_field"),
        (" # DCGM_FI_A,gauge,x", "unknown_field"),
        ("dcgm_fi_dev_gpu_temp2,gauge", "cell_count"),
        ("Dcgm_FI_A,gauge,x", "unknown_field"),
        ("dcgm_GPU_temp,gauge,x", "unknown_field"),
        ("DCGM_FI_,gauge,x", "unknown_field"),
        ("DCGM_FT_A,gauge,x", "unknown_field"),
        ("nvidia_smi,gauge,x", "unknown_field"),
        ("name,type,help", "unknown_field"),
        (",,", "unknown_field"),
    ],
)
def test_line_that_the_exporter_refuses_costs_no_other(line: str, code: str) -> None:
    parsed = read(f"{GOOD}{line}\n# DCGM_FI_B,gauge,b\n")
    assert [row["capture_line"] for row in rows(parsed)] == [1, 3]
    assert codes(parsed) == [("error", code, 2)]
    assert REFUSES in parsed.issues[0].message
    assert (parsed.ledger.rows, parsed.ledger.refused) == (2, 1)


def test_each_bad_line_has_its_error() -> None:
    parsed = read(f"x\n{GOOD}y,z\n\n , , \n")
    assert codes(parsed) == [
        ("error", "cell_count", 1),
        ("error", "cell_count", 3),
        ("error", "unknown_field", 5),
    ]
    assert (parsed.ledger.rows, parsed.ledger.blank, parsed.ledger.refused) == (1, 1, 3)


def test_quote_that_never_closes_costs_its_own_line_alone() -> None:
    parsed = read(f'DCGM_FI_A,gauge,"x\n\n{GOOD}')
    assert [row["capture_line"] for row in rows(parsed)] == [3]
    assert codes(parsed) == [("error", "quote_not_closed", 1)]
    assert (parsed.ledger.blank, parsed.ledger.refused) == (1, 1)


def test_record_over_several_lines_is_refused_whole() -> None:
    parsed = read(f'DCGM_FI_A,number,"x\ny\n\nz"\n{GOOD}')
    assert codes(parsed) == [("error", "unknown_type", 1)]
    assert (parsed.ledger.rows, parsed.ledger.refused) == (1, 4)


def test_record_over_several_lines_has_the_line_that_it_begins_on() -> None:
    parsed = read(f'{GOOD}DCGM_FI_A,gauge,"x\n\ny"\nDCGM_FI_B,gauge,z\n')
    assert [row["capture_line"] for row in rows(parsed)] == [1, 2, 5]
    assert (parsed.ledger.rows, parsed.ledger.structure, parsed.ledger.blank) == (3, 2, 0)


def test_name_that_is_active_twice_is_remarked() -> None:
    parsed = read(f"# {GOOD}{GOOD}DCGM_FI_B,gauge,x\n{GOOD}# {GOOD}")
    assert len(rows(parsed)) == 5
    assert codes(parsed) == [("warning", "repeated_field", 4)]
    assert "line 2" in parsed.issues[0].message


def test_name_that_is_active_on_two_lines_in_a_row_is_remarked() -> None:
    parsed = read(f"{GOOD}{GOOD}{GOOD}")
    assert codes(parsed) == [("warning", "repeated_field", 2), ("warning", "repeated_field", 3)]
    assert all("line 1" in issue.message for issue in parsed.issues)


# -- comments ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "wanted"),
    [
        ("# DCGM_FI_A, counter, x (in ns).", ("DCGM_FI_A", "counter", "x (in ns).", False)),
        ("#DCGM_FI_A,counter,x", ("DCGM_FI_A", "counter", "x", False)),
        ("##\tDCGM_FI_A ,counter,x", ("DCGM_FI_A", "counter", "x", False)),
        ('# DCGM_FI_A,gauge,"x, y"', ("DCGM_FI_A", "gauge", "x, y", False)),
        ("# DCGM_EXP_XID_ERRORS_COUNT, any, x", ("DCGM_EXP_XID_ERRORS_COUNT", "any", "x", False)),
        ("# dcgm_sm_clock, gauge, x", ("dcgm_sm_clock", "gauge", "x", False)),
    ],
)
def test_commented_record_is_a_disabled_row(comment: str, wanted: tuple[str, str, str, bool]) -> None:
    assert cells(f"{comment}\n") == [wanted]


@pytest.mark.parametrize(
    "comment",
    [
        "#",
        "# Format,,",
        "# Clocks,,",
        "# DCGM FIELD, Prometheus metric type, help message",
        "# If a line begins with '#' it is a comment,,",
        "# DCGM_FI_A gauge x",
        "# DCGM_FI_A, gauge",
        "# DCGM_FI_A, gauge, x, y",
        "# DCGM_FI_A, meter, x",
        '# DCGM_FI_A, gauge, "x"',
        '# DCGM_FI_A,gauge,"x',
        "# see DCGM_FI_A, gauge, x",
    ],
)
def test_other_comment_is_structure(comment: str) -> None:
    parsed = read(f"{GOOD}{comment}\n")
    assert (len(rows(parsed)), parsed.ledger.structure, parsed.issues) == (1, 1, [])


# -- whole files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.csv")), ids=lambda path: path.stem)
def test_crlf_changes_nothing(path: Path) -> None:
    data = path.read_bytes().replace(b"\r\n", b"\n")
    assert rows(read(data.replace(b"\n", b"\r\n"))) == rows(read(data))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_mark_is_read_but_the_exporter_would_not(encoding: str) -> None:
    parsed = read(GOOD.encode(encoding))
    assert len(rows(parsed)) == 1
    assert codes(parsed) == [("warning", "byte_order_mark", 1)]
    assert REFUSES in parsed.issues[0].message


def test_line_that_is_no_text_is_refused_and_the_rest_stays() -> None:
    data = GOOD.encode() + b"# 30 \xb0C\nDCGM_FI_A,gauge,\0\n" + b"# " + b"x" * 70_000 + b"\nDCGM_FI_B,gauge,y\n"
    parsed = read(data)
    assert [row["capture_line"] for row in rows(parsed)] == [1, 5]
    assert codes(parsed) == [("error", "invalid_utf8", 2), ("error", "nul_bytes", 3), ("error", "line_too_long", 4)]
    # The exporter does not mind: nothing is said of it.
    assert not [issue for issue in parsed.issues if REFUSES in issue.message]


def test_record_that_goes_on_to_a_line_that_is_no_text_is_refused() -> None:
    parsed = read(b'DCGM_FI_A,gauge,"x\n\xb0 y"\n' + GOOD.encode())
    assert [row["capture_line"] for row in rows(parsed)] == [3]
    assert codes(parsed) == [("error", "unparsed_line", 1), ("error", "invalid_utf8", 2)]


@pytest.mark.parametrize("data", ["", "\n", "# prose\n", "# Format,,\n"])
def test_file_without_a_counter_is_quarantined(data: str) -> None:
    parsed = read(data)
    assert (parsed.quarantine, codes(parsed)) == ("no_rows", [("error", "no_rows", None)])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (GOOD, True),
        (f"# prose\r\n\r\n# {GOOD}", True),
        (f"x,y\n  {GOOD}", True),
        ('"DCGM_FI_A","gauge","x"\n', True),
        ("DCGM_FI_A,112\n", False),
        ('DCGM_FI_A{gpu="0",UUID="GPU-1",x="y"} 5\n', False),
        ("data:\n  metrics: DCGM_FI_A\n", False),
        ("#define DCGM_FI_A 5 // DCGM_FI_B, gauge, x\n", False),
        ("name, uuid, DCGM_FI_A\n", False),
        ("DCGM_FI_A, 5, 6\n", False),
        ("", False),
    ],
)
def test_detect(text: str, *, wanted: bool) -> None:
    assert dcgm_counters.detect(text.encode()) is wanted


def test_bundled_catalogue() -> None:
    parsed = read(BUNDLED.read_bytes())
    assert parsed.issues == []
    active = [row["field_name"] for row in rows(parsed) if row["is_enabled"]]
    assert active == [
        "DCGM_FI_DEV_SM_CLOCK",
        "DCGM_FI_DEV_MEM_CLOCK",
        "DCGM_FI_DEV_GPU_TEMP",
        "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DRIVER_VERSION",
    ]
    assert len(rows(parsed)) - len(active) == 6


@needs_real
@pytest.mark.parametrize(
    ("file", "enabled", "disabled"),
    # Counted with grep -c '^DCGM' and awk -F, '/^# *DCGM_/ && NF >= 3'.
    [
        ("default-counters-2.2.9-2.4.1.csv", 20, 18),
        ("default-counters-3.3.7-3.5.0.csv", 22, 27),
        ("default-counters-4.5.3-4.8.2.csv", 26, 37),
        ("dcp-metrics-included-4.5.3-4.8.2.csv", 26, 33),
    ],
)
def test_real_catalogues(file: str, enabled: int, disabled: int) -> None:
    data = (REAL / file).read_bytes()
    parsed = read(data)
    assert [sum(row["is_enabled"] is wanted for row in rows(parsed)) for wanted in (True, False)] == [enabled, disabled]
    assert (parsed.issues, parsed.ledger.refused, parsed.quarantine) == ([], 0, None)
    assert dcgm_counters.detect(data)


# -- any bytes ---------------------------------------------------------------------------------------------------------

PIECES = ["DCGM_FI_A", "dcgm_a", "DCGM_EXP_A", ",", "gauge", '"', '""', "#", " ", "\t", "\n", "\r\n", "\r", "\0", "é"]


@given(st.binary(max_size=200))
@example(b"\xff\xfea")
@example(b"\xef\xbb\xbf")
@example(b'"')
def test_any_bytes_are_accounted_for(data: bytes) -> None:
    with contextlib.suppress(CaptureError):
        read(data)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@example('DCGM_FI_A,gauge,"x\n""\n"y\n')
def test_mutated_catalogues_are_accounted_for(text: str) -> None:
    parsed = read(text)
    assert bool(parsed.ledger.refused) <= any(issue.severity == "error" for issue in parsed.issues)


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"DCGM_FI_[A-Z0-9_]{1,20}", fullmatch=True),
            st.sampled_from(dcgm_counters.TYPES),
            st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=30),
        ),
        min_size=1,
        max_size=8,
        unique_by=lambda record: record[0],
    )
)
def test_what_was_quoted_is_read_back(records: list[tuple[str, str, str]]) -> None:
    lines = ['"{}","{}","{}"\n'.format(*(cell.replace('"', '""') for cell in record)) for record in records]
    wanted = [(name, kind, text.strip(" ") or None, True) for name, kind, text in records]
    assert cells("".join(lines)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        'DCGM_FI_A,gauge,"x\n' * 20_000,
        'DCGM_FI_A,gauge,"x\n' + "y\n" * 40_000,
        '"\n' * 20_000 + "x",
        "DCGM_FI_A,gauge," + '""' * 30_000,
        "# DCGM_FI_A," + "," * 60_000,
        GOOD * 20_000,
    ],
    ids=["quotes", "lines", "alternating", "doubled", "commas", "repeats"],
)
def test_nothing_takes_long(text: str) -> None:
    started = time.process_time()
    read(text)
    assert time.process_time() - started < 3
