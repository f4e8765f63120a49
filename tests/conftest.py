"""Fixtures that many tests share: an empty store, and a folder to write captures into."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow.parquet as pq
import pytest

from pipeline.store import Store, open_store

if TYPE_CHECKING:
    from pathlib import Path


class ReadTable(Protocol):
    """Read the rows of a table that the head of a store lists, without a database: some columns, in order."""

    def __call__(self, store: Store, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Read it."""


class WriteCapture(Protocol):
    """Write a capture below `captures/`, with a sidecar when there are facts, and return its path."""

    def __call__(self, name: str, content: str | bytes, **facts: Any) -> Path:
        """Write it."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "evidence", create=True)


@pytest.fixture
def read_table() -> ReadTable:
    def read(store: Store, table: str, *columns: str) -> list[tuple[Any, ...]]:
        listed = [entry for manifest in store.manifests() for entry in manifest["segments"] if entry["table"] == table]
        paths = [store.segment_path(table, entry["sha256"]) for entry in listed]
        rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
        return [tuple(row[column] for column in columns) for row in rows]

    return read


@pytest.fixture
def write_capture(tmp_path: Path) -> WriteCapture:
    def write(name: str, content: str | bytes, **facts: Any) -> Path:
        file = tmp_path / "captures" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        if facts:
            file.with_name(f"{file.name}.json").write_text(json.dumps(facts), encoding="utf-8")
        return file

    return write
