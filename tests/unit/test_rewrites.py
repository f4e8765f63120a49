"""A decision is never rewritten, only superseded by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipeline.database import connect
from pipeline.ingest import ingest
from pipeline.store import open_store
from pipeline.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

BASE = {
    "format": "gpu-evidence/decision/1",
    "decision": "d-1",
    "status": "accepted",
    "subject": {"product": "h100_sxm_80gb", "driver_version": "595.91.07"},
    "bounds": {"core_slowdown_c": 89},
}


def write(folder: Path, name: str, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(BASE | changes), "utf-8")
    return folder


def in_force(store: Path) -> list[tuple[str, float]]:
    query = """
        SELECT decision_id, value_number FROM decisions INNER JOIN decision_claims USING (capture_id, decision_id)
        WHERE is_in_force AND claim_kind = 'bound' ORDER BY ALL
    """
    return [tuple(row.values()) for row in connect(open_store(store)).rows(query).to_pylist()]


def test_the_same_id_with_other_content_is_refused_and_kept(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", create=True)
    ingest(store, [write(tmp_path / "a", "d.json")])
    later = ingest(store, [write(tmp_path / "b", "d.json", bounds={"core_slowdown_c": 90})])
    assert (later.quarantined, later.refused[0]["code"]) == (1, "decision_rewritten")
    assert "'d-1'" in later.refused[0]["message"]
    assert in_force(tmp_path / "store") == [("d-1", 89.0)]
    assert verify(store).damage == []


def test_the_same_content_in_other_bytes_is_no_rewrite(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", create=True)
    ingest(store, [write(tmp_path / "a", "d.json")])
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "d.json").write_text(json.dumps(BASE, indent=4), "utf-8")
    again = ingest(store, [tmp_path / "b"])
    assert (again.ingested, again.quarantined) == (1, 0)


def test_within_one_batch_the_first_path_stands(tmp_path: Path) -> None:
    write(tmp_path / "a", "1.json")
    write(tmp_path / "a", "2.json", bounds={"core_slowdown_c": 90})
    store = open_store(tmp_path / "store", create=True)
    assert ingest(store, [tmp_path / "a"]).quarantined == 1
    assert in_force(tmp_path / "store") == [("d-1", 89.0)]
    assert verify(store).damage == []


def test_a_later_decision_supersedes_by_naming(tmp_path: Path) -> None:
    write(tmp_path / "a", "1.json")
    write(tmp_path / "a", "2.json", decision="d-2", supersedes=["d-1"], bounds={"core_slowdown_c": 90})
    ingest(open_store(tmp_path / "store", create=True), [tmp_path / "a"])
    assert in_force(tmp_path / "store") == [("d-2", 90.0)]


def test_a_proposed_decision_supersedes_nothing(tmp_path: Path) -> None:
    write(tmp_path / "a", "1.json")
    write(tmp_path / "a", "2.json", decision="d-2", supersedes=["d-1"], status="proposed")
    ingest(open_store(tmp_path / "store", create=True), [tmp_path / "a"])
    assert in_force(tmp_path / "store") == [("d-1", 89.0)]
