"""Captures: which files are looked at, what their sidecars may say, and what an observation is."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline import captures
from pipeline.captures import Capture, Sidecar, find, load, row
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from conftest import WriteCapture

LISTING = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-a2c6d813-9f40-4b57-8e21-7b35f0d9c46a)\n"
LISTING_SHA = hashlib.sha256(LISTING.encode()).hexdigest()
CSV = "index, name, temperature.gpu\n0, NVIDIA A100, 41\n"


def _only(folder: Path) -> Capture:
    ((shown, file),) = list(find([folder]))
    return load(shown, file)


# -- what is found ---------------------------------------------------------------------------------------------------


def test_files_come_in_the_order_of_the_bytes_of_their_paths(write_capture: WriteCapture, tmp_path: Path) -> None:
    for name in ("b.txt", "B.txt", "a/z.txt", "a.txt", "\u00e9.txt", "a-b.txt", "10.txt", "9.txt"):
        write_capture(name, LISTING)
    # by byte: '-' 2d, '.' 2e, '/' 2f, digits, upper case, lower case, then UTF-8 beyond ASCII
    wanted = ["10.txt", "9.txt", "B.txt", "a-b.txt", "a.txt", "a/z.txt", "b.txt", "\u00e9.txt"]
    assert [shown for shown, _ in find([tmp_path / "captures"])] == [f"captures/{name}" for name in wanted]


def test_names_that_begin_with_a_dot_are_not_looked_at(write_capture: WriteCapture, tmp_path: Path) -> None:
    for name in (".hidden", ".git/config", "seen.txt", "sub/.DS_Store", "sub/seen.txt"):
        write_capture(name, LISTING)
    assert [shown for shown, _ in find([tmp_path / "captures"])] == ["captures/seen.txt", "captures/sub/seen.txt"]


def test_sidecar_is_no_capture_and_json_without_neighbour_is(write_capture: WriteCapture, tmp_path: Path) -> None:
    write_capture("gpu.csv", CSV, host="node7")
    write_capture("alone.json", "{}")
    write_capture("folder/x.txt", LISTING)
    write_capture("folder.json", "{}")
    shown = [shown for shown, _ in find([tmp_path / "captures"])]
    assert shown == ["captures/alone.json", "captures/folder.json", "captures/folder/x.txt", "captures/gpu.csv"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("captures", "captures/a/gpu.csv"),
        ("captures/", "captures/a/gpu.csv"),
        ("./captures", "captures/a/gpu.csv"),
        ("captures/a", "a/gpu.csv"),
        ("captures/a/gpu.csv", "gpu.csv"),
        ("captures/a/../a", "a/gpu.csv"),
        ("captures/..", "captures/a/gpu.csv"),
        (".", "captures/a/gpu.csv"),
    ],
)
def test_shown_path_holds_nothing_above_the_given_one(
    write_capture: WriteCapture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, shown: str
) -> None:
    write_capture("a/gpu.csv", CSV)
    monkeypatch.chdir(tmp_path)
    assert [name for name, _ in find([Path(given)])] == [shown]
    if given != ".":  # the same from anywhere else
        assert [name for name, _ in find([tmp_path / given])] == [shown]


def test_path_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no_such_path") as caught:
        list(find([tmp_path, tmp_path / "none"]))
    assert caught.value.exit_code == 2


def test_paths_that_overlap_give_each_file_once(write_capture: WriteCapture, tmp_path: Path) -> None:
    write_capture("a.txt", LISTING)
    folder = tmp_path / "captures"
    assert len(list(find([folder, folder, folder / "."]))) == 1


def test_files_of_two_hosts_with_one_name_are_two_captures(tmp_path: Path) -> None:
    for host in ("host1", "host2"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "gpu.csv").write_text(CSV.replace("41", host[-1]), encoding="utf-8")
    found = list(find([tmp_path / "host1" / "gpu.csv", tmp_path / "host2" / "gpu.csv"]))
    assert [(shown, file.parent.name) for shown, file in found] == [("gpu.csv", "host1"), ("gpu.csv", "host2")]


def test_folders_deeper_than_the_stack_are_walked(tmp_path: Path) -> None:
    path = tmp_path / "captures"
    path.mkdir()
    here = os.open(path, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    file = os.open("x.txt", os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.close(file)
    os.close(here)
    try:
        assert [shown for shown, _ in find([path])] == ["captures/" + "d/" * 1200 + "x.txt"]
    finally:
        for depth in range(1200, 0, -200):  # pytest's own cleaning up would recurse too deep
            top = path.joinpath(*["d"] * depth)
            for folder, _, names in os.walk(top, topdown=False):
                for name in names:
                    Path(folder, name).unlink()
                Path(folder).rmdir()


# -- what cannot be read ---------------------------------------------------------------------------------------------


def _why(capture: Capture) -> tuple[str | None, str, str]:
    return capture.kind, capture.issues[-1].code, capture.issues[-1].message


def test_things_that_are_no_files_are_named_and_do_not_hang(write_capture: WriteCapture, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    good = write_capture("good.txt", LISTING)
    (folder / "loop").symlink_to("loop")
    (folder / "loop2").symlink_to(".")
    (folder / "dangling").symlink_to("nothing")
    (folder / "link").symlink_to(good)
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        found = {shown.rsplit("/", 1)[1]: load(shown, file) for shown, file in find([folder])}
    assert found.pop("good.txt").issues == ()
    assert set(found) == {"loop", "loop2", "dangling", "link", "fifo", "socket"}
    for capture in found.values():
        assert capture.data is None
        assert capture.sha256 is None
        assert _why(capture)[:2] == (None, "unreadable")
        assert "expected a regular file" in _why(capture)[2]
        assert str(tmp_path) not in _why(capture)[2]
    assert {name for name, capture in found.items() if "a link, which is not followed" in _why(capture)[2]} == {
        "loop",
        "loop2",
        "dangling",
        "link",
    }


def test_device_and_huge_file_are_refused(tmp_path: Path) -> None:
    assert _why(load("null", Path("/dev/null")))[1] == "unreadable"
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate((4 << 30) + 1)
    capture = load("sparse", sparse)
    assert _why(capture)[1] == "unreadable"
    assert "4294967297 bytes, more than the limit of 4294967296" in _why(capture)[2]


def test_folder_that_cannot_be_listed_is_named(
    write_capture: WriteCapture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_capture("locked/gpu.csv", CSV)
    write_capture("open/gpu.csv", CSV)
    listing = os.scandir

    def scandir(path: Path) -> Any:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = {shown: load(shown, file) for shown, file in find([tmp_path / "captures"])}
    assert set(found) == {"captures/locked", "captures/open/gpu.csv"}
    assert _why(found["captures/locked"])[1] == "unreadable"
    assert [shown for shown, _ in find([tmp_path / "captures" / "locked"])] == ["locked"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"two\nlines.txt", "captures/two\nlines.txt"),
        ("r\u202elo.txt".encode(), "captures/r\u202elo.txt"),
        (b"not\xff\xfeutf8.txt", "captures/not\\xff\\xfeutf8.txt"),
        (b"n" * 255, "captures/" + "n" * 255),
        (b"n" * 251 + b".txt", "captures/" + "n" * 251 + ".txt"),
        (b"CON", "captures/CON"),
        (b"-rf", "captures/-rf"),
    ],
    ids=["newline", "rlo", "bytes", "255", "sidecar too long", "con", "option"],
)
def test_any_name_is_a_name(tmp_path: Path, name: bytes, shown: str) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(LISTING)
    capture = _only(folder)
    assert capture.path == shown
    assert (capture.sha256, capture.kind, capture.issues) == (LISTING_SHA, "smi_list", ())
    capture.path.encode()


def test_broken_sidecar_of_a_name_that_is_not_utf8_can_be_named(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    name = os.fsencode(folder) + b"/\xff.txt"
    Path(os.fsdecode(name)).write_text(LISTING)
    Path(os.fsdecode(name + b".json")).write_text("{")
    (issue,) = _only(folder).issues
    assert issue.code == "sidecar_invalid"
    assert "\\xff.txt.json" in issue.message
    issue.message.encode()


# -- sidecars --------------------------------------------------------------------------------------------------------


def _sidecar(tmp_path: Path, text: str | bytes) -> Capture:
    (tmp_path / "gpu.txt").write_text(LISTING, encoding="utf-8")
    (tmp_path / "gpu.txt.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load("gpu.txt", tmp_path / "gpu.txt")


def test_facts_of_a_sidecar(tmp_path: Path) -> None:
    facts = {
        "kind": "smi_list",
        "command": ["nvidia-smi", "-L"],
        "captured_at": "2026-10-03T14:00:00+02:00",
        "source": "published_claim",
        "simulated": False,
        "masked": True,
        "viewer": "restricted",
        "host": "node7",
        "set": "morning",
        "timezone": "Europe/Berlin",
        "claimed_sha256": "0" * 64,
        "note": "n",
        "tool": {"name": "x", "version": 3},
    }
    capture = _sidecar(tmp_path, json.dumps(facts))
    assert capture.issues == ()
    found = row(capture)
    assert found.pop("capture_id") == capture.capture_id
    assert found.pop("sidecar") == json.dumps(facts, sort_keys=True, separators=(",", ":"))
    assert found == {
        "capture_sha256": LISTING_SHA,
        "kind": "smi_list",
        "path": "gpu.txt",
        "bytes": len(LISTING),
        "command": "nvidia-smi -L",
        "captured_at": datetime(2026, 10, 3, 12, tzinfo=UTC),
        "host": "node7",
        "set": "morning",
        "viewer": "restricted",
        "timezone": "Europe/Berlin",
        "source": "published_claim",
        "is_simulated": False,
        "is_masked": True,
        "claimed_sha256": "0" * 64,
        "claim_status": "claim_unverified",
        "note": "n",
    }


def test_without_a_sidecar_everything_but_the_content_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "gpu.txt").write_text(LISTING, encoding="utf-8")
    found = row(load("gpu.txt", tmp_path / "gpu.txt"))
    known = {name: value for name, value in found.items() if value is not None}
    assert set(known) == {"capture_id", "capture_sha256", "kind", "path", "bytes", "sidecar"}
    assert known["sidecar"] == "{}"


@pytest.mark.parametrize(("claim", "status"), [(LISTING_SHA, "claim_verified"), ("0" * 64, "claim_unverified")])
def test_claimed_hash_never_replaces_the_computed_one(tmp_path: Path, claim: str, status: str) -> None:
    found = row(_sidecar(tmp_path, json.dumps({"claimed_sha256": claim})))
    assert (found["capture_sha256"], found["claim_status"]) == (LISTING_SHA, status)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("source", "attestation_verifier"),
        ("source", "HOST_OBSERVATION"),
        ("source", ""),
        ("captured_at", "2026-10-03T14:00:00"),
        ("captured_at", "2026-10-03"),
        ("captured_at", 1_790_000_000),
        ("captured_at", "1790000000"),
        ("captured_at", "yesterday"),
        ("captured_at", "0001-01-01T00:00:00+14:00"),
        ("captured_at", "9999-12-31T23:59:59-14:00"),
        ("simulated", "yes"),
        ("simulated", 1),
        ("masked", "false"),
        ("viewer", "guest"),
        ("host", 7),
        ("set", ["a"]),
        ("note", {"a": 1}),
        ("command", {"argv": []}),
        ("command", [1]),
        ("claimed_sha256", "0" * 63),
        ("claimed_sha256", "A" * 64),
        ("claimed_sha256", "0" * 64 + "\n"),
    ],
)
def test_invalid_value_costs_that_fact_alone(tmp_path: Path, key: str, value: Any) -> None:
    other = "note" if key != "note" else "host"
    capture = _sidecar(tmp_path, json.dumps({key: value, other: "kept", "unknown_key": 1}))
    assert getattr(capture.sidecar, key) is None
    assert getattr(capture.sidecar, other) == "kept"
    assert capture.sidecar.model_extra == {"unknown_key": 1}
    (issue,) = capture.issues
    assert (issue.severity, issue.code, issue.subject) == ("error", "sidecar_invalid", key)
    assert key in issue.message
    assert capture.data is not None
    assert capture.kind == "smi_list"


def test_several_invalid_values_are_named_in_the_order_of_their_keys(tmp_path: Path) -> None:
    capture = _sidecar(tmp_path, '{"viewer": 1, "host": 2, "masked": 3, "set": "s"}')
    assert [issue.subject for issue in capture.issues] == ["host", "masked", "viewer"]
    assert capture.sidecar.set == "s"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '"text"',
        "null",
        "7",
        '{"host": "a", "host": "b"}',
        '{"tool": {"x": 1, "x": 1}}',
        '{"n": NaN}',
        '{"n": -Infinity}',
        '{"n": 1e400}',
        '{"host": "\\ud800"}',
        '{"host": "a",}',
        b'{"host": "\xff"}',
        "[" * 100_000,
        '{"n": ' + "9" * 5_000 + "}",
    ],
    ids=lambda text: repr(text[:24]),
)
def test_sidecar_that_is_not_one_json_object_costs_its_facts_alone(tmp_path: Path, text: str | bytes) -> None:
    capture = _sidecar(tmp_path, text)
    assert capture.sidecar == Sidecar()
    assert [(issue.severity, issue.code) for issue in capture.issues] == [("error", "sidecar_invalid")]
    assert "gpu.txt.json" in capture.issues[0].message
    assert capture.sha256 == LISTING_SHA
    assert capture.kind == "smi_list"


@pytest.mark.parametrize("odd", ["link", "fifo", "unreadable"])
def test_sidecar_that_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str) -> None:
    (tmp_path / "gpu.txt").write_text(LISTING, encoding="utf-8")
    sidecar = tmp_path / "gpu.txt.json"
    if odd == "link":
        (tmp_path / "other").write_text('{"simulated": true}', encoding="utf-8")
        sidecar.symlink_to(tmp_path / "other")
    elif odd == "fifo":
        os.mkfifo(sidecar)
    else:
        sidecar.write_text('{"simulated": true}', encoding="utf-8")
        reading = captures.read_file

        def refused(file: Path) -> bytes:
            if file == sidecar:
                raise PermissionError(13, "Permission denied", str(file))
            return reading(file)

        monkeypatch.setattr(captures, "read_file", refused)
    capture = load("gpu.txt", tmp_path / "gpu.txt")
    assert [issue.code for issue in capture.issues] == ["sidecar_invalid"]
    assert str(tmp_path) not in capture.issues[0].message
    assert capture.sidecar.simulated is None


def test_folder_beside_a_capture_is_not_its_sidecar(write_capture: WriteCapture, tmp_path: Path) -> None:
    write_capture("gpu.txt", LISTING)
    write_capture("gpu.txt.json/inner.txt", LISTING)
    found = [load(shown, file) for shown, file in find([tmp_path / "captures"])]
    assert [(capture.path, capture.issues) for capture in found] == [
        ("captures/gpu.txt", ()),
        ("captures/gpu.txt.json/inner.txt", ()),
    ]


# -- kinds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "kind", "code"),
    [
        (LISTING, "smi_list", None),
        (CSV, "smi_csv", None),
        (b"\xff\xfe" + LISTING.replace("\n", "\r\n").encode("utf-16-le"), "smi_list", None),
        (b"\xfe\xff" + CSV.encode("utf-16-be"), "smi_csv", None),
        (b"\xef\xbb\xbf" + CSV.encode(), "smi_csv", None),
        (b"", None, "empty"),
        (b"\0\1\2\3" * 40, None, "binary"),
        (b"\xff\xfeabc", None, "kind_unknown"),
        (b"x" * (10 << 20), None, "kind_unknown"),
        ("Dear all,\nthe GPUs are fine.\n", None, "kind_unknown"),
        ("No devices were found\n", None, "no_devices_found"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_kind_is_told_from_the_content_or_the_reason_is_named(
    tmp_path: Path, content: str | bytes, kind: str | None, code: str | None
) -> None:
    file = tmp_path / "capture"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    capture = load("capture", file)
    assert capture.kind == kind
    assert [issue.code for issue in capture.issues] == ([code] if code else [])


def test_kind_that_does_not_exist_is_not_replaced_by_a_guess(tmp_path: Path) -> None:
    capture = _sidecar(tmp_path, '{"kind": "smi_lists"}')
    assert capture.kind is None
    assert capture.issues[-1].code == "kind_unknown"
    assert "'smi_lists'" in capture.issues[-1].message


def test_kind_asked_for_goes_before_sidecar_and_content(tmp_path: Path) -> None:
    _sidecar(tmp_path, '{"kind": "smi_mig"}')
    assert load("gpu.txt", tmp_path / "gpu.txt").kind == "smi_mig"
    assert load("gpu.txt", tmp_path / "gpu.txt", "smi_query").kind == "smi_query"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300), sidecar=st.binary(max_size=100))
def test_no_bytes_make_loading_fail(tmp_path: Path, content: bytes, sidecar: bytes) -> None:
    (tmp_path / "any").write_bytes(content)
    (tmp_path / "any.json").write_bytes(sidecar)
    capture = load("any", tmp_path / "any")
    assert capture.data == content
    assert capture.sha256 == hashlib.sha256(content).hexdigest()
    assert capture.kind is not None or capture.issues
    assert len(row(capture)["capture_id"]) == 64


# -- identity --------------------------------------------------------------------------------------------------------

FACTS: dict[str, Any] = {
    "kind": "smi_list",
    "command": "nvidia-smi -L",
    "captured_at": "2026-10-03T12:00:00Z",
    "host": "node7",
    "set": "morning",
    "source": "host_observation",
    "simulated": False,
    "masked": False,
    "viewer": "host",
    "note": "first",
}
ID_TEXT = (
    '{"captured_at":"2026-10-03T12:00:00.000+00:00","command":"nvidia-smi -L","content":"' + LISTING_SHA + '",'
    '"host":"node7","kind":"smi_list","set":"morning","simulated":false,"source":"host_observation"}'
)


def test_identity_is_the_hash_of_the_canonical_facts(tmp_path: Path) -> None:
    capture = _sidecar(tmp_path, json.dumps(FACTS))
    assert capture.capture_id == hashlib.sha256(ID_TEXT.encode()).hexdigest()


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "smi_mig"},
        {"command": "nvidia-smi --list-gpus"},
        {"captured_at": "2026-10-03T12:00:00.001Z"},
        {"host": "node8"},
        {"set": "evening"},
        {"source": "mock"},
        {"simulated": True},
        {"host": None},
        {"simulated": None},
        {"captured_at": None},
    ],
    ids=str,
)
def test_each_of_the_eight_facts_makes_another_observation(tmp_path: Path, changed: dict[str, Any]) -> None:
    before = _sidecar(tmp_path, json.dumps(FACTS))
    after = _sidecar(tmp_path, json.dumps(FACTS | changed))
    assert after.issues == ()
    assert after.sha256 == before.sha256
    assert after.capture_id != before.capture_id


def test_other_content_is_another_observation(tmp_path: Path) -> None:
    before = _sidecar(tmp_path, json.dumps(FACTS))
    (tmp_path / "gpu.txt").write_text(LISTING + "\n", encoding="utf-8")
    assert load("gpu.txt", tmp_path / "gpu.txt").capture_id != before.capture_id


@pytest.mark.parametrize(
    "changed",
    [
        {"note": "second"},
        {"masked": True},
        {"viewer": "restricted"},
        {"timezone": "UTC"},
        {"claimed_sha256": "0" * 64},
        {"own_key": 1},
        {"command": ["nvidia-smi", "-L"]},
        {"captured_at": "2026-10-03T14:00:00+02:00"},
    ],
    ids=str,
)
def test_corrected_note_is_no_new_observation(tmp_path: Path, changed: dict[str, Any]) -> None:
    before = _sidecar(tmp_path, json.dumps(FACTS))
    after = _sidecar(tmp_path, json.dumps(FACTS | changed))
    assert after.issues == ()
    assert after.capture_id == before.capture_id


def test_place_of_a_file_is_no_part_of_its_identity(write_capture: WriteCapture, tmp_path: Path) -> None:
    write_capture("a.txt", LISTING, host="node7")
    write_capture("b/c.txt", LISTING, host="node7")
    one, two = (load(shown, file) for shown, file in find([tmp_path / "captures"]))
    assert one.path != two.path
    assert one.capture_id == two.capture_id


def test_unreadable_files_are_told_apart_by_their_place(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("nothing")
    (tmp_path / "b").symlink_to("nothing")
    one, two = (load(name, tmp_path / name) for name in "ab")
    assert one.capture_id != two.capture_id
    assert load("a", tmp_path / "a").capture_id == one.capture_id
