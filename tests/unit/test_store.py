"""The store: names are hashes, manifests are a chain, and a folder that is not exactly that is refused."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline import store as store_module
from pipeline.disk import Disk
from pipeline.errors import StoreError
from pipeline.store import ConflictError, Head, Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
"""SHA-256 of the three bytes abc, from FIPS 180-4."""


def _body(*ids: str) -> dict[str, Any]:
    return {"captures": [{"capture_id": name, "capture_sha256": ABC} for name in ids], "segments": []}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _code(store_root: Path, *, create: bool = False) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(store_root, create=create).manifests()
    assert str(store_root) in str(caught.value)
    return caught.value.code


# -- content ---------------------------------------------------------------------------------------------------------


def test_raw_bytes_are_kept_under_their_hash(store: Store) -> None:
    store.put_raw(b"abc", ABC)
    file = store.root / "raw" / "ba" / ABC
    assert store.raw_path(ABC) == file
    assert file.read_bytes() == b"abc"
    assert store.read_raw(ABC) == b"abc"


def test_segment_is_named_by_its_hash(store: Store) -> None:
    assert store.put_segment("gpu_list", b"abc") == ABC
    assert (store.root / "tables" / "gpu_list" / f"{ABC}.parquet").read_bytes() == b"abc"


@pytest.mark.parametrize("data", [b"", b"\0", b"\r\n", b"x" * (8 << 20), b"y" * ((8 << 20) + 1)], ids=len)
def test_any_bytes_come_back(store: Store, data: bytes) -> None:
    store.put_raw(data, _digest(data))
    assert store.read_raw(_digest(data)) == data


def test_putting_again_changes_nothing(store: Store) -> None:
    store.put_raw(b"abc", ABC)
    before = store.raw_path(ABC).stat()
    store.put_raw(b"abc", ABC)
    after = store.raw_path(ABC).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list((store.root / "tmp").iterdir()) == []


def test_reading_changed_or_missing_bytes_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="file_missing"):
        store.read_raw(ABC)
    store.put_raw(b"abc", ABC)
    store.raw_path(ABC).chmod(0o600)
    store.raw_path(ABC).write_bytes(b"abd")
    with pytest.raises(StoreError, match="hash_mismatch"):
        store.read_raw(ABC)


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o077, 0o777], ids=lambda mask: f"{mask:03o}")
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    store = open_store(tmp_path / "evidence", create=True)
    store.put_raw(b"abc", ABC)
    store.put_segment("gpu_list", b"abc")
    store.commit(_body("a"))
    found = {path: path.stat().st_mode & 0o7777 for path in [store.root, *store.root.rglob("*")]}
    assert {mode for path, mode in found.items() if path.is_dir()} == {0o750}
    assert {mode for path, mode in found.items() if path.is_file()} == {0o440}
    assert sum(path.is_file() for path in found) == 4  # FORMAT, raw, segment, manifest


# -- the chain -------------------------------------------------------------------------------------------------------


def test_empty_store_has_no_head(store: Store) -> None:
    assert store.head() == Head(0, None)
    assert store.manifests() == []


def test_first_manifest_byte_for_byte(store: Store) -> None:
    head = store.commit(_body("a"))
    written = f'{{"captures":[{{"capture_id":"a","capture_sha256":"{ABC}"}}],"number":1,"previous":null,"segments":[]}}'
    assert (store.root / "manifests" / "00000001.json").read_bytes() == written.encode()
    assert head == Head(1, _digest(written.encode()))
    assert store.head() == head


def test_manifests_are_a_chain_of_contiguous_numbers(store: Store) -> None:
    heads = [store.commit(_body(name)) for name in "abc"]
    assert [head.number for head in heads] == [1, 2, 3]
    files = sorted((store.root / "manifests").iterdir())
    assert [file.name for file in files] == ["00000001.json", "00000002.json", "00000003.json"]
    assert [manifest["previous"] for manifest in store.manifests()] == [None, heads[0].sha256, heads[1].sha256]
    assert [_digest(file.read_bytes()) for file in files] == [head.sha256 for head in heads]


def test_writer_that_loses_the_number_takes_the_next(store: Store) -> None:
    class Late(Disk):
        """The other writer commits between this one's look at the chain and its link."""

        def link(self, source: Path, target: Path) -> None:
            if target.name == "00000001.json":
                Store(store.root).commit(_body("theirs"))
            super().link(source, target)

    head = Store(store.root, Late()).commit(_body("mine"))
    assert head.number == 2
    assert [m["captures"][0]["capture_id"] for m in store.manifests()] == ["theirs", "mine"]
    assert list((store.root / "tmp").iterdir()) == []


def test_writer_that_lost_the_captures_too_is_told(store: Store) -> None:
    store.commit(_body("a", "b"))
    with pytest.raises(ConflictError):
        store.commit(_body("b", "c"))
    assert store.head().number == 1


def test_conflict_that_appears_during_the_commit_is_told(store: Store) -> None:
    class Late(Disk):
        def link(self, source: Path, target: Path) -> None:
            if target.name == "00000001.json":
                Store(store.root).commit(_body("a"))
            super().link(source, target)

    with pytest.raises(ConflictError):
        Store(store.root, Late()).commit(_body("a"))
    assert store.head().number == 1


def test_order_of_the_listing_decides_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abcd":
        store.commit(_body(name))
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: sorted(listed(path), reverse=True))
    assert store.head().number == 4


# -- what is refused -------------------------------------------------------------------------------------------------


def test_missing_store_is_not_made_by_a_reader(tmp_path: Path) -> None:
    assert _code(tmp_path / "none") == "no_store"
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("text", ['{"format":"gpu-evidence-store/2","hash":"sha256"}', "", "{}", "[", "\xff"])
def test_unknown_format_is_refused(store: Store, text: str) -> None:
    marker = store.root / "FORMAT"
    assert marker.read_text(encoding="utf-8") == '{"format":"gpu-evidence-store/1","hash":"sha256"}'
    marker.chmod(0o600)
    marker.write_text(text, encoding="latin-1")
    assert _code(store.root, create=True) == "unknown_format"


def test_folder_with_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("mine")
    assert _code(tmp_path / "home", create=True) == "not_a_store"
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis.txt"]


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert _code(tmp_path / "file", create=True) in {"not_a_folder", "no_store"}
    assert (tmp_path / "file").read_text() == "mine"


def test_empty_folder_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "evidence").mkdir(mode=0o755)
    assert open_store(tmp_path / "evidence", create=True).head() == Head(0, None)


def test_store_that_everybody_can_write_is_refused(store: Store) -> None:
    store.root.chmod(0o757)
    assert _code(store.root) == "store_writable"


def _rewrite(file: Path, data: bytes) -> None:
    file.chmod(0o600)
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("00000001.json", "manifest_missing"),
        ("00000002.json", "manifest_missing"),
    ],
)
def test_missing_number_is_found(store: Store, name: str, code: str) -> None:
    for capture in "abc":
        store.commit(_body(capture))
    (store.root / "manifests" / name).unlink()
    assert _code(store.root) == code


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "manifest_damaged"),
        (b"{", "manifest_damaged"),
        (b"[]", "manifest_damaged"),
        (b"\xff\xfe", "manifest_damaged"),
        (b'{"captures":[],"number":3,"previous":null,"segments":[]}', "manifest_damaged"),
        (b'{"captures": [], "number": 2, "previous": null}', "manifest_damaged"),  # JSON, but not canonical
        (b'{"captures":[],"number":2,"previous":null,"segments":[]}\n', "manifest_damaged"),
        (b'{"captures":[],"number":2,"previous":null,"segments":[]}', "chain_broken"),
    ],
)
def test_edited_manifest_is_found(store: Store, data: bytes, code: str) -> None:
    for capture in "abc":
        store.commit(_body(capture))
    _rewrite(store.root / "manifests" / "00000002.json", data)
    assert _code(store.root) == code


def test_edit_of_history_breaks_the_chain_after_it(store: Store) -> None:
    for capture in "abc":
        store.commit(_body(capture))
    first = store.root / "manifests" / "00000001.json"
    edited = json.loads(first.read_bytes())
    edited["captures"][0]["capture_id"] = "other"
    _rewrite(first, json.dumps(edited, sort_keys=True, separators=(",", ":")).encode())
    with pytest.raises(StoreError, match=r"00000002\.json.*chain_broken"):
        store.manifests()


def test_swapped_manifests_are_found(store: Store) -> None:
    for capture in "ab":
        store.commit(_body(capture))
    one, two = (store.root / "manifests" / f"0000000{n}.json" for n in (1, 2))
    texts = one.read_bytes(), two.read_bytes()
    _rewrite(one, texts[1])
    _rewrite(two, texts[0])
    assert _code(store.root) == "manifest_damaged"


# -- faults that a sweep cannot make ---------------------------------------------------------------------------------


def test_full_disk_says_how_much_is_needed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_fd: int, _data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store.disk, "write", full)
    with pytest.raises(StoreError, match=r"no room for 3 bytes.*store_full"):
        store.put_raw(b"abc", ABC)


def test_litter_of_a_dead_process_with_the_same_id_is_no_obstacle(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In a container the command has the same process id at every start: a killed run must not block the next ones.
    monkeypatch.setattr(store_module, "_counter", itertools.count())
    for number in range(3):
        (store.root / "tmp" / f"{os.getpid()}-{number}").write_bytes(b"litter")
    store.put_raw(b"abc", ABC)
    assert store.read_raw(ABC) == b"abc"


def test_folder_made_by_a_process_that_died_before_chmod_is_not_writable_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    before = os.umask(0)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "chmod", die)
            with pytest.raises(KeyboardInterrupt):
                open_store(tmp_path / "evidence", create=True)
        assert (tmp_path / "evidence").stat().st_mode & 0o022 == 0
        open_store(tmp_path / "evidence", create=True)
    finally:
        os.umask(before)


class _Failing(Disk):
    """One verb fails, for the paths that hold a text."""

    def __init__(self, verb: str, part: str) -> None:
        real = getattr(self, verb)

        def fail(path: Path, *rest: object) -> object:
            if part in str(path):
                raise OSError(errno.EIO, "Input/output error")
            return real(path, *rest)

        setattr(self, verb, fail)


@pytest.mark.parametrize(
    ("verb", "part"),
    [
        ("sync_folder", "raw"),
        ("sync_folder", "manifests"),
        ("names", "manifests"),
        ("read", "manifests"),
        ("unlink", "tmp"),
        ("create", "tmp"),
    ],
)
def test_every_fault_of_a_commit_is_one_of_our_errors(store: Store, verb: str, part: str) -> None:
    store.commit(_body("earlier"))
    broken = Store(store.root, _Failing(verb, part))

    def batch() -> None:
        broken.put_raw(b"abc", ABC)
        broken.commit(_body("a"))

    with pytest.raises(StoreError, match="store_io"):
        batch()


def test_damaged_marker_is_one_of_our_errors(store: Store) -> None:
    with pytest.raises(StoreError, match="store_io"):
        open_store(store.root, disk=_Failing("read", "FORMAT"))


def test_unreadable_raw_file_is_one_of_our_errors(store: Store) -> None:
    store.put_raw(b"abc", ABC)
    with pytest.raises(StoreError, match="store_io"):
        Store(store.root, _Failing("read", "raw")).read_raw(ABC)


def test_error_after_the_link_does_not_say_that_nothing_was_committed(store: Store) -> None:
    class NoUnlink(Disk):
        def unlink(self, path: Path) -> None:
            raise OSError(errno.EIO, f"Input/output error {path.name}")

    with pytest.raises(StoreError) as caught:
        Store(store.root, NoUnlink()).commit(_body("a"))
    assert store.head().number == 1
    assert "nothing was committed" not in str(caught.value)


def test_listing_that_misses_a_manifest_written_meanwhile_is_read_again(store: Store) -> None:
    # A long folder is read in parts: a listing can hold a late name and miss an earlier one that was added meanwhile.
    for capture in "abc":
        store.commit(_body(capture))

    class Parts(Disk):
        def __init__(self) -> None:
            self.calls = 0

        def names(self, path: Path) -> list[str]:
            self.calls += 1
            found = super().names(path)
            return [name for name in found if name != "00000002.json"] if self.calls == 1 else found

    assert Store(store.root, Parts()).head().number == 3


def test_putting_over_damaged_bytes_is_refused(store: Store) -> None:
    # A name that is taken is not trusted: a batch must not be committed on bytes that are not what they are named.
    store.put_raw(b"abc", ABC)
    _rewrite(store.raw_path(ABC), b"abd")
    with pytest.raises(StoreError, match="hash_mismatch"):
        store.put_raw(b"abc", ABC)


def test_disk_that_writes_nothing_is_an_error_and_not_a_hang(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count()

    def nothing(_fd: int, _data: object) -> int:
        if next(calls) > 100:
            pytest.fail("the store writes nothing for ever")
        return 0

    monkeypatch.setattr(store.disk, "write", nothing)
    with pytest.raises(StoreError, match="store_io"):
        store.put_raw(b"abc", ABC)
