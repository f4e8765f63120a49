"""Fixtures that many tests share: an empty store, and a folder to write captures into."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pipeline.store import Store, open_store

if TYPE_CHECKING:
    from pathlib import Path


class WriteCapture(Protocol):
    """Write a capture below `captures/`, with a sidecar when there are facts, and return its path."""

    def __call__(self, name: str, content: str | bytes, **facts: Any) -> Path:
        """Write it."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "evidence", create=True)


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
