"""Parsing as a pure function of bytes and facts, here or in a pool of processes.

A parser that fails in a way nobody foresaw, or that takes its process with it, costs its own capture and no other.
"""

from __future__ import annotations

from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TYPE_CHECKING

from pipeline.errors import CaptureError
from pipeline.parsed import CaptureFacts, Issue, Ledger, Parsed
from pipeline.parsers import KINDS
from pipeline.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pipeline.captures import Capture

POOL_BYTES = 4 << 20
"""Below this, starting processes costs more than they save."""


def parse_bytes(kind: str, data: bytes, facts: CaptureFacts) -> Parsed:
    """Parse a capture. What its parser refuses as a whole is quarantined, with all its lines counted as refused."""
    try:
        parsed = KINDS[kind].parse(data, facts)
    except CaptureError as error:
        return refused(data, Issue("error", error.code, error.message, error.line))
    except Exception as error:  # noqa: BLE001 - a fault of ours must not cost the other captures
        message = f"the {kind} parser failed with {type(error).__name__}: {error}; please report the capture"
        return refused(data, Issue("error", "parser_failed", message))
    if not parsed.ledger.is_whole:
        message = f"the {kind} parser lost lines: {parsed.ledger}; please report the capture"
        parsed.issues.append(Issue("error", "ledger_not_whole", message))
    return parsed


def refused(data: bytes, issue: Issue | None) -> Parsed:
    """Return the outcome of a capture that yields nothing; without an issue of its own the capture has said why."""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    code = issue.code if issue else None
    return Parsed({}, [issue] if issue else [], Ledger(total=lines, refused=lines), code)


def parse_capture(capture: Capture) -> Parsed:
    """Parse a capture that is in memory; one that cannot be read or has no kind says so itself."""
    if capture.kind is None or capture.data is None:
        parsed = refused(capture.data or b"", None)
        parsed.quarantine = capture.issues[-1].code
        return parsed
    return parse_bytes(capture.kind, capture.data, capture.facts)


def is_worth_it(captures: Sequence[Capture], jobs: int) -> bool:
    """Whether a pool would be faster: several captures, and enough to do."""
    return jobs > 1 and len(captures) > 1 and sum(len(capture.data or b"") for capture in captures) > POOL_BYTES


def parse_stored(root: Path, captures: Sequence[Capture], jobs: int) -> Iterator[tuple[Capture, Parsed]]:
    """Parse captures from their bytes in the store, in processes; results come in the order of the captures."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("forkserver")) as pool:
        futures = [_submit(pool, root, capture) if capture.kind and capture.sha256 else None for capture in captures]
        for capture, future in zip(captures, futures, strict=True):
            if future is None:
                yield capture, parse_capture(capture)
                continue
            try:
                parsed = future.result()
            except BrokenProcessPool:
                parsed = _alone(root, capture)
            yield capture, parsed


def _submit(pool: ProcessPoolExecutor, root: Path, capture: Capture) -> Future[Parsed]:
    try:
        return pool.submit(_parse_one, root, capture.sha256 or "", capture.kind or "", capture.facts)
    except BrokenProcessPool as error:  # an earlier capture was faster in killing it than this one in coming
        broken: Future[Parsed] = Future()
        broken.set_exception(error)
        return broken


def _parse_one(root: Path, digest: str, kind: str, facts: CaptureFacts) -> Parsed:
    return parse_bytes(kind, Store(root).read_raw(digest), facts)


def _alone(root: Path, capture: Capture) -> Parsed:
    """Try again in a process of its own, to tell the capture that killed the pool from those that were only in it."""
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
            return _submit(pool, root, capture).result()
    except BrokenProcessPool:
        message = "its parser's process was killed (out of memory?); the bytes are kept, give it more memory"
        return refused(capture.data or b"", Issue("error", "parser_killed", message))
