"""The report as one HTML file: no script, nothing loaded, readable without its style, on paper and in the dark.

All text goes through Jinja2's escaping, and before that through `printable`, at one place: the environment's finalize.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pipeline.renderers.cells import (
    HASH_SHOWN,
    VERDICTS,
    Mark,
    counts,
    evidence_text,
    mark,
    open_points,
    plain,
    reason,
    settled,
)
from pipeline.renderers.escape import printable
from pipeline.report_model import FORMAT, Column, Evidence, ReportTable, Unknown

if TYPE_CHECKING:
    from jinja2 import Template

    from pipeline.renderers.charts import Sign
    from pipeline.report_model import Cell, Chart, Report, Section, Verdict

_HASH = re.compile(r"[0-9a-f]{64}")
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]+")
_FACT = Column("value", "Value")
_SOURCE = Column("source", "Source", "source")


@dataclass(frozen=True)
class _Shown:
    """A cell as the template prints it."""

    form: str
    text: str
    sign: Mark | None = None
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


@dataclass(frozen=True)
class _Drawn:
    """A chart as the template prints it: with `target`, the table that is there anyway, or with `figures`, folded."""

    chart: Chart
    source: _Shown | None
    drawings: list[str]
    figures: _Table | None
    target: str | None


class _Page:
    """What is unique within one page: anchors of captures, ids of sections and tables."""

    def __init__(self, report: Report) -> None:
        self._anchors: dict[str, str] = {}
        self._ids: dict[str, int] = {}
        for table in (table for section in report.sections for table in section.tables):
            for sha256 in filter(None, (_listed_capture(table, row) for row in table.rows)):
                if sha256 not in self._anchors:
                    self._anchors[sha256] = self.unique(f"c-{sha256[:HASH_SHOWN]}")
        self._not_placed = set(self._anchors)

    def unique(self, wanted: str) -> str:
        """Return an id that no other element has, `wanted` if it is free."""
        stem = _NOT_IN_IDS.sub("-", wanted)
        found = stem
        while found in self._ids:
            self._ids[stem] += 1
            found = f"{stem}-{self._ids[stem]}"
        self._ids[found] = 1
        return found

    def table(self, table: ReportTable) -> _Table:
        rows = []
        for row in table.rows:
            sha256 = _listed_capture(table, row)
            anchor = self._anchors[sha256] if sha256 is not None and sha256 in self._not_placed else None
            if sha256 is not None:
                self._not_placed.discard(sha256)
            cells = [self.shown(column, cell) for column, cell in zip(table.columns, row, strict=True)]
            rows.append(_Row(anchor, cells))
        return _Table(self.unique(f"t-{table.id}"), table, rows)

    def shown(self, column: Column, cell: Cell) -> _Shown:
        cell = settled(cell)
        if cell is None or isinstance(cell, Unknown):
            return _Shown("unknown", reason(cell))
        if isinstance(cell, Evidence):
            target = self._anchors.get(cell.capture_sha256)
            return _Shown("evidence", evidence_text(cell), title=cell.capture_sha256, target=target)
        sign = mark(column, cell)
        if sign is not None:
            return _Shown("mark", sign.label, sign=sign)
        return _Shown("code" if column.kind == "code" else "text", plain(cell))

    def open_point(self, verdict: Verdict) -> tuple[Verdict, Mark, list[_Shown]]:
        evidence = [self.shown(_FACT, found) for found in verdict.evidence]
        return verdict, VERDICTS[verdict.verdict], evidence


def render(report: Report) -> str:
    """Return the whole page."""
    page = _Page(report)
    style = _read("acceptance.css")
    text = _template().render(
        format=FORMAT,
        report=report,
        overall=VERDICTS[report.overall],
        counts=[(VERDICTS[name], count) for name, count in counts(report).items()],
        facts=[(name, page.shown(_FACT, value)) for name, value in report.facts],
        open_points=[page.open_point(verdict) for verdict in open_points(report)],
        sections=[_section(page, section) for section in report.sections],
        signs=_signs(report),
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )
    return f"{text}\n"


def _section(page: _Page, section: Section) -> tuple[str, Section, list[_Table], list[_Drawn]]:
    name = page.unique(f"s-{section.id}")
    tables = [page.table(table) for table in section.tables]
    return name, section, tables, [_drawn(page, chart, tables) for chart in section.charts]


def _drawn(page: _Page, chart: Chart, tables: list[_Table]) -> _Drawn:
    from pipeline.renderers.charts import drawings

    found = drawings(replace(chart, id=page.unique(f"g-{chart.id}")))
    source = None if chart.source is None else page.shown(_SOURCE, chart.source)
    target = next((entry.id for entry in tables if entry.table.id == chart.table_id), None)
    figures = page.table(_figures(chart)) if target is None else None
    return _Drawn(chart, source, found, figures, target)


def _signs(report: Report) -> tuple[Sign, ...]:
    if not any(section.charts for section in report.sections):
        return ()
    from pipeline.renderers.charts import SIGNS

    return SIGNS


def _figures(chart: Chart) -> ReportTable:
    """Return what a chart shows as a table: a row for each point, panel after panel."""
    columns = (
        Column("panel", "Quantity"),
        Column("name", "Name", "code"),
        Column("requested", "Requested", "number"),
        Column("achieved", "Achieved", "number"),
        Column("unit", "Unit"),
        Column("is_limited", "Limited"),
        Column("state", "State"),
    )
    rows = tuple(
        (
            panel.label,
            point.name,
            point.requested,
            Unknown(point.reason or "") if point.achieved is None else point.achieved,
            panel.unit,
            point.is_limited,
            "" if point.state is None else point.state,
        )
        for panel in chart.panels
        for point in panel.points
    )
    return ReportTable(f"{chart.id}-figures", f"Figures of the chart: {chart.title}", columns, rows)


def _listed_capture(table: ReportTable, row: tuple[Cell, ...]) -> str | None:
    """Return the capture that a row lists: a whole hash in a column of that name."""
    for column, cell in zip(table.columns, row, strict=True):
        is_listing = column.name == "capture_sha256" and column.kind == "code"
        if is_listing and isinstance(cell, str) and _HASH.fullmatch(cell):
            return cell
    return None


def _finalize(value: Any) -> Any:
    # Markup, a kind of str, is what the template itself writes: it must not be looked at again.
    return printable(value) if type(value) is str else value


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_finalize
    )
    return environment.from_string(_read("acceptance.html.j2"))
