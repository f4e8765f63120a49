"""The report as JSON: the truth that the other formats print, every cell of it.

A known cell is itself: text, number or boolean. An unknown cell is ``{"unknown": reason}``, with null where no reason
was recorded, so that no reader can take it for a value. An evidence is ``{"capture_sha256": ..., "line": ...}``, line
null for the whole capture. A float that is no number is ``{"unknown": "not_finite"}``: NaN is not JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipeline.renderers.cells import settled
from pipeline.report_model import FORMAT, Evidence, Unknown

if TYPE_CHECKING:
    from pipeline.report_model import Cell, Chart, Point, Report, ReportTable, Section, Verdict


def render(report: Report) -> str:
    """Return the report as ASCII JSON; keys and rows in the report's own order."""
    document = {
        "format": FORMAT,
        "title": report.title,
        "overall": report.overall,
        "headline": report.headline,
        "facts": [{"name": name, "value": _cell(value)} for name, value in report.facts],
        "sections": [_section(section) for section in report.sections],
        "verdicts": [_verdict(verdict) for verdict in report.verdicts],
    }
    return json.dumps(document, ensure_ascii=True, allow_nan=False, indent=1) + "\n"


def _cell(cell: Cell) -> Any:
    cell = settled(cell)
    if cell is None or isinstance(cell, Unknown):
        return {"unknown": None if cell is None else cell.reason}
    if isinstance(cell, Evidence):
        return {"capture_sha256": cell.capture_sha256, "line": cell.line}
    return cell


def _section(section: Section) -> dict[str, Any]:
    return {
        "id": section.id,
        "title": section.title,
        "intro": section.intro,
        "tables": [_table(table) for table in section.tables],
        **({"charts": [_chart(chart) for chart in section.charts]} if section.charts else {}),
    }


def _chart(chart: Chart) -> dict[str, Any]:
    return {
        "id": chart.id,
        "form": chart.form,
        "title": chart.title,
        "description": chart.description,
        "source": chart.source,
        "table_id": chart.table_id,
        "panels": [
            {"label": panel.label, "unit": panel.unit, "points": [_point(point) for point in panel.points]}
            for panel in chart.panels
        ],
    }


def _point(point: Point) -> dict[str, Any]:
    reason = None if point.reason is None else Unknown(point.reason)
    return {
        "name": point.name,
        "requested": _cell(point.requested),
        "achieved": _cell(reason if point.achieved is None else point.achieved),
        "is_limited": point.is_limited,
        "state": point.state,
    }


def _table(table: ReportTable) -> dict[str, Any]:
    return {
        "id": table.id,
        "title": table.title,
        "note": table.note,
        "empty": table.empty,
        "columns": [
            {"name": column.name, "label": column.label, "kind": column.kind, "unit": column.unit}
            for column in table.columns
        ],
        "rows": [[_cell(cell) for cell in row] for row in table.rows],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "subject": verdict.subject,
        "requirement": verdict.requirement,
        "verdict": verdict.verdict,
        "reason_code": verdict.reason_code,
        "detail": verdict.detail,
        "evidence": [_cell(evidence) for evidence in verdict.evidence],
    }
