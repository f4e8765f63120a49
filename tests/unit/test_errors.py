"""Errors: one line with place and code, and an exit code that scripts can rely on."""

from __future__ import annotations

import pickle

import pytest

from pipeline import errors
from pipeline.errors import CaptureError, DatabaseError, EvidenceError, StoreError, UsageError


@pytest.mark.parametrize(
    ("where", "line", "expected"),
    [
        (None, None, "no good [odd]"),
        ("a/b.csv", None, "a/b.csv: no good [odd]"),
        ("a/b.csv", 7, "a/b.csv:7: no good [odd]"),
        (None, 7, "no good [odd]"),
    ],
)
def test_error_names_its_place_and_code(where: str | None, line: int | None, expected: str) -> None:
    assert str(EvidenceError("no good", code="odd", where=where, line=line)) == expected


@pytest.mark.parametrize(
    ("kind", "code"), [(UsageError, 2), (DatabaseError, 2), (CaptureError, 4), (StoreError, 5), (EvidenceError, 5)]
)
def test_exit_code_of_each_kind(kind: type[EvidenceError], code: int) -> None:
    assert kind("x", code="x").exit_code == code
    assert issubclass(kind, EvidenceError)


def test_exit_codes_are_five_different_numbers() -> None:
    codes = [
        errors.VERDICT_FAILED,
        errors.USAGE,
        errors.VERDICT_INDETERMINATE,
        errors.EVIDENCE_REFUSED,
        errors.DAMAGED,
    ]
    assert codes == [1, 2, 3, 4, 5]


def test_errors_cross_processes_whole() -> None:
    error = pickle.loads(pickle.dumps(StoreError("found x, expected y", code="c", where="f", line=3)))  # noqa: S301
    assert type(error) is StoreError
    assert (error.message, error.code, error.where, error.line, str(error)) == (
        "found x, expected y",
        "c",
        "f",
        3,
        "f:3: found x, expected y [c]",
    )
