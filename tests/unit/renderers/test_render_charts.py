"""Charts: the same bytes for the same data, well-formed whatever the names, unknown visibly unknown."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from pipeline.renderers import html, json_report, markdown
from pipeline.renderers.charts import LIMITED, REACHED, UNKNOWN, drawings
from pipeline.report_model import Chart, Column, Panel, Point, Report, ReportTable, Section

HOSTILE = (
    "<script>alert(1)</script>",
    '"><b>',
    "a & b",
    "]]>",
    "{{ 7 * 7 }}",
    "x\x00\x1b[31m",
    "\u202eevil",
    "\ud800",
    "\ufffe",
    "n" * 300,
    "",
    "🙂",
    "日本語" * 20,
    "שלום",
    "url(#clip0)",
)


def read(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own drawing


def chart(*points: Point) -> Chart:
    return Chart(
        "c", "Clocks", "What it shows", (Panel("SM clock", "MHz", points), Panel("Memory clock", "MHz", points))
    )


ORDINARY = chart(
    Point("a", 1980, 1410, is_limited=True, state="thermal"),
    Point("b", 1980, 1980),
    Point("c", 1980, None, state="not evaluated", reason="NO_PROFILE"),
)
TABLE = ReportTable("limits", "Limits", (Column("gpu", "GPU"),), (("a",),))


def report(*charts: Chart, tables: tuple[ReportTable, ...] = ()) -> Report:
    return Report("t", "pass", "h", (), (Section("s", "Section", "", tables, charts),))


def texts(drawn: str) -> list[str]:
    return [part.text or "" for part in read(drawn).iter() if part.tag.endswith("}text")]


def paths(drawn: str, colour: str) -> list[str]:
    """Return where marks of a colour stand, as `x,y` of the plot."""
    found = [part for part in read(drawn).iter() if part.tag.endswith("}path")]
    places = [part.get("transform", "") for part in found if colour in {part.get("stroke"), part.get("fill")}]
    return [place.removeprefix("translate(").removesuffix(")") for place in places]


class _Ids(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        self.found += [value or "" for name, value in attrs if name == "id"]


def ids(page: str) -> list[str]:
    parser = _Ids()
    parser.feed(page)
    return parser.found


def test_same_data_same_bytes() -> None:
    assert drawings(ORDINARY) == drawings(ORDINARY)
    assert len(drawings(ORDINARY)) == 2


def test_nothing_is_placed_by_the_width_of_a_text() -> None:
    # In every proportional font a W is wider than an i: where widths were measured, more than the letters would differ.
    wide, narrow = (chart(Point(letter * 12, 1980, 1410), Point("b", 1980, None)) for letter in "Wi")
    assert [drawn.replace("W" * 12, "i" * 12) for drawn in drawings(wide)] == drawings(narrow)


def test_drawing_has_a_title_a_description_and_no_style() -> None:
    for number, drawn in enumerate(drawings(ORDINARY), start=1):
        root = read(drawn)
        title, desc = list(root)[:2]
        assert root.get("role") == "img"
        assert (root.get("aria-labelledby"), root.get("aria-describedby")) == (f"c-{number}-title", f"c-{number}-desc")
        assert (title.get("id"), title.text) == (f"c-{number}-title", f"Clocks: {['SM', 'Memory'][number - 1]} clock")
        assert (desc.get("id"), desc.text) == (f"c-{number}-desc", "What it shows")
        assert not [part for part in root.iter() if part.get("style") is not None]
        assert not [part for part in root.iter() if part.tag.endswith(("script", "style", "image", "foreignObject"))]
        assert [part.get("id") for part in root.iter() if part.get("id") is not None] == [
            f"c-{number}-title",
            f"c-{number}-desc",
        ]


def test_size_follows_from_the_numbers_of_characters_and_rows() -> None:
    # Left: 22 cells of 6.7 px and 10; plot: 170; right: "1410, thermal", 13 cells, and 30. Down: 44 + 2 * 18 + 4.
    drawn = drawings(chart(Point("n" * 300, 1980, 1410, is_limited=True, state="thermal"), Point("b", 1, 1)))[0]
    assert read(drawn).get("viewBox") == f"0 0 {147 + 10 + 170 + 87 + 30} 84"


@pytest.mark.parametrize(
    ("name", "words", "style"),
    [
        # 15 and 19 cells: 100 + 10 + 170 + 127 + 30 = 437. One cell fewer in both: 94 + 10 + 170 + 121 + 30 = 425.
        ("n" * 15, "s" * 13, "chart wide"),
        ("n" * 14, "s" * 12, "chart"),
    ],
)
def test_what_would_be_too_small_on_a_phone_scrolls(name: str, words: str, style: str) -> None:
    drawn = drawings(chart(Point(name, 1980, 1410, is_limited=True, state=words)))[0]
    assert read(drawn).get("class") == style


def test_box_that_scrolls_is_named_and_reached_by_keyboard() -> None:
    assert '<div class="panels" role="group" aria-label="Clocks" tabindex="0">' in html.render(report(ORDINARY))


def test_words_beside_each_row() -> None:
    shown = texts(drawings(ORDINARY)[0])
    assert shown[-7:] == ["SM clock (MHz)", "a", "1410, thermal", "b", "1980", "c", "unknown, not evaluated"]
    assert texts(drawings(chart(Point("a", 2, 1.5, is_limited=True)))[0])[-1] == "1.5, limited"


def test_each_kind_of_point_has_its_own_mark() -> None:
    # The scale ends 5 % above the largest value: 1980 stands at 170 / 1.05, 1410 at 1410 / 1980 of that.
    drawn = drawings(ORDINARY)[0]
    limited, reached, unknown = (paths(drawn, sign.colour) for sign in (LIMITED, REACHED, UNKNOWN))
    assert [len(found) for found in (limited, reached, unknown)] == [1, 1, 1]
    for place, x, y in (
        (limited[0], 115.2958, 9),
        (reached[0], 161.9047, 27),
        (unknown[0], 161.9047, 45),
    ):
        assert [float(part) for part in place.split(",")] == [pytest.approx(x, abs=1e-3), y]


@pytest.mark.parametrize("nothing", [None, math.nan, math.inf, -math.inf])
def test_unknown_is_never_zero_and_never_left_out(nothing: float | None) -> None:
    drawn = drawings(chart(Point("a", nothing, nothing), Point("b", 1980, 1980)))[0]
    # Without a request there is no place on the scale: the cross stands 10 px to the right of the plot.
    assert paths(drawn, UNKNOWN.colour) == ["180,9"]
    assert "unknown" in texts(drawn)
    assert len(paths(drawn, REACHED.colour)) == 1


def test_achieved_without_a_request_is_drawn() -> None:
    drawn = drawings(chart(Point("a", None, 990)))[0]
    assert len(paths(drawn, REACHED.colour)) == 1
    assert not paths(drawn, UNKNOWN.colour)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name: str) -> None:
    point = Point(name, 2, 1, is_limited=True, state=name)
    hostile = Chart("c", name, name, (Panel(name, name, (point, Point(name, 2, None))),))
    for drawn in drawings(hostile):
        assert {part.tag.rpartition("}")[2] for part in read(drawn).iter()} <= {
            *("svg", "g", "path", "line", "text", "title", "desc")
        }
    page = html.render(report(hostile))
    assert "<script" not in page
    assert "<b>" not in page
    assert "\u202e" not in page
    json_report.render(report(hostile))
    assert "<script" not in markdown.render(report(hostile)).replace("`<script>", "")


def test_what_cannot_be_seen_is_written_out() -> None:
    assert texts(drawings(chart(Point("\u202eevil", 1, 1)))[0])[-2] == r"\u{202e}evil"
    assert texts(drawings(chart(Point(" ", 1, 1)))[0])[-2] == "(empty)"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("n" * 22, "n" * 22),
        ("n" * 23, "n" * 21 + "…"),
        ("語" * 11, "語" * 11),
        ("語" * 12, "語" * 10 + "…"),
    ],
)
def test_long_names_are_cut_by_cells(name: str, shown: str) -> None:
    assert texts(drawings(chart(Point(name, 1, 1)))[0])[-2] == shown


def test_equal_names_stay_apart() -> None:
    assert len(paths(drawings(chart(*[Point("same", 1, 1)] * 3))[0], REACHED.colour)) == 3


@pytest.mark.parametrize("points", [(), (Point("a", None, None),), (Point("a", 0, 0),), (Point("a", -5, 1e308),)])
def test_extremes_are_drawn(points: tuple[Point, ...]) -> None:
    for drawn in drawings(chart(*points)):
        read(drawn)
        assert "NaN" not in drawn
        assert "Infinity" not in drawn


def test_thousand_points_are_drawn() -> None:
    drawn = drawings(Chart("c", "t", "d", (Panel("SM", "MHz", tuple(Point(f"g{i}", 2, 1) for i in range(1000))),)))[0]
    assert len(paths(drawn, REACHED.colour)) == 1000


def test_ids_are_unique_in_a_page() -> None:
    page = html.render(report(ORDINARY, ORDINARY, tables=(TABLE, replace(TABLE, id="c-figures"))))
    found = ids(page)
    assert len(found) == len(set(found))
    assert page.count('role="img"') == 4
    assert " style=" not in page


def test_page_has_the_figures_folded() -> None:
    page = html.render(report(ORDINARY))
    folded = page[page.index("<details>") : page.index("</details>")]
    assert folded.count("<tr>") == 1 + 6
    assert folded.count("NO_PROFILE") == 2
    assert 'class="key"' in page


def test_page_points_to_a_table_that_is_there_anyway() -> None:
    page = html.render(report(replace(ORDINARY, table_id="limits"), tables=(TABLE,)))
    assert "<details>" not in page
    assert '<a href="#t-limits">' in page
    # A table that the section does not have cannot be pointed to.
    assert "<details>" in html.render(report(replace(ORDINARY, table_id="limits")))


def test_page_without_charts_has_nothing_of_them() -> None:
    page = html.render(report(tables=(TABLE,)))
    assert "<svg" not in page
    assert "<figure" not in page


def test_source_is_marked_wherever_the_chart_is_named() -> None:
    simulated = report(replace(ORDINARY, source="simulated"))
    assert "SIMULATED" in html.render(simulated)
    assert "SIMULATED" in markdown.render(simulated)
    assert json.loads(json_report.render(simulated))["sections"][0]["charts"][0]["source"] == "simulated"
    assert "SIMULATED" not in html.render(report(ORDINARY))


def test_markdown_names_the_chart_and_where_its_figures_are() -> None:
    lines = markdown.render(report(ORDINARY)).splitlines()
    where = "Drawn in acceptance.html; its figures: acceptance.json, section's charts, `c`."
    assert f"**Chart:** Clocks — What it shows {where}" in lines
    pointed = markdown.render(report(replace(ORDINARY, table_id="limits"), tables=(TABLE,)))
    assert "its figures: acceptance.json, table `limits`." in pointed


def test_json_has_the_data() -> None:
    (section,) = json.loads(json_report.render(report(ORDINARY)))["sections"]
    found = section["charts"][0]
    assert {name: value for name, value in found.items() if name != "panels"} == {
        "id": "c",
        "form": "requested_achieved",
        "title": "Clocks",
        "description": "What it shows",
        "source": None,
        "table_id": None,
    }
    assert found["panels"][0]["points"][2] == {
        "name": "c",
        "requested": 1980,
        "achieved": {"unknown": "NO_PROFILE"},
        "is_limited": False,
        "state": "not evaluated",
    }


def test_json_of_a_float_that_is_no_number() -> None:
    point = Point("a", math.nan, None)
    (section,) = json.loads(json_report.render(report(chart(point))))["sections"]
    found = section["charts"][0]["panels"][0]["points"][0]
    assert found["requested"] == {"unknown": "not_finite"}
    assert found["achieved"] == {"unknown": None}


def test_library_is_loaded_only_for_a_chart() -> None:
    # In a process of its own: here it is loaded already.
    code = (
        "import sys; from pipeline.renderers import html; from pipeline.report_model import Report;"
        "html.render(Report('t', 'pass', 'h', (), ())); print('vl_convert' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
