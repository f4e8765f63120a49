"""Parsing costs at most the capture: what a parser refuses, gets wrong or dies of is that capture's quarantine."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline import parse_pool
from pipeline.captures import Capture, Sidecar
from pipeline.errors import CaptureError
from pipeline.parse_pool import is_worth_it, parse_bytes, parse_capture, refused
from pipeline.parsed import CaptureFacts, Issue, Ledger, Parsed
from pipeline.parsers import KINDS

if TYPE_CHECKING:
    from concurrent.futures import Future


def _parser(monkeypatch: pytest.MonkeyPatch, parse: Any) -> None:
    monkeypatch.setitem(KINDS, "smi_list", replace(KINDS["smi_list"], parse=parse))


def _raising(error: Exception) -> Any:
    def parse(_data: bytes, _facts: CaptureFacts) -> Parsed:
        raise error

    return parse


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (CaptureError("no header", code="no_header", line=7), "no_header", 7),
        (ZeroDivisionError("by zero"), "parser_failed", None),
        (RecursionError("too deep"), "parser_failed", None),
        (MemoryError(), "parser_failed", None),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "parser_failed", None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_parser_that_raises_costs_its_capture(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: str, line: int | None
) -> None:
    _parser(monkeypatch, _raising(error))
    parsed = parse_bytes("smi_list", b"a\nb\nc", CaptureFacts())
    assert parsed.quarantine == code
    assert parsed.tables == {}
    assert [(issue.severity, issue.code, issue.line) for issue in parsed.issues] == [("error", code, line)]
    assert parsed.ledger == Ledger(total=3, refused=3)
    if code == "parser_failed":
        assert type(error).__name__ in parsed.issues[0].message


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_stop_by_the_user_is_no_fault_of_the_capture(
    monkeypatch: pytest.MonkeyPatch, signal: type[BaseException]
) -> None:
    def parse(_data: bytes, _facts: CaptureFacts) -> Parsed:
        raise signal

    _parser(monkeypatch, parse)
    with pytest.raises(signal):
        parse_bytes("smi_list", b"", CaptureFacts())


def test_parser_that_loses_a_line_is_told_on(monkeypatch: pytest.MonkeyPatch) -> None:
    _parser(monkeypatch, lambda _data, _facts: Parsed(ledger=Ledger(total=3, rows=1, blank=1)))
    parsed = parse_bytes("smi_list", b"", CaptureFacts())
    assert [(issue.severity, issue.code) for issue in parsed.issues] == [("error", "ledger_not_whole")]


@pytest.mark.parametrize(
    ("data", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2), (b"a\r\nb\r\n", 2)]
)
def test_refused_capture_counts_its_lines(data: bytes, lines: int) -> None:
    parsed = refused(data, Issue("error", "why", "because"))
    assert parsed.ledger == Ledger(total=lines, refused=lines)
    assert parsed.ledger.is_whole
    assert parsed.quarantine == "why"


def _capture(data: bytes | None, kind: str | None, *issues: Issue) -> Capture:
    return Capture("x", Path("x"), data, None if data is None else "0" * 64, Sidecar(), kind, issues)


@pytest.mark.parametrize("data", [None, b"a\nb\n"])
def test_capture_without_kind_or_bytes_says_why_itself(data: bytes | None) -> None:
    parsed = parse_capture(_capture(data, None, Issue("error", "first", ""), Issue("error", "unreadable", "")))
    assert parsed.quarantine == "unreadable"
    assert parsed.issues == []
    assert parsed.ledger.refused == (0 if data is None else 2)


@pytest.mark.parametrize(
    ("sizes", "jobs", "worth"),
    [
        ([4 << 20, 1], 2, True),
        ([4 << 20, 1], 1, False),
        ([(4 << 20) - 1, 1], 2, False),
        ([(4 << 20) + 1], 2, False),
        ([], 2, False),
    ],
)
def test_pool_is_for_several_captures_and_enough_bytes(sizes: list[int], jobs: int, worth: bool) -> None:
    captures = [_capture(bytes(size), "smi_list") for size in sizes]
    assert is_worth_it([*captures, _capture(None, None)][: len(sizes)], jobs) is worth


class _BrokenPool:
    """A pool whose process died before this capture was given to it."""

    def submit(self, *_: Any) -> Future[Parsed]:
        raise BrokenProcessPool


def test_pool_that_breaks_while_it_is_filled_is_like_one_that_breaks_later() -> None:
    future = parse_pool._submit(_BrokenPool(), Path(), _capture(b"x", "smi_list"))  # type: ignore[arg-type]
    with pytest.raises(BrokenProcessPool):
        future.result()
