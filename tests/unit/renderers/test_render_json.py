"""JSON: the report can be built again from it, cell by cell."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sample_report import HOSTILE, every_field, only_indeterminate, small

from pipeline.renderers import json_report
from pipeline.report_model import FORMAT, Cell, Column, Evidence, Report, ReportTable, Section, Unknown, Verdict


def _cell(value: Any) -> Cell:
    if isinstance(value, dict) and "unknown" in value:
        return None if value["unknown"] is None else Unknown(value["unknown"])
    if isinstance(value, dict):
        return Evidence(**value)
    cell: Cell = value
    return cell


def _table(found: dict[str, Any]) -> ReportTable:
    columns = tuple(Column(**column) for column in found.pop("columns"))
    rows = tuple(tuple(map(_cell, row)) for row in found.pop("rows"))
    return ReportTable(columns=columns, rows=rows, **found)


def _report(text: str) -> Report:
    found = json.loads(text)
    assert found.pop("format") == FORMAT
    facts = tuple((fact["name"], _cell(fact["value"])) for fact in found.pop("facts"))
    sections = tuple(
        Section(tables=tuple(map(_table, section.pop("tables"))), **section) for section in found.pop("sections")
    )
    verdicts = tuple(
        Verdict(evidence=tuple(Evidence(**each) for each in verdict.pop("evidence")), **verdict)
        for verdict in found.pop("verdicts")
    )
    return Report(facts=facts, sections=sections, verdicts=verdicts, **found)


@pytest.mark.parametrize("report", [small(), only_indeterminate(), *map(every_field, HOSTILE)])
def test_round_trip(report: Report) -> None:
    text = json_report.render(report)
    assert text.isascii()
    assert _report(text) == report


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_unknown(value: float) -> None:
    text = json_report.render(Report("R", "pass", "H", (("value", value),), ()))
    assert _report(text).facts == (("value", Unknown("not_finite")),)
