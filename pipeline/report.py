"""The acceptance report: questions to the marts, answers as a Report. Nothing is decided here.

The same captures give the same bytes: every query is ordered, and a report cites capture hashes and lines, never
segment hashes, library versions, the clock, or paths above the ones given.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pipeline import report_constraints as constraints
from pipeline import report_sections as sections
from pipeline.report_model import Cell, Evidence, Report, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.database import Database

_QUERIES = Path(__file__).parent / "sql" / "report"


def build(database: Database) -> Report:
    """Ask the marts and put the report together."""

    def ask(name: str) -> list[sections.Row]:
        return list(database.rows((_QUERIES / f"{name}.sql").read_text("utf-8")).to_pylist())

    captures = ask("captures")
    gpus = ask("gpus")
    verdicts = tuple(_verdict(row) for row in ask("verdicts"))
    parts = (
        sections.captures(captures),
        sections.devices(gpus, ask("facts")),
        sections.mig(ask("layouts"), ask("mig_devices")),
        sections.readings(ask("readings")),
        constraints.contracts(ask("profiles"), ask("bounds"), ask("contradictions"), ask("coverage")),
        constraints.scenarios(ask("constraints"), ask("admissions")),
        sections.remarks(ask("remarks")),
        sections.verdicts(verdicts),
    )
    overall = fold(verdict.verdict for verdict in verdicts)
    return Report(
        title="GPU evidence: acceptance report",
        overall=overall,
        headline=_headline(overall, verdicts),
        facts=_facts(captures, gpus),
        sections=parts,
        verdicts=verdicts,
    )


def fold(verdicts: Iterable[str]) -> Literal["pass", "fail", "indeterminate"]:
    """Any fail fails; else any indeterminate, or nothing at all, is indeterminate; else pass."""
    found = set(verdicts)
    if "fail" in found:
        return "fail"
    return "pass" if found == {"pass"} else "indeterminate"


def _headline(overall: str, verdicts: tuple[Verdict, ...]) -> str:
    if not verdicts:
        return "There is no evidence: nothing can be said."
    counts = {name: sum(verdict.verdict == name for verdict in verdicts) for name in ("pass", "fail", "indeterminate")}
    passed = f"{counts['pass']} of {len(verdicts)} requirements pass"
    said = f"{passed}, {counts['fail']} fail, {counts['indeterminate']} are indeterminate."
    return said if overall != "indeterminate" else f"{said} Indeterminate is not a pass."


def _facts(captures: list[sections.Row], gpus: list[sections.Row]) -> tuple[tuple[str, Cell], ...]:
    def count(key: str, value: Any) -> int:
        return sum(row[key] == value for row in captures)

    return (
        ("Captures", len(captures)),
        ("Accepted whole", count("status", "accepted")),
        ("Accepted with refused lines", count("status", "accepted_with_rejects")),
        ("Quarantined", count("status", "quarantined")),
        ("Simulated", count("is_simulated", value=True)),
        ("Not said whether simulated", count("is_simulated", None)),
        ("Source not said", count("source", None)),
        ("Claimed hash not verified", count("claim_status", "claim_unverified")),
        ("GPUs", len(gpus)),
    )


def _verdict(row: sections.Row) -> Verdict:
    found = sections.evidence(row)
    evidence = (found,) if isinstance(found, Evidence) else ()
    return Verdict(row["subject"], row["requirement"], row["verdict"], row["reason_code"], evidence, row["detail"])
