"""Check a store: the chain of manifests, every byte against its hash, every table against a new parse of the raw bytes.

`verify` names what is damaged and writes nothing: a repair that guesses would destroy evidence.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline import captures as files
from pipeline import rewrites
from pipeline.errors import StoreError
from pipeline.parse_pool import parse_bytes, refused
from pipeline.parsed import Issue
from pipeline.segments import Item, tables
from schemas import TABLES, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.store import Store

_COUNTS = ("total_count", "row_count", "header_count", "blank_count", "structure_count", "refused_count", "status")
_NOT_IN_THE_BYTES = ("sidecar_invalid", "unreadable", "parser_killed")
"""Remarks that a new parse cannot make: they are about the file or the machine it was read on."""


@dataclass
class Verification:
    """What was checked and what is wrong."""

    manifests: int = 0
    raw: int = 0
    segments: int = 0
    captures: int = 0
    head: str | None = None
    damage: list[dict[str, str]] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)


def verify(store: Store, progress: Callable[[int, int], None] | None = None) -> Verification:
    """Check everything. Damage is named by file, with the captures whose rows it holds."""
    found = Verification()
    try:
        manifests = store.manifests()
        found.head = store.head().sha256
    except StoreError as error:
        found.damage.append(_damage(error))
        return found
    found.manifests = len(manifests)
    standing: dict[str, str] = {}
    for number, manifest in enumerate(manifests, start=1):
        _batch(store, manifest, standing, found)
        if progress:
            progress(number, len(manifests))
    found.unlisted = _unlisted(store, manifests)
    return found


def _damage(error: StoreError) -> dict[str, str]:
    return {"where": error.where or "", "code": error.code, "message": error.message}


def _batch(store: Store, manifest: dict[str, Any], standing: dict[str, str], found: Verification) -> None:
    raw: dict[str, bytes] = {}
    for digest in sorted({entry["capture_sha256"] for entry in manifest["captures"] if entry["capture_sha256"]}):
        try:
            raw[digest] = store.read_raw(digest)
            found.raw += 1
        except StoreError as error:
            found.damage.append(_damage(error))
    stored: dict[str, list[pa.Table]] = {}
    for segment in manifest["segments"]:
        try:
            path = store.segment_path(segment["table"], segment["sha256"])
            data = store._read(path, segment["sha256"])  # noqa: SLF001 - the same check as for raw bytes
            stored.setdefault(segment["table"], []).append(pq.read_table(pa.BufferReader(data)))
            found.segments += 1
        except StoreError as error:
            found.damage.append(_damage(error))
        except (pa.ArrowException, OSError) as error:
            found.damage.append({"where": str(path), "code": "segment_unreadable", "message": str(error)})
    if found.damage:
        return
    try:
        tables_ = {name: pa.concat_tables(parts) for name, parts in stored.items()}
        _compare(manifest, raw, tables_, standing, found)
    except Exception as error:  # noqa: BLE001 - hashes are right, but no ingest wrote this: whatever breaks is damage
        message = f"its tables cannot be compared with a new parse ({type(error).__name__}: {error})"
        where = f"manifest {manifest['number']}"
        found.damage.append({"where": where, "code": "not_comparable", "message": message})


def _compare(
    manifest: dict[str, Any],
    raw: dict[str, bytes],
    stored: dict[str, pa.Table],
    standing: dict[str, str],
    found: Verification,
) -> None:
    """Parse the raw bytes again and compare every table, capture by capture where they differ."""
    rows = stored["captures"].to_pylist()
    found.captures += len(rows)
    if {row["capture_id"] for row in rows} != {entry["capture_id"] for entry in manifest["captures"]}:
        message = "the captures of the manifest are not those of its tables"
        found.damage.append({"where": f"manifest {manifest['number']}", "code": "captures_differ", "message": message})
        return
    items = [_again(row, raw) for row in rows]
    for item in items:
        rewrites.refuse(item, standing)
    again: dict[str, list[pa.Table]] = {}
    for name, table in tables(list[Item](items)):
        again.setdefault(name, []).append(table)
    for name in sorted((set(again) | set(stored)) - {"captures"}):
        empty = [arrow_schema(TABLES[name]).empty_table()]
        before, now = stored.get(name, empty[0]), pa.concat_tables(again.get(name, empty))
        if name == "source_errors":
            before, now = _remarks(before), _remarks(now)
        if not _plain(before).equals(_plain(now)):
            _differs(name, before, now, rows, found)
    for row, item in zip(rows, items, strict=True):
        if any(row[key] != value for key, value in item.row.items() if key in _COUNTS or key in item.facts):
            message = "its facts, status or counts are not what its sidecar and a new parse of its bytes give"
            found.damage.append({"where": row["path"], "code": "capture_differs", "message": message})


@dataclass
class _Again(Item):
    """A capture parsed anew, and the names of its columns that its bytes and its sidecar settle."""

    facts: frozenset[str] = frozenset()


def _again(row: dict[str, Any], raw: dict[str, bytes]) -> _Again:
    sidecar = files.Sidecar.model_validate(json.loads(row["sidecar"]))
    digest = row["capture_sha256"]
    data = None if digest is None else raw[digest]
    capture = files.Capture(row["path"], Path(row["path"]), data, digest, sidecar, row["kind"])
    if data is not None and capture.capture_id != row["capture_id"]:  # the id says that the sidecar was not usable
        capture = replace(capture, issues=(Issue("error", "sidecar_invalid", ""),))
    if capture.kind is None or data is None:
        # A later version may know more kinds: then why this one was not told is asked from the row.
        told_now, remark = files.tell_kind(sidecar.kind, data) if data is not None else (None, None)
        known = remark if told_now is None and remark and remark.code == row["status_reason"] else None
        parsed = refused(data or b"", known or Issue("error", row["status_reason"], ""))
    else:
        parsed = parse_bytes(capture.kind, data, capture.facts)
    settled = {} if data is None else files.row(capture)
    settled.pop("captured_at", None)  # to the millisecond in the table; capture_id holds it too
    told = row | settled | {"status_reason": parsed.quarantine}
    return _Again(told, parsed.tables, list(parsed.issues), parsed.ledger, frozenset(settled))


def _remarks(table: pa.Table) -> pa.Table:
    """What was remarked about the bytes. The wording may change with the version."""
    about_bytes = pc.invert(pc.is_in(table["code"].cast(pa.string()), value_set=pa.array(_NOT_IN_THE_BYTES)))
    return table.filter(about_bytes).drop_columns(["message"])


def _plain(table: pa.Table) -> pa.Table:
    """The values without their encoding: two dictionaries can hold the same column."""
    schema = pa.schema(
        [
            known.with_type(known.type.value_type) if pa.types.is_dictionary(known.type) else known
            for known in table.schema
        ]
    )
    return table.cast(schema.remove_metadata()).combine_chunks()


def _differs(name: str, before: pa.Table, now: pa.Table, rows: list[dict[str, Any]], found: Verification) -> None:
    paths = {row["capture_id"]: row["path"] for row in rows}
    old, new = (_by_capture(table) for table in (before, now))
    for capture_id in sorted(set(old) | set(new)):
        if old.get(capture_id) != new.get(capture_id):
            message = (
                f"its rows of {name} are not what a new parse of its bytes gives; was it written by another version?"
            )
            found.damage.append({"where": paths.get(capture_id, capture_id), "code": "rows_differ", "message": message})


def _by_capture(table: pa.Table) -> dict[str, list[dict[str, Any]]]:
    grouped: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        grouped.setdefault(row["capture_id"], []).append(row)
    return grouped


def _unlisted(store: Store, manifests: list[dict[str, Any]]) -> list[str]:
    """Files that no manifest lists: left by an ingest that was interrupted. Harmless, and never read."""
    listed = {
        store.raw_path(entry["capture_sha256"]) for m in manifests for entry in m["captures"] if entry["capture_sha256"]
    }
    listed |= {store.segment_path(segment["table"], segment["sha256"]) for m in manifests for segment in m["segments"]}
    present = [path for top in ("raw", "tables", "tmp") for path in (store.root / top).rglob("*") if path.is_file()]
    return sorted(path.relative_to(store.root).as_posix() for path in present if path not in listed)
