"""The report as GitHub Markdown, for step summaries and merge requests.

Text from captures is shown as it is only when every character of it is harmless and no part of it means something to
GitHub (links, mentions, emoji); any other text becomes a code span, inside of which nothing means anything.
"""

from __future__ import annotations

import re
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

from pipeline.renderers.cells import EMPTY, VERDICTS, counts, evidence_text, mark, open_points, plain, reason, settled
from pipeline.renderers.escape import printable
from pipeline.report_model import Column, Evidence, ReportTable, Unknown

if TYPE_CHECKING:
    from pipeline.report_model import Cell, Chart, Report, Section, Verdict

LIMIT = 900_000
"""Bytes: GitHub drops a step summary above 1 MiB."""
_TEXT_LIMIT = 2_000
_SOURCE = Column("source", "Source", "source")
_RESERVED_PER_TABLE = 200

_HARMLESS = re.compile(r"[\w .,;:()/+%='\"°\u2013—…\u00d7±µ≤≥→-]*")
# What GitHub reads in plain text: www. links, addresses with a scheme, issues (GH-1), :emoji:, hashes of commits.
_MEANINGFUL = re.compile(r"www\.|://|\bGH-[0-9]|:[\w+-]+:|\b[0-9a-f]{7,40}\b", re.IGNORECASE)
# What would begin a list, a quotation or a rule at the start of a line; within a table cell it means nothing.
_LINE_START = re.compile(r"[^A-Za-z0-9(]|[0-9]+[.)](?:\s|\Z)")


class _Block(NamedTuple):
    """A table in lines: the head is always printed, rows as far as there is room."""

    table_id: str
    head: list[str]
    rows: list[str]

    def size(self) -> int:
        return sum(len(row.encode()) + 1 for row in self.rows)


def render(report: Report) -> str:
    """Return the report; tables that would not fit say how many rows they leave out, and where those are."""
    leading = [*([_open_table(report)] if report.verdicts else []), *([_facts(report)] if report.facts else [])]
    tables = [*leading, *(table for section in report.sections for table in section.tables)]
    blocks = list(map(_block, tables))
    opening = _opening(report)
    headings = [_heading(section) for section in report.sections]
    fixed = "\n".join([*opening, *headings, *(line for block in blocks for line in block.head)])
    room = LIMIT - len(fixed.encode()) - _RESERVED_PER_TABLE * (len(blocks) + 1)
    shown = [_lines(block, allowed) for block, allowed in zip(blocks, _shares(blocks, room), strict=True)]
    following = iter(shown)
    lines = [*opening, *(line for _ in leading for line in next(following))]
    for section, heading in zip(report.sections, headings, strict=True):
        lines += [heading, *(line for _ in section.tables for line in next(following))]
    return "\n".join(lines) + "\n"


def _opening(report: Report) -> list[str]:
    overall = VERDICTS[report.overall]
    lines = [
        f"# {_text(report.title)}",
        "",
        f"**{overall.symbol} {overall.label.upper()}** — {_text(report.headline)}",
    ]
    if report.verdicts:
        numbers = counts(report).items()
        lines += ["", " · ".join(f"{VERDICTS[name].symbol} {n} {name}" if n else f"0 {name}" for name, n in numbers)]
    return lines


def _heading(section: Section) -> str:
    intro = ["", _text(section.intro)] if section.intro.strip() else []
    charts = [line for chart in section.charts for line in _pointer(chart)]
    return "\n".join(["", f"## {_text(section.title)}", *intro, *charts])


def _pointer(chart: Chart) -> list[str]:
    where = f"section's charts, {_code(chart.id)}" if chart.table_id is None else f"table {_code(chart.table_id)}"
    source = () if chart.source is None else (f" ({_cell(_SOURCE, chart.source)})",)
    words = [f"**Chart:** {_text(chart.title)}", *source, f" — {_text(chart.description)}" if chart.description else ""]
    return ["", f"{''.join(words)} Drawn in acceptance.html; its figures: acceptance.json, {where}."]


def _open_table(report: Report) -> ReportTable:
    columns = (
        Column("verdict", "Verdict", "verdict"),
        Column("subject", "Subject"),
        Column("requirement", "Requirement"),
        Column("reason_code", "Reason", "code"),
        Column("evidence", "Evidence", "code"),
    )
    rows = tuple(
        (point.verdict, point.subject, point.requirement, point.reason_code, _evidences(point))
        for point in open_points(report)
    )
    return ReportTable("verdicts", "Not passed", columns, rows, empty="No requirement failed or stayed indeterminate.")


def _evidences(verdict: Verdict) -> str:
    return ", ".join(map(evidence_text, verdict.evidence)) or "none"


def _facts(report: Report) -> ReportTable:
    return ReportTable("facts", "Facts", (Column("name", "Fact"), Column("value", "Value")), report.facts)


def _shares(blocks: list[_Block], room: int) -> list[int]:
    """Share the room: small tables take what they need, large ones split the rest evenly."""
    allowed = [0] * len(blocks)
    order = sorted(range(len(blocks)), key=lambda at: blocks[at].size())
    for place, at in enumerate(order):
        allowed[at] = min(blocks[at].size(), max(room, 0) // (len(blocks) - place))
        room -= allowed[at]
    return allowed


def _lines(block: _Block, allowed: int) -> list[str]:
    shown = []
    for row in block.rows:
        allowed -= len(row.encode()) + 1
        if allowed < 0:
            break
        shown.append(row)
    left_out = len(block.rows) - len(shown)
    if left_out == 0:
        return [*block.head, *shown]
    total = len(block.rows)
    where = (
        f"**{left_out} of {total} rows are left out here;** all are in acceptance.json, table {_code(block.table_id)}."
    )
    return [*block.head, *shown, "", where]


def _block(table: ReportTable) -> _Block:
    head = ["", f"### {_text(table.title)}", ""]
    if table.note is not None:
        head += [_text(table.note), ""]
    if not table.rows:
        return _Block(table.id, [*head, _text(table.empty)], [])
    head += [
        _row([_label(column) for column in table.columns]),
        _row(["--:" if _is_number(c) else "---" for c in table.columns]),
    ]
    return _Block(
        table.id, head, [_row(list(starmap(_cell, zip(table.columns, row, strict=True)))) for row in table.rows]
    )


def _is_number(column: Column) -> bool:
    return column.kind == "number"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _label(column: Column) -> str:
    label = _text(column.label, in_table=True)
    return label if column.unit is None else f"{label} ({_text(column.unit, in_table=True)})"


def _cell(column: Column, cell: Cell) -> str:
    cell = settled(cell)
    if cell is None or isinstance(cell, Unknown):
        return f"*unknown:* {_code(reason(cell), in_table=True)}"
    sign = mark(column, cell)
    if sign is not None:
        return f"{sign.symbol} {_text(sign.label, in_table=True)}"
    if isinstance(cell, Evidence) or (column.kind == "code" and isinstance(cell, str) and cell.strip()):
        return _code(plain(cell), in_table=True)
    shown = plain(cell)
    return _text(shown, in_table=True) if isinstance(cell, str) else shown


def _text(text: str, *, in_table: bool = False) -> str:
    if not text.strip():
        return EMPTY
    clipped = text if in_table or len(text) <= _TEXT_LIMIT else text[:_TEXT_LIMIT]
    left_out = len(text) - len(clipped)
    more = f" … ({left_out} more characters in acceptance.json)" if left_out else ""
    if _is_harmless(clipped) and (in_table or not _LINE_START.match(clipped)):
        return clipped.replace("_", r"\_") + more
    return _code(clipped, in_table=in_table) + more


def _is_harmless(text: str) -> bool:
    return _HARMLESS.fullmatch(text) is not None and not _MEANINGFUL.search(text)


def _code(text: str, *, in_table: bool = False) -> str:
    shown = printable(text)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    if shown.startswith(("`", " ")) or shown.endswith(("`", " ")):
        shown = f" {shown} "
    # A table is cut into cells before anything else is read: there, and only there, a bar needs its backslash in code.
    return f"{fence}{shown.replace('|', chr(92) + '|') if in_table else shown}{fence}"
