"""Reports to render: a small benign one, and one with the same text in every field that can hold text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.report_model import Column, Evidence, Report, ReportTable, Section, Unknown, Verdict

if TYPE_CHECKING:
    from typing import Literal

FIRST = "ab" * 32
SECOND = "0123456789ab" + "c" * 52

HOSTILE = [
    "<b>bold</b>",
    "<script>alert(1)</script>",
    "</script></style></title><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    "&lt;b&gt; &amp; &#60;",
    "{{ 7 * 7 }} {% raw %} {# #}",
    "javascript:alert(1)",
    "[link](https://example.org) ![image](x)",
    "https://example.org www.example.org a@example.org @someone GH-1 #1",
    "a | b || c \\| d",
    "`code` ``two`` ```fence```",
    "`",
    "*bold* _italic_ ~~gone~~ <!-- comment -->",
    "$x$ :white_check_mark:",
    "# heading",
    "- item",
    "1. item",
    "| a | b |",
    "---",
    "two\nlines",
    "two\r\nlines",
    "tab\there",
    "\x00nul",
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;https://example.org\x07link\x1b]8;;\x07",
    "\x9b31m",
    "evil\u202egnp.exe",
    "iso\u2066late\u2069",
    "zero\u200bwidth\u200d\ufeff",
    "line\u2028para\u2029",
    "surrogate \ud800 end",
    "non\ufdd0\uffff\U0010ffffcharacter",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    '"; drop table captures; --',
    "]]><![CDATA[<failure/>",
    "",
    "   ",
]


def every_field(text: str) -> Report:
    """Return a report that holds `text` in every field for text, and the same structure for every `text`."""
    columns = (
        Column(text, text, "text", text),
        Column("a", text, "code"),
        Column("b", text, "verdict"),
        Column("c", text, "severity"),
        Column("d", text, "source"),
        Column("e", text, "flag"),
        Column("f", text, "number"),
        Column("g", text, "evidence"),
    )
    row = (text, text, f"z{text}", f"z{text}", f"z{text}", f"z{text}", Unknown(text), Evidence(f"z{text}", 1))
    tables = (
        ReportTable(text, text, columns, (row, row), note=f"n{text}"),
        ReportTable(text, text, columns, (), empty=text),
    )
    verdicts = tuple(Verdict(text, text, kind, text, (Evidence(f"z{text}", 2),), text) for kind in _KINDS)
    facts = ((text, text), (text, Unknown(text)))
    return Report(text, "fail", text, facts, (Section(text, text, f"i{text}", tables),), verdicts)


_KINDS: tuple[Literal["pass", "fail", "indeterminate"], ...] = ("pass", "fail", "indeterminate")


def small() -> Report:
    """Return a report with one table of every kind of cell."""
    columns = (
        Column("verdict", "Verdict", "verdict"),
        Column("subject", "Subject"),
        Column("limit", "Limit", "number", "MHz"),
        Column("source", "Source", "source"),
        Column("is_simulated", "Simulated", "flag"),
        Column("evidence", "Evidence", "evidence"),
    )
    rows = (
        ("pass", "GPU-1", 1980, "host_observation", False, Evidence(FIRST, 2)),
        ("fail", "GPU-2", 700.5, "mock", True, Evidence(SECOND)),
        ("indeterminate", "a|b", Unknown("not_supported"), "published_claim", None, Evidence(FIRST, 7)),
    )
    listing = (Column("capture_sha256", "SHA-256", "code"), Column("kind", "Kind"))
    sections = (
        Section("acceptance", "Acceptance", "What was asked.", (ReportTable("req", "Requirements", columns, rows),)),
        Section(
            "captures",
            "Captures",
            "",
            (
                ReportTable("caps", "Captures", listing, ((FIRST, "smi_csv"), (SECOND, "smi_query"))),
                ReportTable("none", "Quarantined", listing, (), empty="No capture was quarantined."),
            ),
        ),
    )
    verdicts = (
        Verdict("GPU-1", "clock", "pass", "within_bounds", (Evidence(FIRST, 2),)),
        Verdict("a|b", "sharing", "indeterminate", "sharing_unknown", (Evidence(FIRST, 7),)),
        Verdict("GPU-2", "power", "fail", "above_limit", (Evidence(SECOND),), "710 W of 700 W"),
    )
    facts = (("Captures", 2), ("Newest", None))
    return Report("Acceptance of node-17", "fail", "1 of 3 failed.", facts, sections, verdicts)


def only_indeterminate() -> Report:
    """Return a report in which nothing passed: no format may show a sign of a pass."""
    table = ReportTable("t", "T", (Column("verdict", "Verdict", "verdict"),), (("indeterminate",),))
    verdict = Verdict("GPU-1", "sharing", "indeterminate", "sharing_unknown")
    return Report("Acceptance", "indeterminate", "Unknown.", (), (Section("s", "S", "", (table,)),), (verdict,))
