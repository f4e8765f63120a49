"""The parser of `nvidia-smi -L`: rows, generations, refusals, and a ledger that is whole for any bytes."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.errors import CaptureError
from pipeline.parsed import CaptureFacts, Parsed
from pipeline.parsers import smi_list
from schemas import TABLES, arrow_schema
from schemas.hashes import sha256

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "corpus" / "smi_list"
REAL = ROOT.parent / "shared" / "captures"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the real captures are not beside this checkout")

PARENT = "GPU-5be0c1d2-77aa-4f10-9c3e-2f6b8d01e4a7"
GPU = f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {PARENT})\n"
FIRST = "MIG-3f1c2a9e-5b70-5d41-8a6e-0c9b7e21d504"
SECOND = "MIG-0a44c7d1-92be-5e03-b1f7-6d5e8c3a9f10"
PAIR = f"  MIG 3g.40gb     Device  0: (UUID: {FIRST})\n  MIG 2g.20gb     Device  1: (UUID: {SECOND})\n"
GENERATION = "fnv1a64:e470a195fc158a4d"


def read(data: bytes | str, *, masked: bool | None = None) -> Parsed:
    """Parse, and check what holds of every result: whole ledger, declared types, each row on a line of its own."""
    raw = data.encode() if isinstance(data, str) else data
    parsed = smi_list.parse(raw, CaptureFacts(masked=masked))
    assert parsed.ledger.is_whole
    for name, table in parsed.tables.items():
        table.validate(full=True)
        declared = list(arrow_schema(TABLES[name]))
        assert list(table.schema) == [field for field in declared if field.name not in ("capture_id", "capture_sha256")]
    lines = [row["capture_line"] for table in parsed.tables.values() for row in table.to_pylist()]
    assert len(set(lines)) == len(lines) == parsed.ledger.rows
    refused = {issue.line for issue in parsed.issues if issue.severity == "error"}
    assert len(refused) == parsed.ledger.refused
    return parsed


def stamped(parsed: Parsed, name: str) -> pa.Table:
    table = parsed.tables[name]
    key = pa.array(["ab" * 32] * table.num_rows, pa.dictionary(pa.int32(), pa.string()))
    schema = arrow_schema(TABLES[name])
    columns = [key if field.name in ("capture_id", "capture_sha256") else table[field.name] for field in schema]
    return pa.table(columns, schema=schema)


def rows(parsed: Parsed, table: str = "mig_devices") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parsed.tables[table].to_pylist()
    return found


def codes(parsed: Parsed) -> list[tuple[str, str, int | None]]:
    return [(issue.severity, issue.code, issue.line) for issue in parsed.issues]


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.txt")), ids=lambda path: path.stem)
@pytest.mark.parametrize("crlf", [False, True], ids=["lf", "crlf"])
def test_corpus_gives_its_expected_rows(path: Path, crlf: bool) -> None:
    data = path.read_bytes()
    parsed = read(data.replace(b"\n", b"\r\n") if crlf else data)
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    for name, wanted in expected.items():
        found = [{key: value for key, value in row.items() if key != "layout_sha256"} for row in rows(parsed, name)]
        assert found == wanted
        TABLES[name].validate(stamped(parsed, name))
    assert parsed.issues == []
    assert parsed.quarantine is None
    assert smi_list.detect(data)


def test_layout_hash_is_over_the_sorted_children() -> None:
    parsed = read(GPU + PAIR)
    assert {row["config_generation"] for row in rows(parsed)} == {GENERATION}
    assert {row["layout_sha256"] for row in rows(parsed)} == {sha256(f"{SECOND}\n{FIRST}".encode())}


def test_sidecar_that_says_masked_leaves_no_generation() -> None:
    row = rows(read(GPU + PAIR, masked=True))[0]
    assert row["config_generation"] is None
    assert row["layout_sha256"] is None
    assert "config_generation=masked" in row["absent"]


def test_one_masked_child_leaves_the_parent_without_generation() -> None:
    child = "  MIG 1g.10gb     Device  2: (UUID: MIG-00000001-0000-0000-0000-000000000001)\n"
    assert {row["config_generation"] for row in rows(read(GPU + PAIR + child))} == {None}


@pytest.mark.parametrize(
    ("line", "profile", "number"),
    [
        (f"  MIG 2g.10gb Device 0: (UUID: {FIRST})", "2g.10gb", 0),
        (f"  MIG 1g.24gb+me.allDevice  3: (UUID: {FIRST})", "1g.24gb+me.all", 3),
        (f"\tMIG 1g.10gb \t Device 12: (UUID: {FIRST})", "1g.10gb", 12),
    ],
    ids=["one-blank", "no-blank", "tabs"],
)
def test_blanks_between_profile_and_device_do_not_matter(line: str, profile: str, number: int) -> None:
    row = rows(read(f"{GPU}{line}\n"))[0]
    assert (row["mig_profile"], row["device_number"]) == (profile, number)


@pytest.mark.parametrize(
    ("profile", "sizes"),
    [
        ("1g.10gb", (1, 1, 10.0)),
        ("2c.3g.71gb", (3, 2, 71.0)),
        ("1c.1g.5gb", (1, 1, 5.0)),
        ("2g.0gb", (2, 2, 0.0)),
        ("4g.96gb+gfx", (4, 4, 96.0)),
        ("1g.24gb-me", (1, 1, 24.0)),
        ("1g.24gb+me,gfx", (1, 1, 24.0)),
    ],
)
def test_profile_name_gives_slices_and_memory(profile: str, sizes: tuple[int, int, float]) -> None:
    parsed = read(f"{GPU}  MIG {profile}  Device  0: (UUID: {FIRST})\n")
    row = rows(parsed)[0]
    assert (row["gpu_instance_slices"], row["compute_instance_slices"], row["memory_gb"]) == sizes
    assert parsed.issues == []


@pytest.mark.parametrize(
    "profile", ["3g", "3G.40GB", "0g.10gb", "4c.3g.40gb", "3g.40gb+", "3g.40gib", "\u0663g.40gb", "1g.123456gb"]
)
def test_unknown_profile_keeps_its_row_without_sizes(profile: str) -> None:
    parsed = read(f"{GPU}  MIG {profile}  Device  0: (UUID: {FIRST})\n")
    row = rows(parsed)[0]
    assert row["mig_profile"] == profile
    assert row["memory_gb"] is row["gpu_instance_slices"] is row["compute_instance_slices"] is None
    assert "memory_gb=unparsable" in row["absent"]
    assert row["config_generation"] is not None
    assert codes(parsed) == [("warning", "unparsable_profile", 2)]


def test_old_style_uuid_of_another_parent_gives_no_ids() -> None:
    child = "MIG-GPU-7d2e91b4-6c0f-4e8a-b5d3-18f0a2c4e697/2/0"
    parsed = read(f"{GPU}  MIG 3g.40gb Device 0: (UUID: {child})\n")
    row = rows(parsed)[0]
    assert row["gpu_instance_id"] is row["compute_instance_id"] is None
    assert "gpu_instance_id=error" in row["absent"]
    assert codes(parsed) == [("warning", "parent_mismatch", 2)]


def test_old_style_parent_is_compared_without_case() -> None:
    child = f"MIG-{PARENT.upper()}/13/1"
    row = rows(read(f"{GPU}  MIG 3g.40gb Device 0: (UUID: {child})\n"))[0]
    assert (row["gpu_instance_id"], row["compute_instance_id"]) == (13, 1)


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        (f"  MIG 1g.10gb Device 2: (UUID: {FIRST.upper()})\n", "duplicate_mig_uuid"),
        ("  MIG 1g.10gb Device 2: (UUID: MIG-3f1c2a9e)\n", "malformed_uuid"),
    ],
)
def test_repeated_or_malformed_child_leaves_no_generation(extra: str, code: str) -> None:
    parsed = read(GPU + PAIR + extra)
    assert len(rows(parsed)) == 3
    assert {row["config_generation"] for row in rows(parsed)} == {None}
    assert all("config_generation=error" in row["absent"] for row in rows(parsed))
    assert codes(parsed) == [("warning", code, 4)]


def test_child_listed_under_two_parents_leaves_both_without_generation() -> None:
    other = "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-0d94e7b8-1c52-4e6b-8f2d-a7c31e5590f3)\n"
    parsed = read(GPU + PAIR + other + f"  MIG 3g.40gb Device 0: (UUID: {FIRST})\n")
    assert [row["config_generation"] for row in rows(parsed)] == [None, None, None]
    assert codes(parsed) == [("warning", "duplicate_mig_uuid", 5)]


def test_children_of_a_gpu_listed_twice_count_together() -> None:
    first, second = PAIR.splitlines(keepends=True)
    parsed = read(GPU + first + GPU + second)
    assert {row["config_generation"] for row in rows(parsed)} == {GENERATION}


def test_conflicting_model_names_both() -> None:
    uuid = "3a7c51e8-90bd-5f24-8e16-d2b40c97f6a5"
    parsed = read(f"GPU 0: Orin (nvgpu) (UUID: {uuid})\nGPU 0: NVIDIA Thor  (UUID: {uuid})\n")
    assert [row["model"] for row in rows(parsed, "gpu_list")] == ["Orin (nvgpu)", "NVIDIA Thor"]
    assert codes(parsed) == [("warning", "conflicting_model", 2)]
    assert "Orin (nvgpu)" in parsed.issues[0].message
    assert "NVIDIA Thor" in parsed.issues[0].message


def test_mig_line_without_gpu_line_is_refused() -> None:
    parsed = read(PAIR + GPU)
    assert rows(parsed) == []
    assert codes(parsed) == [("error", "orphan_mig_device", 1), ("error", "orphan_mig_device", 2)]


@pytest.mark.parametrize(
    "damaged",
    [b"GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-0d94e7b8", b"GPU 1: \xff (UUID: GPU-0d94)", b"\0\0\0\0 1: X (UUID: G)"],
    ids=["cut", "not-utf8", "nul"],
)
def test_children_of_a_damaged_gpu_line_do_not_go_to_the_gpu_above(damaged: bytes) -> None:
    child = f"  MIG 1g.10gb     Device  0: (UUID: {SECOND})\n".encode()
    parsed = read(GPU.encode() + damaged + b"\n" + child)
    assert rows(parsed) == []
    assert [code for _, code, _ in codes(parsed)][-1] == "orphan_mig_device"


def test_dead_gpu_between_the_lines_does_not_adopt_or_lend_children() -> None:
    dead = "Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error\n"
    parsed = read(GPU + PAIR + dead + f"  MIG 1g.10gb Device 0: (UUID: {SECOND})\n")
    assert len(rows(parsed)) == 2
    assert codes(parsed) == [("error", "device_unreachable", 4), ("error", "orphan_mig_device", 5)]


@pytest.mark.parametrize(
    "tail", ["  MIG 1g.10gb     Device  2: (UUID: MIG-17c4", "  M", "  MIG x Device 2: (UUID: N/A)"]
)
def test_damaged_child_leaves_no_generation(tail: str) -> None:
    parsed = read(GPU + PAIR + tail)
    assert len(rows(parsed)) == 2
    assert all("config_generation=error" in row["absent"] for row in rows(parsed))
    assert parsed.ledger.refused == 1


def test_unknown_line_costs_only_itself() -> None:
    parsed = read(GPU + "something else\n" + PAIR)
    assert {row["config_generation"] for row in rows(parsed)} == {GENERATION}
    assert codes(parsed) == [("error", "unparsed_line", 2)]
    assert "something else" in parsed.issues[0].message


def test_warning_of_the_tool_between_the_lines_costs_nothing() -> None:
    parsed = read(f"{GPU}WARNING: infoROM is corrupted at gpu 0000:0B:00.0\n{PAIR}")
    assert {row["config_generation"] for row in rows(parsed)} == {GENERATION}
    assert codes(parsed) == [("warning", "inforom_corrupted", 2)]


def test_odd_gpu_uuid_is_kept_as_printed() -> None:
    parsed = read("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5be0c1d2)\n")
    assert rows(parsed, "gpu_list")[0]["gpu_uuid"] == "GPU-5be0c1d2"
    assert codes(parsed) == [("warning", "malformed_uuid", 1)]


def test_banners_and_blank_lines_are_accounted_for() -> None:
    text = f"Last login: Sat Oct  3 10:00:00 2026\nuser@node:~$ nvidia-smi -L\n{GPU}{PAIR}\n=====\n"
    parsed = read(text)
    ledger = parsed.ledger
    assert (ledger.total, ledger.rows, ledger.structure, ledger.blank, ledger.refused) == (7, 3, 3, 1, 0)


@pytest.mark.parametrize(
    ("text", "quarantine"),
    [
        ("", "no_rows"),
        ("\n\n", "no_rows"),
        ("hello\n", "no_rows"),
        ("No devices were found\n", "no_devices_found"),
        (
            "noise\nFailed to initialize NVML: Driver/library version mismatch\nNo devices were found\n",
            "nvml_not_initialized",
        ),
    ],
)
def test_capture_without_rows_is_quarantined(text: str, quarantine: str) -> None:
    assert read(text).quarantine == quarantine


def test_names_keep_parentheses_and_lose_outer_blanks() -> None:
    parsed = read(f"GPU 7:  A (UUID: no) card (rev 2)  (UUID: {PARENT})\n")
    assert [(row["gpu_index"], row["model"]) for row in rows(parsed, "gpu_list")] == [(7, "A (UUID: no) card (rev 2)")]


def test_gpu_without_uuid_is_a_row_that_owns_no_children() -> None:
    parsed = read(f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: [Unknown Error])\n{PAIR}")
    row = rows(parsed, "gpu_list")[0]
    assert (row["gpu_uuid"], row["absent"]) == (None, "gpu_uuid=error")
    assert rows(parsed) == []


@pytest.mark.parametrize(
    "line",
    [
        f" GPU 0: indented (UUID: {PARENT})",
        f"GPU \u0661: name (UUID: {PARENT})",
        f"GPU 123456: name (UUID: {PARENT})",
        f"GPU 0: one (UUID: {PARENT})\rGPU 1: two (UUID: {PARENT})",
        f"GPU 0: name (UUID: {PARENT}) and more",
        "GPU 00000000:19:00.0",
    ],
    ids=["indented", "other-digits", "too-many-digits", "lone-cr", "trailing-text", "query-text"],
)
def test_what_is_no_gpu_line_is_refused(line: str) -> None:
    parsed = read(line + "\n")
    assert codes(parsed) == [("error", "unparsed_line", 1)]
    assert not smi_list.detect(line.encode())


def test_utf16_of_a_windows_redirect_is_read() -> None:
    parsed = read((GPU + PAIR).replace("\n", "\r\n").encode("utf-16"))
    assert {row["config_generation"] for row in rows(parsed)} == {GENERATION}


@pytest.mark.parametrize(
    "line",
    [
        "GPU 0:" + " (UUID: a" * 7_000,
        "  MIG " + "Device " * 9_000,
        "  MIG x Device 0: (UUID:" + " " * 65_000,
        " " * 65_000 + "x",
        "GPU 0:" + "(UUID:" * 10_000 + ")",
    ],
    ids=["many-uuids", "many-devices", "blanks-in-uuid", "blanks", "many-opens"],
)
def test_hostile_line_costs_little_time(line: str) -> None:
    started = time.perf_counter()
    read(line)
    assert time.perf_counter() - started < 1


PIECES = st.sampled_from(
    [
        GPU.encode(),
        PAIR.encode(),
        b"GPU 0: x (UUID: ",
        b"  MIG 1g.10gb Device 0: (UUID: ",
        b"MIG-GPU-5be0c1d2-77aa-4f10-9c3e-2f6b8d01e4a7/1/0)\n",
        b"No devices were found\n",
        b"\r\n",
        b"\n",
        b"\0",
        b"\xef\xbb\xbf",
    ]
)


@given(
    st.one_of(st.binary(max_size=300), st.lists(st.one_of(PIECES, st.binary(max_size=12)), max_size=20).map(b"".join))
)
@example(b"\xff\xfe\x00")
@settings(max_examples=200, deadline=None)
def test_ledger_is_whole_for_any_bytes(data: bytes) -> None:
    try:
        read(data)
    except CaptureError as error:
        assert error.code == "undecodable"  # noqa: PT017 - most inputs do not raise
    assert smi_list.detect(data) in (True, False)


def test_bundled_layout_agrees_with_its_tables() -> None:
    parsed = read((ROOT / "captures" / "a100-mig-simulated" / "list.txt").read_bytes(), masked=False)
    assert [row["mig_profile"] for row in rows(parsed)] == ["3g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"]
    assert None not in {row["config_generation"] for row in rows(parsed)}
    assert parsed.issues == []


def test_reference_profiles_follow_the_grammar() -> None:
    path = ROOT / "pipeline" / "reference" / "mig_profiles.csv"
    with path.open(encoding="utf-8", newline="") as file:
        known = list(csv.DictReader(file))
    assert len({(entry["product"], entry["profile"]) for entry in known}) == len(known)
    for entry in known:
        row = rows(read(f"{GPU}  MIG {entry['profile']} Device 0: (UUID: {FIRST})\n"))[0]
        assert str(row["gpu_instance_slices"]) == entry["gpu_instance_slices"]
        assert entry["source"]


@needs_real
@pytest.mark.parametrize(
    ("name", "gpus", "generations"),
    [
        ("smi_list/deepops-head10-a100x8.txt", 2, {"fnv1a64:38c47e826c214ff2", "fnv1a64:aaa7a5d711e4f5ee"}),
        ("smi_list/cnd-legacy-mixed.txt", 1, {"fnv1a64:a21ed12fb7a3142e"}),
        ("smi_list/cncf-timeslice-duplicates.txt", 4, set()),
        ("smi/h100-mig__590.48.01/list.txt", 1, {None}),
    ],
)
def test_real_listings(name: str, gpus: int, generations: set[str | None]) -> None:
    parsed = read((REAL / name).read_bytes())
    assert len(rows(parsed, "gpu_list")) == gpus
    assert {row["config_generation"] for row in rows(parsed)} == generations
    assert parsed.issues == []


@needs_real
def test_real_masked_listing_says_why_there_is_no_generation() -> None:
    children = rows(read((REAL / "smi" / "h100-mig__590.48.01" / "list.txt").read_bytes(), masked=True))
    assert len(children) == 4
    assert all("config_generation=masked" in child["absent"] for child in children)


@needs_real
def test_real_legacy_ids_and_repeated_gpus() -> None:
    legacy = rows(read((REAL / "smi_list" / "cnd-legacy-mixed.txt").read_bytes()))
    assert [(row["gpu_instance_id"], row["compute_instance_id"]) for row in legacy] == [(2, 0), (3, 0), (9, 0)]
    shared = rows(read((REAL / "smi_list" / "cncf-timeslice-duplicates.txt").read_bytes()), "gpu_list")
    assert len({row["gpu_uuid"] for row in shared}) == 2


@needs_real
def test_real_conflicting_model() -> None:
    parsed = read((REAL / "smi_list" / "ctk-igpu-orin-thor.txt").read_bytes())
    assert codes(parsed) == [("warning", "conflicting_model", 2)]
