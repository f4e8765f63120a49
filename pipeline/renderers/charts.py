"""Charts as static SVG, one for each panel: Vega-Lite specifications through vl-convert, which needs no browser.

Nothing is placed by the measured width of a text: that depends on the fonts of the machine, and the same data must give
the same bytes everywhere. All offsets are fixed, names are cut by characters, and the key is left to the page. Names
and words beside the plot are written here and not by Vega, which measures each text, at some 3 ms for each.
Text has the colour of the text around (currentColor); what differs by colour differs by shape too, and what is unknown
has a shape and a word of its own.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.renderers.cells import EMPTY, number_text, settled
from pipeline.renderers.escape import printable

if TYPE_CHECKING:
    from pipeline.report_model import Chart, Panel, Point


class Sign(NamedTuple):
    """How a kind of point is drawn: `path` within a square from -8 to 8, filled or not, and what it means."""

    label: str
    path: str
    colour: str
    is_filled: bool = False


REQUESTED = Sign("requested", "M-1.5,-7 L1.5,-7 L1.5,7 L-1.5,7 Z", "currentColor", is_filled=True)
REACHED = Sign("achieved, not limited", "M-4.5,0 A4.5,4.5 0 1,1 4.5,0 A4.5,4.5 0 1,1 -4.5,0 Z", "#3b82c4")
LIMITED = Sign("achieved, limited", "M-6,0 L4,-5.5 L4,5.5 Z", "#d9730d", is_filled=True)
UNKNOWN = Sign("achieved: unknown", "M-5,-5 L5,5 M5,-5 L-5,5", "#a855a8")
SIGNS = (REQUESTED, REACHED, LIMITED, UNKNOWN)

_VEGA_LITE = "6.4"
_PLOT = 170
_ROW = 18
_NAME_CELLS = 22
_STATE_CELLS = 16
_CELL = 6.7
"""Pixels that a character of a fixed-width font of 11 pixels takes, rounded up."""
_GAP = 10
_TOP = 44
_WIDE = 430
"""Pixels above which a chart scrolls on a phone: shrunk to its 360 pixels, the text would be smaller than 9."""
_LARGEST = 1e15
_ONE_PIXEL_PER_UNIT = 4
"""Size of a symbol, in Vega's terms, at which a path is drawn as wide as its coordinates say."""


def drawings(chart: Chart) -> list[str]:
    """Draw a chart, panel by panel; the same chart gives the same text."""
    import vl_convert

    found = []
    for number, panel in enumerate(chart.panels, start=1):
        rows = [_row(at, point) for at, point in enumerate(panel.points)]
        drawn = str(vl_convert.vegalite_to_svg(json.dumps(_spec(rows)), vl_version=_VEGA_LITE))
        name = f"{chart.id}-{number}"
        # Clip paths and gradients, where Vega makes any, are numbered from one in each drawing: a page holds several.
        drawn = re.sub(r'(id="|url\(#|href="#)(?=clip|gradient)', rf"\1{name}-", drawn)
        drawn = f"{_texts(panel, rows)}</svg>".join(drawn.rsplit("</svg>", 1))
        found.append(_named(drawn, name, f"{chart.title}: {panel.label}", chart.description, _style(rows)))
    return found


def _texts(panel: Panel, rows: list[_Row]) -> str:
    """Write the names to the left and the words to the right of the plot, row by row."""
    left, right = _left(rows), _left(rows) + _PLOT + 2 * _GAP
    lines = [
        f'<text class="heading" x="{left}" y="14" font-size="12" font-weight="bold">{_xml(_heading(panel))}</text>'
    ]
    for row in rows:
        y = _TOP + _ROW * row.row + _ROW // 2 + 4
        lines.append(f'<text x="{left - _GAP // 2}" y="{y}" text-anchor="end">{_xml(row.name)}</text>')
        lines.append(f'<text x="{right}" y="{y}">{_xml(row.words)}</text>')
    return f'<g fill="currentColor" font-family="monospace" font-size="11">{"".join(lines)}</g>'


def _heading(panel: Panel) -> str:
    return f"{_cut(panel.label, _NAME_CELLS)} ({_cut(panel.unit, _STATE_CELLS)})"


def _left(rows: list[_Row]) -> int:
    return round(max((_cells(row.name) for row in rows), default=0) * _CELL) + _GAP


def _words_width(rows: list[_Row]) -> int:
    return round(max((_cells(row.words) for row in rows), default=0) * _CELL)


def _style(rows: list[_Row]) -> str:
    width = _left(rows) + _PLOT + _words_width(rows) + 3 * _GAP
    return "chart wide" if width > _WIDE else "chart"


def _named(drawn: str, name: str, title: str, description: str, style: str) -> str:
    words = f'<title id="{name}-title">{_xml(title)}</title><desc id="{name}-desc">{_xml(description)}</desc>'
    opening = f'role="img" aria-labelledby="{name}-title" aria-describedby="{name}-desc" class="{style}"'
    return drawn.replace('class="marks"', opening, 1).replace(">", f">{words}", 1)


def _xml(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _cells(text: str) -> int:
    """Return how many cells of a fixed-width font a text takes: what is wide takes two."""
    return sum(2 if unicodedata.east_asian_width(char) in "FW" else 1 for char in text)


def _cut(text: str, cells: int) -> str:
    """Cut to a number of cells; a character left out is seen to be."""
    shown = printable(text[: cells + 1]) if text.strip() else EMPTY
    if _cells(shown) <= cells and len(text) <= cells:
        return shown
    while _cells(shown) > cells - 1:
        shown = shown[:-1]
    return f"{shown}…"


def _known(value: float | None) -> float | None:
    found = settled(value)
    return value if found is value and value is not None else None


def _words(point: Point) -> str:
    achieved = _known(point.achieved)
    value = "unknown" if achieved is None else number_text(achieved).removesuffix(".0")[:_NAME_CELLS]
    state = point.state or ("limited" if point.is_limited else "")
    return f"{value}, {_cut(state, _STATE_CELLS)}" if state else value


class _Row(NamedTuple):
    """A row as the specification takes it; where a value is missing, the mark that would show it is not drawn."""

    row: int
    name: str
    words: str
    what: str
    requested: float | None
    at: float | None
    from_: float | None


def _row(number: int, point: Point) -> _Row:
    requested, achieved = (
        None if value is None else max(min(value, _LARGEST), -_LARGEST)
        for value in map(_known, (point.requested, point.achieved))
    )
    sign = UNKNOWN if achieved is None else LIMITED if point.is_limited else REACHED
    at = requested if achieved is None else achieved
    between = requested if achieved is not None and requested != achieved else None
    return _Row(number, _cut(point.name, _NAME_CELLS), _words(point), sign.label, requested, at, between)


def _spec(rows: list[_Row]) -> dict[str, Any]:
    return {
        "background": None,
        "autosize": {"type": "none"},
        "padding": {"left": _left(rows), "right": _words_width(rows) + 3 * _GAP, "top": _TOP, "bottom": 4},
        "width": _PLOT,
        "height": _ROW * max(len(rows), 1),
        "data": {"values": [row._asdict() for row in rows]},
        "layer": _layers(rows),
        "config": {"view": {"stroke": None}, "aria": False},
    }


def _scales(rows: list[_Row]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how values lie on x and rows on y."""
    values = [value for row in rows for value in (row.requested, row.at) if value is not None]
    domain = [min([0.0, *values]), max([1.0, *values]) * 1.05]
    axis = {
        "orient": "top",
        "title": None,
        "tickCount": 3,
        "tickSize": 4,
        "labelFontSize": 10,
        "format": "~s" if domain[1] >= 1e5 else ",.4~f",  # noqa: PLR2004 - more digits than there is room for
    }
    x = {"type": "quantitative", "scale": {"domain": domain, "nice": False}, "axis": _quiet(axis)}
    order = {"type": "point", "domain": [row.row for row in rows] or [0], "padding": 0.5, "round": False}
    rule = _quiet({"labels": False, "ticks": False, "title": None, "domainOpacity": 0.4})
    return x, {"field": "row", "type": "ordinal", "scale": order, "axis": rule}


def _quiet(axis: dict[str, Any]) -> dict[str, Any]:
    colours = dict.fromkeys(("labelColor", "tickColor", "domainColor", "gridColor"), "currentColor")
    fixed = {"labelOverlap": False, "labelBound": False, "labelFlush": False, "labelLimit": 0}
    return {**colours, **fixed, "grid": True, "gridOpacity": 0.15, "maxExtent": 0, "minExtent": 0, **axis}


def _layers(rows: list[_Row]) -> list[dict[str, Any]]:
    x, y = _scales(rows)
    bar = {"type": "rule", "strokeWidth": 2, "color": LIMITED.colour, "opacity": 0.7}
    layers: list[dict[str, Any]] = [
        _layer(bar, {"x": x | {"field": "at"}, "x2": {"field": "from_"}, "y": y}, "datum.from_ !== null"),
        _layer(_point(REQUESTED), {"x": x | {"field": "requested"}, "y": y}, "datum.requested !== null"),
    ]
    layers += [
        _layer(_point(sign), {"x": x | {"field": "at"}, "y": y}, f"datum.at !== null && datum.what === '{sign.label}'")
        for sign in (REACHED, LIMITED, UNKNOWN)
    ]
    # Without a request there is no place on the scale: the mark stands beside it.
    layers.append(_layer(_point(UNKNOWN), {"x": {"value": _PLOT + _GAP}, "y": y}, "datum.at === null"))
    return layers


def _layer(mark: dict[str, Any], encoding: dict[str, Any], where: str | None = None) -> dict[str, Any]:
    chosen = {} if where is None else {"transform": [{"filter": where}]}
    return {**chosen, "mark": mark, "encoding": encoding}


def _point(sign: Sign) -> dict[str, Any]:
    return {
        "type": "point",
        "shape": sign.path,
        "size": _ONE_PIXEL_PER_UNIT,
        "filled": sign.is_filled,
        "color": sign.colour,
        "strokeWidth": 0 if sign.is_filled else 2,
        "opacity": 1,
    }
