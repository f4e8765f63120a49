"""FNV-1a 64 and the generation of a MIG layout, against the published vectors and the worked table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.hashes import (
    canonical_json,
    canonical_mig_uuid,
    fnv1a64,
    is_masked_uuid,
    layout_bytes,
    mig_config_generation,
    mig_ids,
    sha256,
)

if TYPE_CHECKING:
    from random import Random

FIRST = "MIG-3f1c2a9e-5b70-5d41-8a6e-0c9b7e21d504"
SECOND = "MIG-0a44c7d1-92be-5e03-b1f7-6d5e8c3a9f10"
THIRD = "MIG-c81e5b62-417d-5aa9-9d20-f3b4a6e80c77"
OLD_PARENT = "7d2e91b4-6c0f-4e8a-b5d3-18f0a2c4e697"

# Two layouts of one child each that share a generation: found by search, kept as a fixed example.
COLLIDING = ("MIG-0d3b6a4e-1c52-5f0a-1358-1264a2ca6dd9", "MIG-0d3b6a4e-1c52-5f0a-ea53-7609501bb7a8")

VECTORS = {
    b"": 0xCBF29CE484222325,
    b"a": 0xAF63DC4C8601EC8C,
    b"b": 0xAF63DF4C8601F1A5,
    b"fo": 0x08985907B541D342,
    b"foo": 0xDCB27518FED9D577,
    b"foobar": 0x85944171F73967E8,
    b"hello": 0xA430D84680AABD0B,
    b"\0": 0xAF63BD4C8601B7DF,
    b"foobar\0": 0x34531CA7168B8F38,
    b"chongo was here!\n": 0x46810940EFF5F915,
}

UUIDS = st.uuids().map(lambda value: f"MIG-{value}").filter(lambda text: not is_masked_uuid(text))


@pytest.mark.parametrize(("data", "expected"), VECTORS.items())
def test_fnv1a64_gives_the_published_vectors(data: bytes, expected: int) -> None:
    assert fnv1a64(data) == expected


def test_fnv1a64_is_not_fnv1() -> None:
    assert fnv1a64(b"foobar") != 0x340D8765A4DDA9C2


@pytest.mark.parametrize(
    ("children", "size", "generation"),
    [
        ([FIRST, SECOND], 81, "e470a195fc158a4d"),
        ([FIRST, SECOND, THIRD], 122, "a81872645e0dda70"),
        ([f"MIG-GPU-{OLD_PARENT}/{gi}/0" for gi in (9, 10, 2)], 147, "7d0917653e9eca53"),
        (["MIG-3F1C2A9E-5B70-5D41-8A6E-0C9B7E21D504"], 40, "fe2a61c59810f00d"),
    ],
    ids=["A", "B", "C-old-style", "D-upper-case"],
)
def test_generation_of_the_worked_table(children: list[str], size: int, generation: str) -> None:
    layout = layout_bytes(children)
    assert layout is not None
    assert len(layout) == size
    assert mig_config_generation(children) == f"fnv1a64:{generation}"


@pytest.mark.parametrize(
    ("separator", "tail", "value"),
    [
        ("", "", 0xD456A5E923FE3815),
        (",", "", 0x7FB8658E62FA6D83),
        (" ", "", 0x870CCE4CA913D30F),
        ("\0", "", 0x21536A6006FF856F),
        ("\n", "\n", 0x40ECD8DB5899F6A5),
    ],
    ids=["none", "comma", "blank", "nul", "final-lf"],
)
def test_other_encodings_give_other_generations(separator: str, tail: str, value: int) -> None:
    other = (separator.join([SECOND, FIRST]) + tail).encode()
    assert fnv1a64(other) == value
    assert mig_config_generation([FIRST, SECOND]) != f"fnv1a64:{value:016x}"


def test_colliding_layouts_share_a_generation_but_not_their_bytes() -> None:
    generations = {mig_config_generation([uuid]) for uuid in COLLIDING}
    assert generations == {"fnv1a64:4bf82deccd9caa99"}
    layouts = [layout_bytes([uuid]) for uuid in COLLIDING]
    assert layouts[0] != layouts[1]


@given(st.lists(UUIDS, min_size=1, max_size=8, unique=True), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_generation_ignores_order_and_case(children: list[str], random: Random) -> None:
    expected = mig_config_generation(children)
    assert expected is not None
    shuffled = [f" MIG-{uuid[4:].upper()} " for uuid in children]
    random.shuffle(shuffled)
    assert mig_config_generation(shuffled) == expected


@given(st.lists(UUIDS, min_size=2, max_size=8, unique=True))
@settings(max_examples=200, deadline=None)
def test_layout_bytes_change_with_the_set(children: list[str]) -> None:
    assert layout_bytes(children) != layout_bytes(children[1:])


@pytest.mark.parametrize(
    "children",
    [
        [],
        [FIRST, FIRST],
        [FIRST, FIRST.upper().replace("MIG-", "mig-")],
        [FIRST, "MIG-not-a-uuid"],
        ["GPU-3f1c2a9e-5b70-5d41-8a6e-0c9b7e21d504"],
        ["MIG-00000001-0000-0000-0000-000000000001"],
        [FIRST, "MIG-00000001-0000-0000-0000-000000000001"],
    ],
    ids=["none", "repeated", "repeated-in-another-case", "malformed", "gpu", "masked", "one-masked"],
)
def test_no_generation_without_a_whole_set(children: list[str]) -> None:
    assert mig_config_generation(children) is None


def test_old_style_uuid_spells_its_ids() -> None:
    uuid = f"MIG-GPU-{OLD_PARENT.upper()}/007/00"
    assert canonical_mig_uuid(uuid) == f"MIG-GPU-{OLD_PARENT}/7/0"
    assert mig_ids(uuid) == (f"GPU-{OLD_PARENT}", 7, 0)
    assert mig_ids(FIRST) is None


@pytest.mark.parametrize(
    "uuid", ["MIG-3f1c2a9e-5b70-5d41-8a6e-0c9b7e21d50", f"MIG-GPU-{OLD_PARENT}/1", f"MIG-GPU-{OLD_PARENT}/\u0661/0", ""]
)
def test_canonical_spelling_refuses_what_is_no_mig_uuid(uuid: str) -> None:
    assert canonical_mig_uuid(uuid) is None


def test_sha256_and_canonical_json() -> None:
    assert sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert canonical_json({"b": [1, None], "a": "\u00e9"}) == '{"a":"\u00e9","b":[1,null]}'.encode()
