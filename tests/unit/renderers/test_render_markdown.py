"""Markdown: the whole text of a small report; hostile text stays in its cell; long tables say what they leave out."""

from __future__ import annotations

import re

import pytest
from sample_report import FIRST, HOSTILE, SECOND, every_field, small

from pipeline.renderers import markdown
from pipeline.report_model import Column, Report, ReportTable, Section

EXPECTED = f"""\
# Acceptance of node-17

**✗ FAIL** — 1 of 3 failed.

✓ 1 pass · ✗ 1 fail · ? 1 indeterminate

### Not passed

| Verdict | Subject | Requirement | Reason | Evidence |
| --- | --- | --- | --- | --- |
| ✗ fail | GPU-2 | power | `above_limit` | `0123456789ab` |
| ? indeterminate | `a\\|b` | sharing | `sharing_unknown` | `abababababab:7` |

### Facts

| Fact | Value |
| --- | --- |
| Captures | 2 |
| Newest | *unknown:* `reason not recorded` |

## Acceptance

What was asked.

### Requirements

| Verdict | Subject | Limit (MHz) | Source | Simulated | Evidence |
| --- | --- | --: | --- | --- | --- |
| ✓ pass | GPU-1 | 1980 | ● host\\_observation | no | `abababababab:2` |
| ✗ fail | GPU-2 | 700.5 | MOCK mock | ◌ SIMULATED | `0123456789ab` |
| ? indeterminate | `a\\|b` | *unknown:* `not_supported` | CLAIM published\\_claim | \
*unknown:* `reason not recorded` | `abababababab:7` |

## Captures

### Captures

| SHA-256 | Kind |
| --- | --- |
| `{FIRST}` | smi\\_csv |
| `{SECOND}` | smi\\_query |

### Quarantined

No capture was quarantined.
"""

CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def _kinds(text: str) -> list[str]:
    """Return what every line is: its kind and, in a table, its number of cells."""
    found = []
    for line in text.split("\n"):
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        found.append(f"row {cells}" if cells else line[:2] if line.startswith("#") else "text" if line else "")
    return found


def test_small_report() -> None:
    assert markdown.render(small()) == EXPECTED


@pytest.mark.parametrize("text", HOSTILE)
def test_text_breaks_no_line_and_no_table(text: str) -> None:
    assert _kinds(markdown.render(every_field(text))) == _kinds(markdown.render(every_field("benign")))


@pytest.mark.parametrize("text", HOSTILE)
def test_text_outside_of_code_means_nothing(text: str) -> None:
    outside = CODE.sub("", markdown.render(every_field(text)))
    # Our own marks: headings, bold, italic, escaped underscores, table bars, the symbol of an unknown.
    outside = re.sub(r"(?m)^#{1,3} |^\*\*|\*\* — |\*unknown:\*|\\_", "", outside)
    assert not re.search(r"[`*<>\[\]&@$~\\#]|://|www\.|GH-[0-9]|:[\w+-]+:", outside)


def test_every_cell_says_something() -> None:
    text = markdown.render(every_field(""))
    assert "(empty)" in text
    assert not re.search(r"\| *\|", text)


def _table(name: str, rows: int) -> ReportTable:
    return ReportTable(
        name, name, (Column("a", "A"), Column("n", "N", "number")), tuple(("x" * 90, n) for n in range(rows))
    )


def test_long_tables_say_how_many_rows_they_leave_out_and_where_those_are() -> None:
    tables = (_table("long", 30_000), _table("short", 50), _table("longer", 60_000))
    text = markdown.render(Report("R", "pass", "H", (), (Section("s", "S", "I", tables),)))
    assert 890_000 < len(text.encode()) < markdown.LIMIT
    left_out = re.findall(
        r"\*\*(\d+) of (\d+) rows are left out here;\*\* all are in acceptance.json, table (`\w+`)\.", text
    )
    assert [(total, table) for _, total, table in left_out] == [("30000", "`long`"), ("60000", "`longer`")]
    assert text.count("x" * 90) + sum(int(number) for number, _, _ in left_out) == 90_050
    assert text.count("### short") == 1


def test_long_text_is_cut_and_says_so() -> None:
    text = markdown.render(Report("R", "pass", "words " * 1_000, (), ()))
    assert "(4000 more characters in acceptance.json)" in text
