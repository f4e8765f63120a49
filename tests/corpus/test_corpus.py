"""Every capture of the corpus gives its expected rows, and every kind has a capture here.

Beside `<kind>/<name>.<suffix>` stands `<name>.expected.json`: the rows of each table, and the remarks as `issues`
([severity, code, line], none when it is left out). A row names the columns that matter; the others must be NULL, but
for those that follow from them. `<name>.facts.json` is what the sidecar would say.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.parsed import CaptureFacts, Parsed, split_lines, to_utf8
from pipeline.parsers import KINDS
from pipeline.validate import broken_rules
from schemas import TABLES, arrow_schema

CORPUS = Path(__file__).parent
ADDED = (".expected.json", ".facts.json")
# A capture may have two forms (text and XML) under one name: then the text has the expected rows.
CAPTURES = sorted(
    path
    for kind in KINDS
    for path in (CORPUS / kind).glob("*")
    if not path.name.endswith(ADDED) and not (path.suffix == ".xml" and path.with_suffix(".txt").exists())
)
DERIVED = {"absent", "decision_sha256", "policy_sha256", "layout_sha256", "segment", "sweep"}
"""Columns that need not be named although they are not NULL."""


def name_of(path: Path) -> str:
    return path.relative_to(CORPUS).as_posix()


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.stem + suffix)


def parse(path: Path) -> Parsed:
    facts = beside(path, ".facts.json")
    known = json.loads(facts.read_text("utf-8")) if facts.exists() else {}
    return KINDS[path.parent.name].parse(path.read_bytes(), CaptureFacts(**known))


def as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return value.isoformat() if isinstance(value, date) else value


def without_unasked(absent: str | None, expected: dict[str, Any]) -> str | None:
    """Leave out the columns that the row does not name: that they were not recorded is not worth spelling out."""
    pairs = (absent or "").split()
    return (
        " ".join(pair for pair in pairs if pair.split("=")[0] in expected or not pair.endswith("=not_recorded")) or None
    )


@pytest.mark.parametrize("kind", KINDS)
def test_kind_has_a_capture(kind: str) -> None:
    assert any(path.parent.name == kind for path in CAPTURES)


def test_nothing_in_the_corpus_is_left_over() -> None:
    assert {path.name for path in CORPUS.iterdir() if path.is_dir() and path.name != "__pycache__"} == set(KINDS)
    for path in CORPUS.glob("*/*"):
        if path.name.endswith(ADDED):
            stem = path.name.removesuffix(".expected.json").removesuffix(".facts.json")
            assert [other for other in path.parent.glob(f"{stem}.*") if not other.name.endswith(ADDED)], path
        elif path in CAPTURES:
            assert beside(path, ".expected.json").exists(), path


@pytest.mark.parametrize("path", CAPTURES, ids=name_of)
def test_capture_gives_its_expected_rows(path: Path) -> None:
    parsed = parse(path)
    expected = json.loads(beside(path, ".expected.json").read_text("utf-8"))
    issues = expected.pop("issues", None)
    found = {name: table.to_pylist() for name, table in parsed.tables.items()}
    assert {name: len(rows) for name, rows in found.items()} == {name: len(expected.get(name, [])) for name in found}
    for name, wanted in expected.items():
        for row, asked in zip(found[name], wanted, strict=True):
            for column, value in row.items():
                if column == "absent" and column in asked:
                    assert without_unasked(value, asked) == asked[column]
                elif column in asked or column not in DERIVED:
                    assert as_json(value) == asked.get(column), column
    if issues is not None:
        assert [[issue.severity, issue.code, issue.line] for issue in parsed.issues] == issues
    assert not [issue for issue in parsed.issues if issue.severity == "error"]


@pytest.mark.parametrize("path", CAPTURES, ids=name_of)
def test_capture_is_accounted_for_and_keeps_the_rules_of_its_tables(path: Path) -> None:
    parsed = parse(path)
    assert parsed.ledger.is_whole
    if parsed.ledger.counted == "lines":
        assert parsed.ledger.total == len(split_lines(to_utf8(path.read_bytes())))
    assert set(parsed.tables) <= set(KINDS[path.parent.name].tables)
    for name, table in parsed.tables.items():
        key = pa.array(["ab" * 32] * len(table), pa.dictionary(pa.int32(), pa.string()))
        schema = arrow_schema(TABLES[name])
        arrays = [
            key if field.name.startswith("capture_") and field.name != "capture_line" else table[field.name]
            for field in schema
        ]
        assert broken_rules(name, pa.table(arrays, schema=schema)) == {}


@pytest.mark.parametrize("path", CAPTURES, ids=name_of)
def test_capture_is_recognised_as_its_kind_and_no_other(path: Path) -> None:
    head = to_utf8(path.read_bytes())[:65536]
    recognised = [name for name, kind in KINDS.items() if kind.detect(head)]
    assert recognised == [path.parent.name]
