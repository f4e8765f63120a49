"""The report as one HTML file: no script, nothing loaded, readable without its style, on paper and in the dark.

All text goes through Jinja2's escaping, and before that through `printable`, at one place: the environment's finalize.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import starmap
from typing import TYPE_CHECKING, Any

from pipeline.renderers.cells import VERDICTS, counts, evidence_text, mark, open_points, plain, reason, settled
from pipeline.renderers.escape import printable
from pipeline.report_model import FORMAT, Column, Evidence, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import Template

    from pipeline.report_model import Cell, Report, ReportTable, Verdict

_HASH = re.compile(r"[0-9a-f]{64}")
_PLAIN_TEXT = Column("value", "Value")


@dataclass(frozen=True)
class _Shown:
    """A cell as the template prints it."""

    form: str
    text: str
    style: str = ""
    symbol: str = ""
    title: str = ""
    target: str | None = None


@dataclass(frozen=True)
class _Row:
    anchor: str | None
    cells: list[_Shown]


@dataclass(frozen=True)
class _Table:
    id: str
    table: ReportTable
    rows: list[_Row]


def render(report: Report) -> str:
    """Return the whole page."""
    anchors = _anchors(report)
    names = _unique_names()
    placed = set(anchors)
    sections = [
        (names("s", section.id), section, [_table(table, names, anchors, placed) for table in section.tables])
        for section in report.sections
    ]
    style = _style()
    return _template().render(
        format=FORMAT,
        report=report,
        overall=VERDICTS[report.overall],
        counts=[(VERDICTS[name], count) for name, count in counts(report).items()],
        facts=[(name, _shown(_PLAIN_TEXT, value, anchors)) for name, value in report.facts],
        open_points=[_open_point(verdict, anchors) for verdict in open_points(report)],
        sections=sections,
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    ) + "\n"


def _anchors(report: Report) -> dict[str, str]:
    """Return the anchor of every capture that has a row: the first table that lists a capture has its anchor."""
    found: dict[str, str] = {}
    for table in (table for section in report.sections for table in section.tables):
        for sha256 in _listed(table):
            found.setdefault(sha256, f"c-{sha256[:12]}")
    return found


def _listed(table: ReportTable) -> Iterator[str]:
    for row in table.rows:
        sha256 = _row_capture(table, row)
        if sha256 is not None:
            yield sha256


def _row_capture(table: ReportTable, row: tuple[Cell, ...]) -> str | None:
    for column, cell in zip(table.columns, row, strict=True):
        if column.name == "capture_sha256" and column.kind == "code" and isinstance(cell, str) and _HASH.fullmatch(cell):
            return cell
    return None


def _table(table: ReportTable, names: Any, anchors: dict[str, str], placed: set[str]) -> _Table:
    rows = []
    for row in table.rows:
        sha256 = _row_capture(table, row)
        anchor = anchors[sha256] if sha256 in placed else None
        placed.discard(sha256 or "")
        rows.append(_Row(anchor, [_shown(column, cell, anchors) for column, cell in zip(table.columns, row, strict=True)]))
    return _Table(names("t", table.id), table, rows)
