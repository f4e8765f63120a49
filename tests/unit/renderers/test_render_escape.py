"""Invisible characters are written out; formulas are defused; numbers stay numbers."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from pipeline.renderers.escape import csv_cell, printable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"),
        ("Grüße, 漢字, °C", "Grüße, 漢字, °C"),
        ("a\u202eb", "a\\u{202e}b"),
        ("\x1b[31m", "\\u{1b}[31m"),
        ("a\tb\nc", "a\\u{9}b\\u{a}c"),
        ("\u2028", "\\u{2028}"),
        ("\ud800", "\\u{d800}"),
        ("\ufdd0\U0010ffff", "\\u{fdd0}\\u{10ffff}"),
        ("\U000e0041", "\\u{e0041}"),
        ("", ""),
    ],
)
def test_printable(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_kept_characters_stay() -> None:
    assert printable("a\tb\nc\x1b", keep="\n\t") == "a\tb\nc\\u{1b}"


def test_nothing_invisible_comes_through() -> None:
    shown = printable("".join(map(chr, range(sys.maxunicode + 1))))
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Zl", "Zp", "Cs"}
    assert "\uffff" not in shown


@pytest.mark.parametrize(
    "text", ["=1+1", "+a", "-a", "@SUM(A1)", "\tx", "\rx", "-1+1", "+", "-", "-1,5", "- 1", "-12.5\n"]
)
def test_what_a_spreadsheet_would_run_is_quoted(text: str) -> None:
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-12.5", "+3", "-1e-9", "0", "abc", "", "a=b", "1-1"])
def test_numbers_and_plain_text_stay(text: str) -> None:
    assert csv_cell(text) == text
