"""Several writers share one store without locks: nothing is lost, doubled or out of order."""

from __future__ import annotations

from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from writers import commit_many, ingest_folder

from pipeline.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import WriteCapture

    from pipeline.store import Store

WRITERS, COMMITS = 4, 10


def _together(target: Callable[..., None], each: list[tuple[Any, ...]]) -> None:
    context = get_context("forkserver")
    context.set_forkserver_preload(["pipeline.ingest"])  # once, and not in every process
    processes = [context.Process(target=target, args=args) for args in each]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def test_writers_make_one_history(store: Store) -> None:
    _together(commit_many, [(store.root, writer, COMMITS) for writer in range(WRITERS)])
    manifests = store.manifests()  # contiguous, each with the hash of the one before, or this raises
    assert [manifest["number"] for manifest in manifests] == list(range(1, WRITERS * COMMITS + 1))
    ids = [capture["capture_id"] for manifest in manifests for capture in manifest["captures"]]
    assert sorted(ids) == sorted(f"{w}-{n}" for w in range(WRITERS) for n in range(COMMITS))
    for writer in range(WRITERS):  # each writer's own order is kept
        assert [name for name in ids if name.startswith(f"{writer}-")] == [f"{writer}-{n}" for n in range(COMMITS)]
    for manifest in manifests:
        for capture in manifest["captures"]:
            assert store.read_raw(capture["capture_sha256"]).decode() == capture["capture_id"].replace("-", " ")
    assert list((store.root / "tmp").iterdir()) == []


def test_two_ingests_of_the_same_captures_bring_each_once(
    store: Store, write_capture: WriteCapture, tmp_path: Path
) -> None:
    for number in range(6):
        write_capture(f"{number}.csv", f"index, name\n{number}, x\n")
    outs = [tmp_path / "one.txt", tmp_path / "two.txt"]
    _together(ingest_folder, [(store.root, tmp_path / "captures", out) for out in outs])
    ids = [capture["capture_id"] for manifest in store.manifests() for capture in manifest["captures"]]
    assert len(ids) == len(set(ids)) == 6
    counts = [tuple(map(int, out.read_text(encoding="utf-8").split())) for out in outs]
    assert sorted(counts) == [(0, 6), (6, 0)]
    found = verify(store)
    assert found.damage == []
    assert (found.captures, found.raw) == (6, 6)
