"""Identities: SHA-256 of content, FNV-1a 64 of a MIG layout, canonical JSON.

The generation of a MIG layout (scheme mig-uuids/v1) is FNV-1a, 64 bit, over the parent's child UUIDs: prefix kept,
hex in lower case, sorted by bytes, joined with LF, no final LF, shown as `fnv1a64:<16 hex>`. No children, no
generation. It is a fence, not a proof: two layouts are equal only if their UUID sets are (`layout_sha256`).
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_FNV64_OFFSET = 0xCBF29CE484222325
_FNV64_PRIME = 0x100000001B3
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NEW_STYLE = re.compile(rf"MIG-({_UUID})", re.IGNORECASE)
_OLD_STYLE = re.compile(rf"MIG-GPU-({_UUID})/([0-9]{{1,4}})/([0-9]{{1,4}})", re.IGNORECASE)
_MASKED = re.compile(
    r"(?:(?:GPU|MIG)-)?(?:MIG-GPU-)?[0-9a-f]{8}-0000-0000-0000-[0-9a-f]{12}(?:/\d+/\d+)?", re.IGNORECASE
)


def sha256(data: bytes | memoryview) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: Any) -> bytes:
    """Return the one JSON text of a value: sorted keys, no blanks, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def fnv1a64(data: bytes) -> int:
    """FNV-1a with 64 bits: XOR the byte, then multiply by the prime."""
    value = _FNV64_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV64_PRIME) & 0xFFFF_FFFF_FFFF_FFFF
    return value


def canonical_mig_uuid(uuid: str) -> str | None:
    """Spell a MIG UUID of either style canonically, or give None when it is not one."""
    text = uuid.strip()
    if match := _NEW_STYLE.fullmatch(text):
        return "MIG-" + match[1].lower()
    if match := _OLD_STYLE.fullmatch(text):
        return f"MIG-GPU-{match[1].lower()}/{int(match[2])}/{int(match[3])}"
    return None


def mig_ids(uuid: str) -> tuple[str, int, int] | None:
    """Parent GPU UUID, GPU instance id and compute instance id that an old-style MIG UUID spells out."""
    match = _OLD_STYLE.fullmatch(uuid.strip())
    return None if match is None else (f"GPU-{match[1].lower()}", int(match[2]), int(match[3]))


def is_masked_uuid(uuid: str) -> bool:
    """Whether a UUID has the pattern of a masked one: its three middle groups are zero."""
    return _MASKED.fullmatch(uuid.strip()) is not None


def layout_bytes(uuids: Iterable[str]) -> bytes | None:
    """Canonical bytes of a set of child UUIDs; None when there are none, one is malformed, or one occurs twice."""
    spelled = [canonical_mig_uuid(uuid) for uuid in uuids]
    known = [text for text in spelled if text is not None]
    if not known or len(known) != len(spelled) or len(set(known)) != len(known):
        return None
    return "\n".join(sorted(known)).encode()


def mig_config_generation(uuids: Iterable[str]) -> str | None:
    """Generation of the layout that these children make, as `fnv1a64:<16 hex>`; None where there is none to give.

    None for no children, a malformed or repeated UUID, or a masked one (it names a device only within its capture).
    """
    children = list(uuids)
    data = layout_bytes(children)
    if data is None or any(is_masked_uuid(uuid) for uuid in children):
        return None
    return f"fnv1a64:{fnv1a64(data):016x}"
