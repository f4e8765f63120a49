"""What several processes do to one store at once: importable by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.store import open_store

if TYPE_CHECKING:
    from pathlib import Path


def commit_many(root: Path, writer: int, count: int) -> None:
    """Commit small batches, each with a capture of its own."""
    store = open_store(root)
    for number in range(count):
        data = f"{writer} {number}".encode()
        from schemas.hashes import sha256

        store.put_raw(data, sha256(data))
        captures = [{"capture_id": f"{writer}-{number}", "capture_sha256": sha256(data)}]
        store.commit({"captures": captures, "segments": []})


def ingest_folder(root: Path, folder: Path, out: Path) -> None:
    """Ingest a folder, and write down what came of it."""
    from pipeline.ingest import ingest

    result = ingest(open_store(root), [folder], jobs=1)
    out.write_text(f"{result.ingested} {result.already_present}", encoding="utf-8")
