"""Captures in, a committed batch out: read, keep, parse, stamp, validate, write, commit.

A capture that is in the store already costs one hash. Parsing is a pure function of bytes and facts; many captures are
parsed by a process pool, from the bytes in the store. Validation is per group of captures; a row that breaks a rule is
refused with its capture and line, the rest of the capture stays. The batch becomes visible with its manifest, or not
at all.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipeline import captures as files
from pipeline import parse_pool, rewrites, segments
from pipeline.segments import Item
from pipeline.store import ConflictError, Head, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    import pyarrow as pa

    from pipeline.captures import Capture
    from pipeline.parsed import Parsed

SEGMENT_ROWS = 500_000
"""Rows of small captures that are collected before segments are written, and most rows of a segment."""
WINDOW_FILES = 64
WINDOW_BYTES = 64 << 20
"""Captures in flight at once: bounds memory, whatever the batch. One larger capture is a window of its own."""


@dataclass
class Result:
    """What an ingest did. `capture_ids` are all captures met, new or known, for a report on them alone."""

    head: Head = field(default_factory=Head)
    ingested: int = 0
    already_present: int = 0
    quarantined: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    refused: list[dict[str, Any]] = field(default_factory=list)
    capture_ids: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the public JSON form."""
        counts = {name: getattr(self, name) for name in ("ingested", "already_present", "quarantined")}
        head = {"number": self.head.number, "sha256": self.head.sha256}
        return {"head": head, "captures": counts, "rows": dict(sorted(self.rows.items())), "refused": self.refused}


def ingest(
    store: Store,
    paths: Sequence[Path],
    *,
    kind: str | None = None,
    jobs: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Bring the captures below the paths into the store, and say what became of them."""
    found = list(files.find(paths))
    while True:
        try:
            return _Batch(store, jobs, progress or (lambda _done, _of: None)).run(found, kind)
        except ConflictError:
            continue  # somebody else committed some of them first: look again at what is new


class _Batch:
    """One batch on its way into the store."""

    def __init__(self, store: Store, jobs: int, progress: Callable[[int, int], None]) -> None:
        self.store = store
        self.jobs = jobs
        self.progress = progress
        known = [capture for manifest in store.manifests() for capture in manifest["captures"]]
        self.seen = {capture["capture_id"] for capture in known}
        self.sizes = {capture["bytes"] for capture in known}
        self.decisions: dict[str, str] | None = None
        self.group: list[Item] = []
        self.group_rows = 0
        self.segments: list[dict[str, Any]] = []
        self.entries: list[dict[str, Any]] = []
        self.result = Result()

    def run(self, found: list[tuple[str, Path]], kind: str | None) -> Result:
        done = 0
        for window in _windows(found):
            self._window(window, kind)
            done += len(window)
            self.progress(done, len(found))
        self._flush()
        if self.entries:
            body = {"captures": self.entries, "segments": self.segments, "versions": segments.versions()}
            self.result.head = self.store.commit(body)
        else:
            self.store.settle()
            self.result.head = self.store.head()
        return self.result

    def _window(self, found: list[tuple[str, Path]], kind: str | None) -> None:
        with ThreadPoolExecutor(1) as early:
            begun: list[Future[Parsed]] = []
            begin = None
            if len(found) == 1 and self._is_surely_new(found[0][1]):
                begin = lambda *what: begun.append(early.submit(parse_pool.parse_bytes, *what))  # noqa: E731
            fresh = [capture for shown, file in found if self._is_new(capture := files.load(shown, file, kind, begin))]
            if fresh:
                self._bring_in(fresh, begun)

    def _is_surely_new(self, file: Path) -> bool:
        """Whether a large file has a size that no capture has: then it can be parsed before its hash is known."""
        try:
            size = file.lstat().st_size
        except OSError:
            return False
        return size > WINDOW_BYTES and size not in self.sizes

    def _is_new(self, capture: Capture) -> bool:
        self.result.capture_ids.append(capture.capture_id)
        if capture.capture_id in self.seen:
            self.result.already_present += 1
            return False
        self.seen.add(capture.capture_id)
        self.sizes.add(len(capture.data or b""))
        return True

    def _bring_in(self, fresh: list[Capture], begun: list[Future[Parsed]]) -> None:
        with ThreadPoolExecutor(1) as keeper:
            # Keeping the bytes (write, read back, fsync) and parsing them need different things: both at once.
            kept = [keeper.submit(self._keep, capture) for capture in fresh]
            parsed = ((fresh[0], begun[0].result()),) if begun else self._parsed(fresh, kept)
            for capture, outcome in parsed:
                self._take(Item.of(capture, outcome))
            for future in kept:
                future.result()

    def _keep(self, capture: Capture) -> None:
        if capture.data is not None and capture.sha256 is not None:
            self.store.put_raw(capture.data, capture.sha256)

    def _parsed(self, fresh: list[Capture], kept: list[Future[None]]) -> Iterator[tuple[Capture, Parsed]]:
        if not parse_pool.is_worth_it(fresh, self.jobs):
            for capture in fresh:
                yield capture, parse_pool.parse_capture(capture)
            return
        for future in kept:
            future.result()
        yield from parse_pool.parse_stored(self.store.root, fresh, self.jobs)

    def _take(self, item: Item) -> None:
        if "decisions" in item.tables:
            if self.decisions is None:
                self.decisions = rewrites.known(self.store)
            rewrites.refuse(item, self.decisions)
        rows = item.row_count
        if self.group and self.group_rows + rows > SEGMENT_ROWS:
            self._flush()
        self.group.append(item)
        self.group_rows += rows
        if self.group_rows >= SEGMENT_ROWS:
            self._flush()

    def _flush(self) -> None:
        """Validate the group, write its segments, and account for its captures."""
        joined = segments.joined(self.group)
        with ThreadPoolExecutor(2) as pool:  # Parquet is encoded outside the interpreter's lock
            # A large log is encoded while it is validated: that it breaks a rule is rare, and costs the encoding.
            begun = {name: _encoded(pool, table) for name, table in joined.items() if len(table) >= SEGMENT_ROWS}
            made = [
                (name, begun[name] if name in begun and table is joined[name] else _encoded(pool, table))
                for name, table in segments.checked(joined, self.group)
            ]
            for name, parts in made:
                for rows, data in parts:
                    self._put(name, rows, data.result())
        for item in self.group:
            self._account(item)
        self.group, self.group_rows = [], 0

    def _put(self, name: str, rows: int, data: memoryview) -> None:
        digest = self.store.put_segment(name, data)
        self.segments.append({"table": name, "sha256": digest, "rows": rows, "bytes": len(data)})
        self.result.rows[name] = self.result.rows.get(name, 0) + rows

    def _account(self, item: Item) -> None:
        if item.row["status"] == "quarantined":
            self.result.quarantined += 1
        else:
            self.result.ingested += 1
        self.result.refused += [
            {"path": item.row["path"], "code": issue.code, "line": issue.line, "message": issue.message}
            for issue in item.issues
            if issue.severity == "error"
        ]
        names = ("capture_id", "capture_sha256", "bytes", "path", "kind", "status")
        self.entries.append({name: item.row[name] for name in names})


def _encoded(pool: ThreadPoolExecutor, table: pa.Table) -> list[tuple[int, Future[memoryview]]]:
    parts = [table.slice(start, SEGMENT_ROWS) for start in range(0, len(table), SEGMENT_ROWS)]
    return [(len(part), pool.submit(segments.encode, part)) for part in parts]


def _windows(found: list[tuple[str, Path]]) -> Iterator[list[tuple[str, Path]]]:
    window: list[tuple[str, Path]] = []
    size = 0
    for shown, file in found:
        try:
            bytes_ = file.lstat().st_size
        except OSError:
            bytes_ = 0
        if window and (len(window) >= WINDOW_FILES or size + bytes_ > WINDOW_BYTES):
            yield window
            window, size = [], 0
        window.append((shown, file))
        size += bytes_
    if window:
        yield window
