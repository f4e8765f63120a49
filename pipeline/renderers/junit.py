"""The verdicts as JUnit XML, for CI: one test case per verdict.

JUnit knows no third outcome, so an indeterminate verdict is a skipped case with its reason: never counted as passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from pipeline.renderers.cells import counts, evidence_text
from pipeline.renderers.escape import printable

if TYPE_CHECKING:
    from pipeline.report_model import Report, Verdict


def render(report: Report) -> str:
    """Return one test suite; no times and no host, so that the same report gives the same bytes."""
    number = counts(report)
    totals = {
        "tests": str(len(report.verdicts)),
        "failures": str(number["fail"]),
        "errors": "0",
        "skipped": str(number["indeterminate"]),
    }
    suites = ET.Element("testsuites", totals)
    suite = ET.SubElement(suites, "testsuite", {"name": printable(report.title), **totals})
    for verdict in report.verdicts:
        _add_case(suite, verdict)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _add_case(suite: ET.Element, verdict: Verdict) -> None:
    name = {"classname": printable(verdict.requirement), "name": printable(verdict.subject)}
    case = ET.SubElement(suite, "testcase", name)
    if verdict.verdict == "pass":
        return
    if verdict.verdict == "fail":
        outcome = ET.SubElement(case, "failure", {"message": printable(verdict.reason_code)})
    else:
        outcome = ET.SubElement(case, "skipped", {"message": printable(f"indeterminate: {verdict.reason_code}")})
    outcome.text = _body(verdict)


def _body(verdict: Verdict) -> str | None:
    lines = [] if verdict.detail is None else [printable(verdict.detail)]
    lines += [f"evidence {printable(evidence_text(evidence))}" for evidence in verdict.evidence]
    return "\n".join(lines) or None
