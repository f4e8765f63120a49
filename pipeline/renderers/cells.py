"""What a cell says, before any format dresses it: numbers by fixed rules, unknowns with their reason, marks."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from pipeline.report_model import Evidence, Unknown

if TYPE_CHECKING:
    from pipeline.report_model import Cell, Column, Report, Verdict

EMPTY = "(empty)"
NO_REASON = "reason not recorded"
HASH_SHOWN = 12
_ORDINARY = (1e-6, 1e21)


class Mark(NamedTuple):
    """A word with a shape: `symbol` is what tells it apart where colour does not reach."""

    symbol: str
    label: str
    style: str


VERDICTS = {
    "pass": Mark("✓", "pass", "pass"),
    "fail": Mark("✗", "fail", "fail"),
    "indeterminate": Mark("?", "indeterminate", "indeterminate"),
}
_SEVERITIES = {
    "error": Mark("▲", "error", "fail"),
    "warning": Mark("△", "warning", "warning"),
    "note": Mark("○", "note", "plain"),
}
_SOURCES = {
    "host_observation": Mark("●", "host_observation", "plain"),
    "admin_inventory": Mark("◆", "admin_inventory", "plain"),
    "operator_assertion": Mark("◇", "operator_assertion", "plain"),
    "published_claim": Mark("CLAIM", "published_claim", "weak"),
    "mock": Mark("MOCK", "mock", "weak"),
    "simulated": Mark("SIMULATED", "simulated", "weak"),
}
_FLAGS = {"is_simulated": Mark("◌", "SIMULATED", "weak"), "rests_on_claim": Mark("◌", "CLAIM", "weak")}
_MARKS = {"verdict": VERDICTS, "severity": _SEVERITIES, "source": _SOURCES, "flag": _SOURCES}


def settled(cell: Cell) -> Cell:
    """Return the cell, or why it is unknown when it is a float that is no number."""
    if isinstance(cell, float) and not math.isfinite(cell):
        return Unknown("not_finite")
    return cell


def mark(column: Column, cell: Cell) -> Mark | None:
    """Return the mark of a verdict, severity, source or flag; None for every other cell and for unheard-of words."""
    if cell is True and column.kind == "flag":
        return _FLAGS.get(column.name)
    if column.kind == "source" and isinstance(cell, str) and ", " in cell:
        return _weakest(cell)
    return _MARKS.get(column.kind, {}).get(cell) if isinstance(cell, str) else None


def _weakest(sources: str) -> Mark | None:
    """Return the mark of several sources: a statement is as weak as the weakest that it stands on."""
    weak = [_SOURCES[name] for name in ("mock", "published_claim") if name in sources.split(", ")]
    return Mark(weak[0].symbol, sources, "weak") if weak else None


def plain(cell: Cell) -> str:
    """Return a cell as text; never empty, and an unknown value never looks like a value."""
    cell = settled(cell)
    if cell is None or isinstance(cell, Unknown):
        return f"unknown ({reason(cell)})"
    if isinstance(cell, Evidence):
        return evidence_text(cell)
    if isinstance(cell, str):
        return cell if cell.strip() else EMPTY
    return number_text(cell)


def reason(cell: Unknown | None) -> str:
    """Return why a cell is unknown."""
    return cell.reason if cell is not None and cell.reason.strip() else NO_REASON


def evidence_text(evidence: Evidence) -> str:
    """Return the short form of an evidence: the hash's first 12 digits, and the line where there is one."""
    short = evidence.capture_sha256[:HASH_SHOWN]
    return short if evidence.line is None else f"{short}:{evidence.line}"


def number_text(value: float) -> str:
    """Return a number as data: no grouping, shortest digits, an exponent only where zeros would pile up."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if value == 0:
        return "0.0"
    low, high = _ORDINARY
    return format(Decimal(repr(value)), "f") if low <= abs(value) < high else repr(value)


def counts(report: Report) -> dict[str, int]:
    """Return how many verdicts there are of each kind, in the order that reports name them."""
    return {name: sum(verdict.verdict == name for verdict in report.verdicts) for name in VERDICTS}


def open_points(report: Report) -> list[Verdict]:
    """Return the verdicts that are no pass, failures first; within a kind the report's order is kept."""
    return [verdict for kind in ("fail", "indeterminate") for verdict in report.verdicts if verdict.verdict == kind]
