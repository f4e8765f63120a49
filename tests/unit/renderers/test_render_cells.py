"""Numbers by fixed rules, and no value that is not known ever looks like one."""

from __future__ import annotations

import pytest

from pipeline.renderers.cells import number_text, plain
from pipeline.report_model import Cell, Evidence, Unknown


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (1234567, "1234567"),
        (2**64 - 1, "18446744073709551615"),
        (True, "yes"),
        (False, "no"),
        (700.0, "700.0"),
        (0.1, "0.1"),
        (-0.0, "0.0"),
        (-12.5, "-12.5"),
        (1e-6, "0.000001"),
        (1e16, "10000000000000000"),
        (1e-9, "1e-09"),
        (1.5e300, "1.5e+300"),
    ],
)
def test_number_text(value: float, expected: str) -> None:
    assert number_text(value) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (None, "unknown (reason not recorded)"),
        (Unknown(""), "unknown (reason not recorded)"),
        (Unknown("not_supported"), "unknown (not_supported)"),
        (float("nan"), "unknown (not_finite)"),
        ("", "(empty)"),
        (" \t", "(empty)"),
        ("0", "0"),
        (Evidence("ab" * 32, 0), "abababababab:0"),
        (Evidence("ab" * 32), "abababababab"),
    ],
)
def test_plain(cell: Cell, expected: str) -> None:
    assert plain(cell) == expected
