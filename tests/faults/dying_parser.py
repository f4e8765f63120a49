"""A parser that takes its process with it, for one capture: importable by the processes of a pool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pipeline.parse_pool import parse_bytes
from pipeline.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.parsed import CaptureFacts, Parsed

FATAL = b"GPU 0: fatal (UUID: GPU-dead0000-1111-2222-3333-444455556666)\n"


def parse_or_die(root: Path, digest: str, kind: str, facts: CaptureFacts) -> Parsed:
    data = Store(root).read_raw(digest)
    if data == FATAL:
        os._exit(9)
    return parse_bytes(kind, data, facts)
