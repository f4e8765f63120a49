"""Charts as static SVG: Vega-Lite specifications through vl-convert, which brings its own fonts and needs no browser.

Colours are those of the text around (currentColor) and two that are legible on light and on dark paper; what differs by
colour differs by shape too. An unknown value has a shape of its own and stands at what was requested, never at zero.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pipeline.renderers.escape import printable

if TYPE_CHECKING:
    from pipeline.report_model import Chart

_WHAT = ("requested", "achieved, not limited", "achieved, limited", "achieved: unknown")
_SHAPES = ("stroke", "circle", "triangle-left", "cross")
_COLOURS = ("currentColor", "#3b82c4", "#d9730d", "#a855a8")
_LONGEST = 40


def svg(chart: Chart) -> str:
    """Draw a chart; the same chart gives the same text."""
    import vl_convert

    drawn = str(vl_convert.vegalite_to_svg(json.dumps(_spec(chart))))
    label = f'<svg role="img" aria-labelledby="{chart.id}-title {chart.id}-desc" class="chart"'
    title = f'<title id="{chart.id}-title">{_xml(chart.title)}</title>'
    words = f'{title}<desc id="{chart.id}-desc">{_xml(chart.description)}</desc>'
    # Ids of clip paths and gradients must be unique in the page; width and height are left to the page.
    drawn = re.sub(r'(id="|url\(#|href="#)((?:clip|gradient)[^")]*)', rf"\1{chart.id}-\2", drawn)
    drawn = re.sub(r' class="marks" width="(\d+)" height="(\d+)"', "", drawn, count=1)
    return drawn.replace("<svg", label, 1).replace(">", f">{words}", 1)


def _xml(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _spec(chart: Chart) -> dict[str, Any]:
    panels = [_panel(chart, at) for at in range(len(chart.panels))]
    quiet = {"labelColor": "currentColor", "titleColor": "currentColor", "tickColor": "currentColor"}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": None,
        "hconcat": panels,
        "config": {
            "view": {"stroke": None},
            "axis": quiet | {"domainColor": "currentColor", "gridColor": "currentColor", "gridOpacity": 0.15},
            "legend": quiet | {"orient": "bottom", "title": None, "symbolStrokeWidth": 2, "labelLimit": 300},
            "title": {"color": "currentColor", "fontSize": 12},
        },
    }


def _panel(chart: Chart, at: int) -> dict[str, Any]:
    label, unit, points = chart.panels[at]
    names = [f"{number:02d} {printable(point.name)[:_LONGEST]}" for number, point in enumerate(points, start=1)]
    marks: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for name, point in zip(names, points, strict=True):
        if point.requested is None:
            continue
        marks.append({"gpu": name, "value": point.requested, "what": _WHAT[0]})
        if point.achieved is None:
            marks.append({"gpu": name, "value": point.requested, "what": _WHAT[3]})
            continue
        marks.append({"gpu": name, "value": point.achieved, "what": _WHAT[2 if point.is_limited else 1]})
        lines.append({"gpu": name, "value": point.achieved, "to": point.requested})
    top = max((mark["value"] for mark in marks), default=1)
    scale = {"domain": list(_WHAT)}
    gpus: dict[str, Any] = {"field": "gpu", "type": "ordinal", "sort": names, "title": None, "scale": {"domain": names}}
    gpus["axis"] = (
        {"labelExpr": "substring(datum.label, 3)", "labelLimit": 300} if at == 0 else {"labels": False, "ticks": False}
    )
    value = {
        "field": "value",
        "type": "quantitative",
        "title": f"{label} ({unit})",
        "scale": {"domain": [0, top * 1.05], "nice": False},
    }
    return {
        "width": 300,
        "height": {"step": 20},
        "layer": [
            {
                "data": {"values": lines},
                "mark": {"type": "rule", "strokeWidth": 2, "color": "#d9730d"},
                "encoding": {"x": value, "x2": {"field": "to"}, "y": gpus},
            },
            {
                "data": {"values": marks},
                "mark": {"type": "point", "filled": False, "size": 70, "strokeWidth": 2, "opacity": 1},
                "encoding": {
                    "x": value,
                    "y": gpus,
                    "shape": {"field": "what", "scale": scale | {"range": list(_SHAPES)}},
                    "color": {"field": "what", "scale": scale | {"range": list(_COLOURS)}},
                },
            },
        ],
    }
