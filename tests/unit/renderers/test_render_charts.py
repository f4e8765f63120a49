"""Charts: the same bytes for the same data, well-formed whatever the names, unknown visibly unknown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from pipeline.renderers import html, json_report
from pipeline.renderers.charts import svg
from pipeline.report_model import Chart, Panel, Point, Report, Section

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def read(text: str) -> Element:
    return ET.fromstring(text)  # noqa: S314 - our own drawing


def chart(*points: Point) -> Chart:
    return Chart(
        "c", "Clocks", "What it shows", (Panel("SM clock", "MHz", points), Panel("Memory clock", "MHz", points))
    )


ORDINARY = chart(Point("a", 1980, 1410, is_limited=True), Point("b", 1980, 1980), Point("c", 1980, None))


def report(*charts: Chart) -> Report:
    section = Section("s", "Section", "", (), charts)
    return Report("t", "pass", "h", (), (section,))


def test_same_data_same_bytes() -> None:
    assert svg(ORDINARY) == svg(ORDINARY)


def test_drawing_has_a_title_a_description_and_no_style() -> None:
    root = read(svg(ORDINARY))
    assert root.get("role") == "img"
    names = [part.tag.rpartition("}")[2] for part in root][:2]
    assert names == ["title", "desc"]
    assert not [part for part in root.iter() if part.get("style") is not None]
    assert not [part for part in root.iter() if part.tag.endswith(("script", "style", "image", "foreignObject"))]


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><b>', "a & b", "x\x00\x1b[31m", "\u202eevil", "n" * 300, "", "🙂"]
)
def test_hostile_names(name: str) -> None:
    hostile = Chart("c", name, name, (Panel("SM clock", "MHz", (Point(name, 1, 1), Point(name, 2, None))),))
    drawn = svg(hostile)
    read(drawn)
    assert "<script" not in drawn
    assert "<b>" not in drawn


def test_nothing_to_draw() -> None:
    read(svg(chart()))
    read(svg(chart(Point("a", None, None))))


def test_unknown_is_drawn_at_the_request_and_named() -> None:
    labels = [part.get("aria-label") or "" for part in read(svg(ORDINARY)).iter()]
    unknown = [label for label in labels if "what: achieved: unknown" in label]
    assert len(unknown) == 2
    assert all("1,980" in label or "1980" in label for label in unknown)


def test_ids_are_unique_in_a_page() -> None:
    page = html.render(report(ORDINARY, ORDINARY))
    ids = [part.split('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    assert page.count('role="img"') == 2
    assert "style=" not in page


def test_json_has_the_data() -> None:
    (section,) = json.loads(json_report.render(report(ORDINARY)))["sections"]
    assert section["charts"][0]["panels"][0]["points"][2] == {
        "name": "c",
        "requested": 1980,
        "achieved": None,
        "is_limited": False,
    }
