"""Report -> text, one pure function for each format: the same report always gives the same bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.renderers import html, json_report, junit, markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.report_model import Report


@dataclass(frozen=True)
class Renderer:
    """A format: the name of its file and the function that writes the report in it."""

    file_name: str
    render: Callable[[Report], str]


RENDERERS: dict[str, Renderer] = {
    "html": Renderer("acceptance.html", html.render),
    "md": Renderer("acceptance.md", markdown.render),
    "json": Renderer("acceptance.json", json_report.render),
    "junit": Renderer("junit.xml", junit.render),
}
"""Every format, by the name that people choose it by."""
