"""A `dcgm_fields.h` of any release: dcgm_fields, one row per `DCGM_FI_` name that it defines.

Rules. The preprocessor is not evaluated: both sides of every condition are read, and a name in the block that
DCGM_DEPRECATED guards is deprecated. A value is a number, another name, or a sum or difference of both; what cannot be
resolved within the file is NULL with its reason. A name is one row: repeated with the same value it is noted, with
another value it is an error and has no id. Names of ranges are markers; other families (DCGM_FT_, DCGM_FS_, ...) are
structure. Deprecation is not said of a name outside that block that has no comment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.parsed import Ledger, Parsed, Remarks, line_fault, split_lines, to_utf8
from pipeline.parsers.dcgm_header_defines import Reader
from pipeline.parsers.dcgm_header_rows import build_rows
from pipeline.parsers.dcgm_header_text import scan
from schemas import TABLES, unstamped_schema

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts

_HEAD = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+DCGM_FI_", re.MULTILINE)


def _ledger(lines: list[bytes], rows: set[int], refused: set[int]) -> Ledger:
    """Account for every physical line."""
    ledger = Ledger(total=len(lines))
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            ledger.blank += 1
        elif number in rows:
            ledger.rows += 1
        elif number in refused:
            ledger.refused += 1
        else:
            ledger.structure += 1
    return ledger


def parse(data: bytes, _facts: CaptureFacts) -> Parsed:
    """Read a header; see the module for the rules."""
    body = to_utf8(data)
    lines = split_lines(body)
    reader = Reader(Remarks(), set(), len(lines) if body and not body.endswith(b"\n") else None)
    for number, line in enumerate(lines, start=1):
        if line.strip() and (fault := line_fault(line)):
            reader.refuse(number, *fault)
    scanned = scan([line.decode(errors="replace").replace("\0", "\ufffd") for line in lines])
    if scanned.unclosed is not None:
        message = "a comment opens here that the file never closes: what follows is lost; take the header again"
        reader.remarks.add("error", "comment_not_closed", message, scanned.unclosed)
    for place in scanned.lines:
        reader.read(place)
    rows = build_rows(reader)
    if scanned.unclosed is not None:
        reader.refused.update(range(scanned.unclosed, len(lines) + 1))
    if not rows:
        message = "no line defines a DCGM_FI_ name, expected a dcgm_fields.h; check what this file is"
        reader.remarks.add("error", "no_rows", message)
    return Parsed(
        tables={"dcgm_fields": pa.Table.from_pylist(rows, schema=unstamped_schema(TABLES["dcgm_fields"]))},
        issues=sorted(reader.remarks.all(), key=lambda issue: issue.line or 0),
        ledger=_ledger(lines, {row["capture_line"] for row in rows}, reader.refused),
        quarantine=None if rows else "no_rows",
    )


def detect(head: bytes) -> bool:
    """Whether a line of the head defines a `DCGM_FI_` name."""
    return _HEAD.search(head) is not None
