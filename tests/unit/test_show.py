"""`show`: from a hash (or its beginning) and a line to the bytes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import UsageError
from pipeline.show import find

if TYPE_CHECKING:
    from pipeline.store import Store

LINES = b"one\r\ntwo\nthree\xff\nfour"


def _keep(store: Store, data: bytes, *paths: str) -> str:
    digest = hashlib.sha256(data).hexdigest()
    store.put_raw(data, digest)
    captures = [{"capture_id": f"{digest}{path}", "capture_sha256": digest, "path": path} for path in paths]
    store.commit({"captures": captures, "segments": []})
    return digest


def test_whole_capture_by_a_beginning_of_its_hash(store: Store) -> None:
    digest = _keep(store, LINES, "b.txt", "a.txt")
    for length in (6, 12, 64):
        shown = find(store, digest[:length])
        assert (shown.sha256, shown.paths, shown.line, shown.data) == (digest, ("a.txt", "b.txt"), None, LINES)
        assert shown.lines == ((1, "one"), (2, "two"), (3, "three\\xff"), (4, "four"))


@pytest.mark.parametrize(
    ("line", "around", "numbers"),
    [(1, 0, [1]), (4, 0, [4]), (2, 1, [1, 2, 3]), (1, 2, [1, 2, 3]), (4, 9, [1, 2, 3, 4])],
)
def test_line_and_those_around_it(store: Store, line: int, around: int, numbers: list[int]) -> None:
    digest = _keep(store, LINES, "a.txt")
    shown = find(store, f"{digest}:{line}", around)
    assert [number for number, _ in shown.lines] == numbers
    assert shown.line == line


def test_lines_of_utf16_are_counted_as_text(store: Store) -> None:
    digest = _keep(store, b"\xff\xfe" + "a\r\n\u010a\r\nb\r\n".encode("utf-16-le"), "a.txt")
    assert find(store, f"{digest}:3").lines == ((3, "b"),)  # U+010A holds the byte 0a, and is no line end


def test_json_form(store: Store) -> None:
    digest = _keep(store, b"x\ny\n", "a.txt")
    assert find(store, f"{digest}:2").as_json() == {
        "capture_sha256": digest,
        "paths": ["a.txt"],
        "line": 2,
        "lines": [{"line": 2, "text": "y"}],
    }


@pytest.mark.parametrize(
    "place", ["", "abcde", "ABCDEF", "abcdefg", "abcdef:", "abcdef:0", "abcdef:-1", "abcdef:1:2", "a" * 65, "abcdef\n"]
)
def test_what_is_no_place_is_refused(store: Store, place: str) -> None:
    with pytest.raises(UsageError, match="bad_place"):
        find(store, place)


def test_unknown_ambiguous_and_too_far(store: Store) -> None:
    digest = _keep(store, LINES, "a.txt")
    with pytest.raises(UsageError, match="no_such_line"):
        find(store, f"{digest}:5")
    with pytest.raises(UsageError, match="no_such_capture"):
        find(store, "000000" if not digest.startswith("000000") else "111111")
    twin = digest[:8] + "0" * 56
    store.commit({"captures": [{"capture_id": "twin", "capture_sha256": twin, "path": "t"}], "segments": []})
    with pytest.raises(UsageError, match="ambiguous_capture"):
        find(store, digest[:8])
    assert find(store, digest[:16]).sha256 == digest


def test_unreadable_captures_have_no_bytes_and_do_not_disturb(store: Store) -> None:
    store.commit({"captures": [{"capture_id": "u", "capture_sha256": None, "path": "u"}], "segments": []})
    digest = _keep(store, LINES, "a.txt")
    assert find(store, digest).data == LINES
