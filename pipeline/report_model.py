"""The shape of a report: sections of tables of cells. JSON is this, written down; the other formats print it.

A cell is a text, a number, a boolean, None (not known), an `Unknown` (not known, and why) or an `Evidence` (the
capture and line that a statement stands on).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

FORMAT = "gpu-evidence/acceptance/1"


@dataclass(frozen=True)
class Evidence:
    """Where a statement can be checked: content hash and line (None: the whole capture)."""

    capture_sha256: str
    line: int | None = None


@dataclass(frozen=True)
class Unknown:
    """A value that is not known, with the reason code."""

    reason: str


Cell = str | int | float | bool | None | Unknown | Evidence


@dataclass(frozen=True)
class Column:
    """A column of a report table: its machine name, what people read, its unit and how it is shown."""

    name: str
    label: str
    kind: Literal["text", "number", "code", "flag", "verdict", "severity", "source", "evidence", "words"] = "text"
    unit: str | None = None


@dataclass(frozen=True)
class ReportTable:
    """A titled table; `empty` is the sentence shown when it has no rows."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str = "None."
    note: str | None = None


@dataclass(frozen=True)
class Point:
    """What was asked for and what came of it; `achieved` None is not known (`reason`): neither zero nor the request."""

    name: str
    requested: float | None
    achieved: float | None
    is_limited: bool = False
    state: str | None = None
    reason: str | None = None


class Panel(NamedTuple):
    """One quantity of a chart, a point for each subject in the same order in every panel."""

    label: str
    unit: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Chart:
    """What is drawn, in data terms: JSON prints it, HTML draws it; `form` tells a reader what its panels hold.

    `table_id` names the table of the section that shows the same figures; without one the page shows them, folded.
    `source` marks a chart of simulated or claimed figures, as in a column of that kind.
    """

    id: str
    title: str
    description: str
    panels: tuple[Panel, ...]
    form: Literal["requested_achieved"] = "requested_achieved"
    table_id: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Section:
    """A titled part of the report."""

    id: str
    title: str
    intro: str
    tables: tuple[ReportTable, ...]
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """One row of the acceptance view, for junit and for exit codes."""

    subject: str
    requirement: str
    verdict: Literal["pass", "fail", "indeterminate"]
    reason_code: str
    evidence: tuple[Evidence, ...] = ()
    detail: str | None = None


@dataclass(frozen=True)
class Report:
    """The whole acceptance report."""

    title: str
    overall: Literal["pass", "fail", "indeterminate"]
    headline: str
    facts: tuple[tuple[str, Cell], ...]
    sections: tuple[Section, ...]
    verdicts: tuple[Verdict, ...] = field(default_factory=tuple)
