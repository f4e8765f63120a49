"""The parser of dcgm_fields.h: one failing case per rule, the real names, and a whole ledger for any bytes."""

from __future__ import annotations

import contextlib
import csv
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.errors import CaptureError
from pipeline.parsed import CaptureFacts, Parsed
from pipeline.parsers import dcgm_header
from pipeline.parsers.dcgm_header_comments import unit_hint
from pipeline.parsers.dcgm_header_values import only_name, resolve, terms
from schemas import TABLES, unstamped_schema

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "corpus" / "dcgm_header"
BUNDLED = ROOT / "captures" / "dcgm-4.6.1" / "dcgm_fields.h"
FACTS = ROOT.parent / "shared" / "captures" / "dcgm_header" / "dcgm-4.6.0-field-facts.csv"


def read(data: bytes | str) -> Parsed:
    """Parse, and check what holds of every result: whole ledger, declared types, one row per row line."""
    parsed = dcgm_header.parse(data.encode() if isinstance(data, str) else data, CaptureFacts())
    assert parsed.ledger.is_whole
    table = parsed.tables["dcgm_fields"]
    table.validate(full=True)
    assert table.schema == unstamped_schema(TABLES["dcgm_fields"])
    found = table.to_pylist()
    assert len({row["capture_line"] for row in found}) == len({row["field_name"] for row in found}) == len(found)
    assert parsed.ledger.rows == len(found)
    assert (parsed.quarantine is None) == bool(found)
    for row in found:
        nulls = sorted(name for name, value in row.items() if value is None and name != "absent")
        assert [pair.split("=")[0] for pair in (row["absent"] or "").split()] == nulls
    return parsed


def rows(parsed: Parsed) -> dict[str, dict[str, Any]]:
    return {row["field_name"]: row for row in parsed.tables["dcgm_fields"].to_pylist()}


def codes(parsed: Parsed) -> list[tuple[str, str, int | None]]:
    return [(issue.severity, issue.code, issue.line) for issue in parsed.issues]


def reason(row: dict[str, Any], column: str) -> str:
    reasons: dict[str, str] = dict(pair.split("=") for pair in row["absent"].split())
    return reasons[column]


def ids(text: str) -> dict[str, int | None]:
    return {name.removeprefix("DCGM_FI_"): row["field_id"] for name, row in rows(read(text)).items()}


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("153", 153),
        ("0x99", 153),
        ("0231", 153),
        ("153u", 153),
        ("(153)", 153),
        ("(150 + 3)", 153),
        ("200-40-7", 153),
        ("200 - (40 + 7)", 153),
        ("200 - (50 - (5 - 2))", 153),
        ("0", 0),
        ("2147483647", 2_147_483_647),
    ],
)
def test_number(value: str, number: int) -> None:
    assert ids(f"#define DCGM_FI_A {value}\n") == {"A": number}


@pytest.mark.parametrize(
    "value",
    [
        "'s'",
        '"153"',
        "150 * 3",
        "-1",
        "1 - 2",
        "(unsigned) 3",
        "1 2",
        "(1",
        "1)",
        ")1(",
        "()",
        "1 +",
        "089",
        "1.5",
        "12abc",
        "f(1)",
        "1 << 3",
        "2147483648",
        "9" * 5000,
        "1;",
        "\N{DEGREE SIGN}",
    ],
)
def test_value_that_is_no_id_is_kept_and_is_an_error(value: str) -> None:
    parsed = read(f"#define DCGM_FI_A {value}\n#define DCGM_FI_B 7\n")
    row = rows(parsed)["DCGM_FI_A"]
    assert (row["field_id"], row["value_text"], reason(row, "field_id")) == (None, value, "unparsable")
    assert codes(parsed) == [("error", "unparsable_value", 1)]
    assert rows(parsed)["DCGM_FI_B"]["field_id"] == 7


def test_alias_of_is_a_name_alone() -> None:
    assert only_name(terms("(A)")) == "A"
    assert only_name(terms("A + 0")) is None
    assert only_name(terms("1")) is None
    assert only_name(terms("?")) is None


def test_chain_runs_both_ways_through_the_file() -> None:
    assert ids("#define DCGM_FI_A DCGM_FI_B\n#define DCGM_FI_B DCGM_FI_C\n#define DCGM_FI_C 9\n") == dict.fromkeys(
        "ABC", 9
    )


@pytest.mark.parametrize(
    ("base", "value", "number"),
    [
        ("1 + 2", "8 - BASE", 9),
        ("1 + 2", "8 - (BASE)", 5),
        ("(1 + 2)", "8 - BASE", 5),
        ("(1 + 2) - 1", "8 - BASE", 4),
        ("2 - 1", "9 - (8 - BASE)", 4),
        ("1 + 2\n#define NEXT BASE + 4", "8 - NEXT", 13),
        ("1 + 2\n#define NEXT (BASE) + 4", "8 - NEXT", 9),
        ("1 + 2", "BASE - BASE", 4),
    ],
)
def test_name_stands_for_its_text_as_in_c(base: str, value: str, number: int) -> None:
    """Without parentheses a minus before a name reaches the first operand of its sum only."""
    assert ids(f"#define DCGM_FI_A {value}\n#define BASE {base}\n") == {"A": number}


def test_chain_of_any_length_resolves() -> None:
    text = "".join(f"#define DCGM_FI_N{n} (DCGM_FI_N{n + 1})\n" for n in range(5000)) + "#define DCGM_FI_N5000 9\n"
    assert set(ids(text).values()) == {9}


def test_doublings_do_not_grow_without_end() -> None:
    values = {f"N{n}": terms(f"N{n + 1} + N{n + 1}") for n in range(3000)} | {"N3000": terms("1")}
    found = resolve(values)
    # 2 to the power of 30 is the last that fits an id.
    assert (found["N2970"], found["N2969"], found["N0"]) == (2**30, "unparsable", "unparsable")


def test_cycle_has_no_id_and_is_an_error() -> None:
    parsed = read("#define DCGM_FI_A DCGM_FI_B\n#define DCGM_FI_B (DCGM_FI_A + 1)\n#define DCGM_FI_C DCGM_FI_C\n")
    assert {row["field_id"] for row in rows(parsed).values()} == {None}
    assert {reason(row, "field_id") for row in rows(parsed).values()} == {"unparsable"}
    assert codes(parsed) == [("error", "unparsable_value", line) for line in (1, 2, 3)]


def test_name_that_is_not_defined_here_leaves_the_id_unknown() -> None:
    parsed = read("#define DCGM_FI_A DCGM_FI_GONE // 77\n#define DCGM_FI_B (DCGM_FI_A + 1)\n")
    assert ids("#define DCGM_FI_A DCGM_FI_GONE // 77\n") == {"A": None}
    assert [reason(row, "field_id") for row in rows(parsed).values()] == ["not_recorded", "not_recorded"]
    assert codes(parsed) == [("warning", "unresolved_name", 1), ("warning", "unresolved_name", 2)]
    assert "77" in parsed.issues[0].message


def test_number_beside_an_alias_must_agree() -> None:
    text = "#define DCGM_FI_A 153\n#define DCGM_FI_B DCGM_FI_A {}\n"
    for beside in ("// 153", "/* 153 */", "// the same", "// 153 and more", ""):
        assert codes(read(text.format(beside))) == []
    parsed = read(text.format("// 154"))
    assert rows(parsed)["DCGM_FI_B"]["field_id"] == 153
    assert codes(parsed) == [("warning", "id_disagrees", 2)]


# -- names defined twice -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", ["150", "(149 + 1)", "DCGM_FI_SAME"])
def test_repeated_with_the_same_value_is_noted(again: str) -> None:
    parsed = read(f"#define DCGM_FI_A 150\n#define DCGM_FI_SAME DCGM_FI_A\n\n#define DCGM_FI_A {again}\n")
    assert rows(parsed)["DCGM_FI_A"]["field_id"] == 150
    assert codes(parsed) == [("note", "repeated_field", 4)]
    assert (parsed.ledger.rows, parsed.ledger.structure, parsed.ledger.blank) == (2, 1, 1)


def test_repeated_with_another_value_has_no_id_and_names_both_lines() -> None:
    parsed = read("#define DCGM_FI_A 150\n#define DCGM_FI_B DCGM_FI_A\n#define DCGM_FI_A 151\n#define DCGM_FI_C 5\n")
    assert ids("#define DCGM_FI_A 150\n#define DCGM_FI_A 151\n") == {"A": None}
    assert reason(rows(parsed)["DCGM_FI_A"], "field_id") == reason(rows(parsed)["DCGM_FI_B"], "field_id") == "error"
    assert rows(parsed)["DCGM_FI_C"]["field_id"] == 5
    assert codes(parsed) == [("warning", "unresolved_name", 2), ("error", "conflicting_values", 3)]
    assert "line 1" in parsed.issues[1].message
    assert "line 3" in parsed.issues[1].message
    assert parsed.ledger.refused == 1


def test_other_macro_with_several_values_gives_no_id() -> None:
    parsed = read("#define BASE 1\n#define BASE 2\n#define DCGM_FI_A BASE\n")
    assert reason(rows(parsed)["DCGM_FI_A"], "field_id") == "error"


def test_undef_is_not_followed() -> None:
    parsed = read("#define DCGM_FI_A 1\n#undef DCGM_FI_A\n#undef OTHER\n")
    assert rows(parsed)["DCGM_FI_A"]["field_id"] == 1
    assert codes(parsed) == [("warning", "undef_ignored", 2)]


def test_one_id_for_two_names_is_remarked_but_for_markers_and_aliases() -> None:
    marker = "#define DCGM_FI_FIRST_VGPU_FIELD_ID 520\n#define DCGM_FI_A 520\n#define DCGM_FI_B DCGM_FI_A\n"
    assert codes(read(marker)) == []
    assert codes(read(marker + "#define DCGM_FI_C 520\n")) == [("warning", "duplicate_id", 4)]


@pytest.mark.parametrize(
    ("name", "is_marker"),
    [
        ("DCGM_FI_MAX_FIELDS", True),
        ("DCGM_FI_MAX_VGPU_FIELDS", True),
        ("DCGM_FI_MAX_NVSWITCH_FIELDS", True),
        ("DCGM_FI_FIRST_VGPU_FIELD_ID", True),
        ("DCGM_FI_LAST_NVSWITCH_FIELD_ID", True),
        ("DCGM_FI_DEV_FIRST_CONNECTX_FIELD_ID", True),
        ("DCGM_FI_INTERNAL_FIELDS_0_START", True),
        ("DCGM_FI_INTERNAL_FIELDS_0_END", True),
        ("DCGM_FI_DEV_MAX_SM_CLOCK", False),
        ("DCGM_FI_DEV_MIG_MAX_SLICES", False),
        ("DCGM_FI_DEV_BOARD_POWER_LIMIT_MAX_WATTS", False),
        ("DCGM_FI_DEV_NVLINK_PPCNT_RECOVERY_TIME_SINCE_LAST", False),
        ("DCGM_FI_DEV_PROCESS_START", False),
    ],
)
def test_markers(name: str, *, is_marker: bool) -> None:
    assert rows(read(f"#define {name} 5\n"))[name]["is_marker"] is is_marker


def test_other_families_are_structure() -> None:
    others = ("DCGM_FT_DOUBLE 'd'", "DCGM_FS_GLOBAL 0", "DCGM_FE_GPU 1", "DCGM_CUDA_X", "F(a) a")
    parsed = read("".join(f"#define {other}\n" for other in others) + "#define DCGM_FI_A 1\n")
    assert (list(rows(parsed)), parsed.ledger.structure, parsed.issues) == (["DCGM_FI_A"], 5, [])


@pytest.mark.parametrize(
    "line",
    [
        "#define DCGM_FI_B",
        "#define DCGM_FI_B(x) 5",
        "#define DCGM_FI_B // 5",
        "#define DCGM_FI_B-C 5",
        "#define DCGM_FI_B\N{DEGREE SIGN} 5",
        "#define DCGM_FI_B+5",
    ],
)
def test_definition_without_a_name_or_a_value_is_refused(line: str) -> None:
    parsed = read(f"{line}\n#define DCGM_FI_A 1\n")
    assert (list(rows(parsed)), parsed.ledger.refused) == (["DCGM_FI_A"], 1)
    assert codes(parsed) == [("error", "unparsed_line", 1)]


# -- deprecation -------------------------------------------------------------------------------------------------------


def deprecated(text: str) -> bool | None:
    found: bool | None = rows(read(text))["DCGM_FI_A"]["is_deprecated"]
    return found


@pytest.mark.parametrize(
    "opening",
    [
        "#if DCGM_DEPRECATED",
        "#  ifdef DCGM_DEPRECATED",
        "#if defined(DCGM_DEPRECATED) && DCGM_DEPRECATED != 0",
        "#if DCGM_DEPRECATED\n#if OTHER\n#endif",
        "#ifndef DCGM_DEPRECATED\n#else",
        "#if !DCGM_DEPRECATED\n#else",
        "#if DCGM_DEPRECATED == 0\n#define DCGM_FI_B 2\n#else",
        "#if OTHER\n#elif DCGM_DEPRECATED",
        "#endif\n#else\n#if DCGM_DEPRECATED",
        "/* this one is not old */\n#if (DCGM_DEPRECATED)",
    ],
)
def test_block_of_old_names_is_deprecated(opening: str) -> None:
    assert deprecated(f"{opening}\n#define DCGM_FI_A 1\n#endif\n") is True


@pytest.mark.parametrize(
    "opening",
    [
        "",
        "#ifndef DCGM_DEPRECATED",
        "#if !defined(DCGM_DEPRECATED)",
        "#if DCGM_DEPRECATED == 0",
        "#if ( DCGM_DEPRECATED\t )  ==\t0",
        "#if  !  defined  (  DCGM_DEPRECATED  )",
        "#if DCGM_DEPRECATED\n#else",
        "#if DCGM_DEPRECATED\n#elif OTHER",
        "#if DCGM_DEPRECATED\n#elif !DCGM_DEPRECATED\n#else",
        "#if DCGM_DEPRECATED\n#endif",
        "#if DCGM_DEPRECATED_NOT",
        "// #if DCGM_DEPRECATED\n\n#if 1",
    ],
)
def test_outside_of_that_block_it_is_not_said(opening: str) -> None:
    text = f"{opening}\n#define DCGM_FI_A 1\n"
    assert deprecated(text) is None
    assert reason(rows(read(text))["DCGM_FI_A"], "is_deprecated") == "not_recorded"


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("Deprecated", True),
        ("DEPRECATED: see another", True),
        ("Its deprecation was announced", True),
        ("A plain field", False),
        ("Replaces the deprecated one", False),
        ("Is not deprecated", False),
        ("Guarded by DCGM_DEPRECATED", False),
        ("********", None),
    ],
)
def test_comment_says_whether_it_is_deprecated(comment: str, said: bool | None) -> None:
    assert deprecated(f"/* {comment} */\n#define DCGM_FI_A 1\n") is said
    assert deprecated(f"#define DCGM_FI_A 1 // {comment}\n") is said


def test_alias_outside_of_the_block_is_not_deprecated_by_being_one() -> None:
    assert deprecated("#define DCGM_FI_B 1\n#define DCGM_FI_A DCGM_FI_B // 1\n") is None


# -- meaning and unit --------------------------------------------------------------------------------------------------


def meaning(before: str) -> str | None:
    found: str | None = rows(read(f"{before}#define DCGM_FI_A 1\n"))["DCGM_FI_A"]["meaning"]
    return found


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("/** One */\n", "One"),
        ("/* One */\n\n \t\n", "One"),
        ("/**\n * One\n *\n *   two  *three\n **/\n", "One two *three"),
        ("/*! One */\n", "One"),
        ("// One\n//  two\n", "One two"),
        ("/// One\n", "One"),
        ("// ======\n// One\n// ======\n", "One"),
        ("/* One */ ", "One"),
        ("/* Heading */\n\n/* One */\n", "One"),
        ("// Heading\n\n// One\n", "One"),
        ("// Heading\n/* One */\n", "One"),
        ("/* Heading */\n// One\n", "One"),
        ("/* a */ /* One */\n", "One"),
        ("/* One\\\n two */\n", "One two"),
        ("// One \\\n two\n", "One two"),
        ("/* One // two */\n", "One // two"),
        ("", None),
        ("/* One */\nint x;\n", None),
        ("/* One */\n#if 1\n", None),
        ("/* One */\n#define DCGM_FI_B 2\n", None),
        ("#define DCGM_FI_B 2 // One\n", None),
        ("#define DCGM_FI_B 2 /* One\n two */\n", None),
        ("#define DCGM_FI_B 2\n/**< One */\n", None),
        ("#define DCGM_FI_B 2\n///< One\n", None),
        ("/*****/\n", None),
        ("/**/\n", None),
        ('const char *s = "/* One */";\n', None),
    ],
)
def test_meaning_is_the_nearest_comment(before: str, wanted: str | None) -> None:
    assert meaning(before) == wanted


def test_meaning_is_cut_at_two_thousand_characters() -> None:
    assert meaning(f"/* {'x' * 1999} yz */\n") == "x" * 1999
    assert meaning(f"/* {'x' * 2000} yz */\n") == "x" * 2000


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("Clock in MHz", "MHz"),
        ("Power (in Watts) now", "Watts"),
        ("Used memory in MB", "MB"),
        ("Temperature (C)", "C"),
        ("Time held down, in ns", "ns"),
        ("Time held down [usec]", "usec"),
        ("Time in usec", "usec"),
        ("Energy in mJ since the start", "mJ"),
        ("Rate in KB/s", "KB/s"),
        ("Load, in percent", "percent"),
        ("Bytes per second: in bytes per second", "bytes per second"),
        ("In milliseconds", "milliseconds"),
        ("GPU(s) in a group", None),
        ("Held in Memory", None),
        ("In case of a C program", None),
        ("Clock of the device", None),
        (None, None),
    ],
)
def test_unit_is_as_printed(text: str | None, unit: str | None) -> None:
    assert unit_hint(text) == unit


# -- C text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "#define\tDCGM_FI_A\t\t5",
        "  # \t define DCGM_FI_A 5",
        "#define DCGM_FI_A 5\r",
        "#def\\\nine DCGM_FI_A 5",
        "#define DCGM_\\\nFI_A 5",
        "#define \\\r\n  DCGM_FI_A \\\r\n 5",
        "/* a */ # /* b */ define /* c\n */ DCGM_FI_A /**/ 5 /* d */ // e",
        'char *s = "don\'t /* \\" "; /* \' */ // "\n#define DCGM_FI_A 5',
        "#error it's broken /*\n#define DCGM_FI_A 5",
        "\\\n\\\n#define DCGM_FI_A 5",
        "int a = 4 / 2; /**/\n#define DCGM_FI_A 5",
    ],
)
def test_definition_is_found(line: str) -> None:
    assert ids(f"{line}\n") == {"A": 5}


@pytest.mark.parametrize(
    "text",
    [
        "/*\n#define DCGM_FI_A 5\n*/",
        "// \\\n#define DCGM_FI_A 5",
        'char *s = "\\\n#define DCGM_FI_A 5";',
        'char *s = "#define DCGM_FI_A 5";',
        "int x; #define DCGM_FI_A 5",
        "#defined DCGM_FI_A 5",
        "#define DCGM_FI_ 5",
        "#define X DCGM_FI_A",
        "/*/\n#define DCGM_FI_A 5 */",
    ],
)
def test_definition_that_is_none(text: str) -> None:
    parsed = read(f"{text}\n")
    assert (rows(parsed), parsed.quarantine, parsed.issues[-1].code) == ({}, "no_rows", "no_rows")


def test_row_is_on_the_line_of_its_define() -> None:
    parsed = read("\\\n/* a\n\n*/ #define \\\n DCGM_FI_A 5\n\n#define DCGM_FI_B 6\n")
    assert [row["capture_line"] for row in rows(parsed).values()] == [4, 7]
    ledger = parsed.ledger
    assert (ledger.total, ledger.rows, ledger.blank, ledger.structure, ledger.refused) == (7, 2, 2, 3, 0)


def test_comment_that_never_closes_is_an_error_and_keeps_what_was_before() -> None:
    parsed = read("#define DCGM_FI_A 1 /* one\n\n#define DCGM_FI_B 2\n")
    assert list(rows(parsed)) == ["DCGM_FI_A"]
    assert codes(parsed) == [("error", "comment_not_closed", 1)]
    assert (parsed.ledger.rows, parsed.ledger.blank, parsed.ledger.refused) == (1, 1, 1)
    assert codes(read("#define DCGM_FI_A 1\n/*/")) == [("error", "comment_not_closed", 2)]


@pytest.mark.parametrize(
    ("tail", "number"), [("15", None), ("DCGM_FI_B", None), ("(15)", 15), ("15 // 1", 15), ("15\n", 15), ("15\n ", 15)]
)
def test_value_at_the_end_without_a_newline_may_be_cut(tail: str, number: int | None) -> None:
    parsed = read(f"#define DCGM_FI_B 7\n#define DCGM_FI_A {tail}")
    row = rows(parsed)["DCGM_FI_A"]
    assert row["field_id"] == number
    if number is None:
        assert reason(row, "field_id") == "not_recorded"
        assert codes(parsed) == [("warning", "truncated_cell", 2)]


def test_repeated_name_that_is_cut_does_not_unsettle_the_first() -> None:
    parsed = read("#define DCGM_FI_A 150\n#define DCGM_FI_A 15")
    assert rows(parsed)["DCGM_FI_A"]["field_id"] == 150
    assert codes(parsed) == [("error", "truncated_row", 2)]


def test_line_that_is_no_text_is_refused_and_the_rest_stays() -> None:
    parsed = read(b"/* 30 \xb0C\n*/\n#define DCGM_FI_A 1\n#define DCGM_FI_B 2 // \xb0C\n#define DCGM_FI_\0 3\n")
    assert [(row["field_id"], row["meaning"]) for row in rows(parsed).values()] == [(1, None)]
    row = rows(parsed)["DCGM_FI_A"]
    assert [reason(row, name) for name in ("meaning", "unit_hint", "is_deprecated")] == ["unparsable"] * 3
    assert codes(parsed) == [("error", "invalid_utf8", 1), ("error", "invalid_utf8", 4), ("error", "nul_bytes", 5)]
    assert parsed.ledger.refused == 3


# -- whole headers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(encoding: str) -> None:
    assert rows(read("#define DCGM_FI_A 1\n".encode(encoding)))["DCGM_FI_A"]["field_id"] == 1


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.h")), ids=lambda path: path.stem)
def test_crlf_changes_nothing(path: Path) -> None:
    data = path.read_bytes()
    assert rows(read(data.replace(b"\n", b"\r\n"))) == rows(read(data))


@pytest.mark.parametrize("data", [b"", b"\n", b"int x;\n", b"/* DCGM_FI_A */\n"])
def test_file_without_a_field_is_quarantined(data: bytes) -> None:
    parsed = read(data)
    assert (parsed.quarantine, codes(parsed)) == ("no_rows", [("error", "no_rows", None)])


def test_detect() -> None:
    assert dcgm_header.detect(b"/* a */\n #\tdefine  DCGM_FI_A 1\n")
    assert not dcgm_header.detect(b"// #define DCGM_FI_A 1\n#define DCGM_FT_A 1\nDCGM_FI_A,gauge,#define DCGM_FI_A\n")


def test_bundled_header_has_the_fields_of_the_contract() -> None:
    parsed = read(BUNDLED.read_bytes())
    assert parsed.issues == []
    found = rows(parsed)
    canonical = {row["field_id"] for row in found.values() if row["alias_of"] is None}
    wanted = {
        1,
        50,
        54,
        57,
        100,
        101,
        112,
        113,
        114,
        150,
        152,
        153,
        155,
        157,
        158,
        159,
        *range(160, 165),
        203,
        240,
        241,
    }
    assert canonical == wanted | set(range(1420, 1425))
    old = {row["field_id"] for row in found.values() if row["is_deprecated"]}
    # These have one name in 4.6: clocks 100, 101, 113, 114 and the counters of time held down.
    assert old == wanted - {100, 101, 113, 114, 240, 241}
    assert found["DCGM_FI_DEV_GPU_TEMP_LIMIT"]["alias_of"] == "DCGM_FI_DEV_GPU_TEMP_MARGIN_CELSIUS"
    assert all(row["meaning"] for row in found.values() if row["alias_of"] is None)


def _facts() -> list[tuple[str, str]]:
    with FACTS.open(encoding="utf-8", newline="") as file:
        return [(name, value) for name, value in list(csv.reader(file))[1:]]


needs_facts = pytest.mark.skipif(not FACTS.is_file(), reason="the published names (../shared/captures) are not there")


@needs_facts
def test_bundled_header_says_what_is_published() -> None:
    published = dict(_facts())
    for name, row in rows(read(BUNDLED.read_bytes())).items():
        assert row["value_text"] == published[name]


@needs_facts
def test_names_of_4_6_0_are_read_back() -> None:
    facts = _facts()
    # One value is an expression, of which the facts keep the beginning.
    lines = [f"#define {name} {value}{' + 1)' if value.startswith('(') else ''}\n" for name, value in facts]
    parsed = read("".join(lines))
    found = rows(parsed)
    assert len(found) == 977
    assert sum(row["value_text"].isdigit() for row in found.values()) == 648
    assert sum(row["alias_of"] is not None for row in found.values()) == 328
    assert sum(row["value_text"].startswith("(") for row in found.values()) == 1
    assert {name for name, row in found.items() if row["is_marker"]} == {
        "DCGM_FI_MAX_FIELDS",
        "DCGM_FI_MAX_VGPU_FIELDS",
        "DCGM_FI_MAX_NVSWITCH_FIELDS",
        "DCGM_FI_FIRST_VGPU_FIELD_ID",
        "DCGM_FI_LAST_VGPU_FIELD_ID",
        "DCGM_FI_FIRST_NVSWITCH_FIELD_ID",
        "DCGM_FI_LAST_NVSWITCH_FIELD_ID",
        "DCGM_FI_DEV_FIRST_CONNECTX_FIELD_ID",
        "DCGM_FI_DEV_LAST_CONNECTX_FIELD_ID",
        "DCGM_FI_INTERNAL_FIELDS_0_START",
        "DCGM_FI_INTERNAL_FIELDS_0_END",
    }
    assert parsed.issues == []
    numbers = dict(facts)
    for name, row in found.items():
        if not row["is_marker"]:
            value = row["value_text"]
            assert row["field_id"] == int(value if value.isdigit() else numbers[value]), name
    assert found["DCGM_FI_DEV_GPU_TEMP_LIMIT"]["field_id"] == 153


def test_header_of_4200_lines_is_quick() -> None:
    field = "/**\n * Some words about the field in MHz\n */\n#define DCGM_FI_DEV_FIELD_{0} {0}\n\n"
    text = "".join(field.format(number) for number in range(840))
    data, times = text.encode(), []
    for _ in range(3):
        started = time.process_time()
        parsed = dcgm_header.parse(data, CaptureFacts())
        times.append(time.process_time() - started)
    # The best of three: other processes do not make a parser slow.
    assert min(times) < 0.3
    assert (parsed.ledger.total, parsed.ledger.rows) == (4200, 840)


@pytest.mark.parametrize(
    "text",
    [
        "#define DCGM_FI_" + "MAX_" * 16_000 + " 1\n",
        "#define DCGM_FI_A " + "(" * 60_000 + "\n",
        "/*" * 100_000,
        "\\\n" * 100_000,
        '"' * 100_000,
        "#define DCGM_FI_A 1\n" * 20_000,
        "#if DCGM_DEPRECATED\n" * 20_000,
        "#if DCGM_DEPRECATED" + " " * 60_000 + "x\n#define DCGM_FI_A 1\n",
        "/* " + "*" * 60_000 + " x */\n#define DCGM_FI_A 1\n",
        "/* " + "in the " * 100_000 + "*/\n#define DCGM_FI_A 1\n",
    ],
    ids=["name", "brackets", "openings", "joints", "quotes", "repeats", "conditions", "blanks", "stars", "words"],
)
def test_nothing_takes_long(text: str) -> None:
    started = time.process_time()
    read(text)
    assert time.process_time() - started < 3


# -- any bytes ---------------------------------------------------------------------------------------------------------

PIECES = [
    b"#define DCGM_FI_A 1\n",
    b"#define DCGM_FI_B (DCGM_FI_A + 1)\n",
    b"# define\tDCGM_FI_C DCGM_FI_B // 2\n",
    b"#if DCGM_DEPRECATED\n",
    b"#else\n",
    b"#endif\n",
    b"/* ",
    b"*/",
    b"// in MHz\n",
    b"\\\n",
    b"\\\r\n",
    b'"',
    b"'",
    b"\n",
    b" ",
    b"\0",
    b"\xff",
    b"\xff\xfe",
    b"(",
    b")",
    b"-",
]


@given(st.binary(max_size=200))
@example(b"\xff\xfea")
@example(b"\xef\xbb\xbf")
def test_any_bytes_are_accounted_for(data: bytes) -> None:
    with contextlib.suppress(CaptureError):
        read(data)


@settings(max_examples=300)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=3)), max_size=25).map(b"".join))
def test_mutated_headers_are_accounted_for(data: bytes) -> None:
    with contextlib.suppress(CaptureError):
        parsed = read(data)
        assert parsed.ledger.refused == 0 or any(issue.severity == "error" for issue in parsed.issues)


@given(st.integers(min_value=0, max_value=BUNDLED.stat().st_size), st.binary(max_size=4))
def test_bundled_header_with_a_hole_keeps_its_first_rows(at: int, noise: bytes) -> None:
    data = BUNDLED.read_bytes()
    parsed = read(data[:at] + noise + data[at + len(noise) :])
    whole = rows(read(data))
    line = data[:at].count(b"\n") + 1
    before = [name for name, row in whole.items() if row["capture_line"] < line]
    assert list(rows(parsed))[: len(before)] == before
