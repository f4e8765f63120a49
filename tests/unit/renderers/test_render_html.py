"""The page: its structure does not depend on what captures say, it loads nothing, and its links lead somewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from sample_report import FIRST, HOSTILE, SECOND, every_field, small

from pipeline.renderers import html
from pipeline.report_model import Column, Evidence, Report, ReportTable, Section

VOID = {"meta"}


class Page(HTMLParser):
    """Collects elements, ids, links and the text of the style."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that elements are closed in order."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text and the element it is in."""
        self.texts.append((self.open[-1] if self.open else "", data))

    def shape(self) -> Counter[tuple[str, tuple[str, ...]]]:
        """Return how often every element occurs with these attributes."""
        return Counter((tag, tuple(attributes)) for tag, attributes in self.elements)

    def values(self, attribute: str) -> list[str]:
        """Return the values of one attribute."""
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]

    def text_of(self, tag: str) -> str:
        """Return the text right inside of one kind of element."""
        return "".join(data for inside, data in self.texts if inside == tag)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_changes_no_element_and_no_attribute(text: str) -> None:
    page, benign = Page(html.render(every_field(text))), Page(html.render(every_field("benign")))
    # A hostile text becomes text: it may only make an empty introduction or title, never a new element.
    assert page.shape() == benign.shape()
    assert page.open == []


def test_nothing_is_loaded_and_nothing_runs() -> None:
    page = Page(html.render(small()))
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "form", "base", "svg"}
    assert not any(name.startswith("on") or name == "style" for _, found in page.elements for name in found)
    assert all(target.startswith("#") for target in page.values("href"))
    assert "url(" not in page.text_of("style")
    assert "@import" not in page.text_of("style")


def test_policy_allows_exactly_the_style_of_the_page() -> None:
    page = Page(html.render(small()))
    policy = next(found["content"] for tag, found in page.elements if found.get("http-equiv"))
    digest = base64.b64encode(hashlib.sha256(page.text_of("style").encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@pytest.mark.parametrize("text", ["benign", *HOSTILE])
def test_ids_are_unique_and_links_lead_to_them(text: str) -> None:
    for report in (small(), every_field(text)):
        page = Page(html.render(report))
        ids = page.values("id")
        assert len(ids) == len(set(ids))
        assert {target.removeprefix("#") for target in page.values("href")} <= set(ids)
        assert {name for names in page.values("aria-labelledby") for name in names.split()} <= set(ids)


def test_evidence_leads_to_the_row_of_its_capture() -> None:
    text = html.render(small())
    assert f'<a class="evidence" href="#c-abababababab" title="{FIRST}">abababababab:2</a>' in text
    assert f'<a class="evidence" href="#c-0123456789ab" title="{SECOND}">0123456789ab</a>' in text
    assert f'<tr id="c-abababababab"><th scope="row" class="k-code"><code>{FIRST}</code></th>' in text


def test_evidence_without_a_listed_capture_is_no_link() -> None:
    table = ReportTable("t", "T", (Column("e", "E", "evidence"),), ((Evidence(FIRST, 1),),))
    text = html.render(Report("R", "pass", "H", (), (Section("s", "S", "", (table,)),)))
    assert f'<span class="evidence" title="{FIRST}">abababababab:1</span>' in text


def test_hashes_with_one_beginning_get_anchors_of_their_own() -> None:
    other = FIRST[:-1] + "0"
    listing = ReportTable("c", "C", (Column("capture_sha256", "S", "code"),), ((FIRST,), (other,), (FIRST,)))
    facts = (("first", Evidence(FIRST)), ("other", Evidence(other)))
    page = Page(html.render(Report("R", "pass", "H", facts, (Section("s", "S", "", (listing,)),))))
    rows = [found["id"] for tag, found in page.elements if tag == "tr" and "id" in found]
    assert rows == ["c-abababababab", "c-abababababab-2"]
    links = [found["href"] for _, found in page.elements if found.get("class") == "evidence"]
    assert links == ["#c-abababababab", "#c-abababababab-2"]


def test_verdicts_differ_in_word_and_shape_and_unknown_is_said() -> None:
    text = html.render(small())
    for style, symbol in (("pass", "✓"), ("fail", "✗"), ("indeterminate", "?")):
        assert f'<span class="mark {style}"><span class="sym" aria-hidden="true">{symbol}</span> {style}</span>' in text
    assert '<span class="unknown">unknown <span class="reason">(not_supported)</span></span>' in text
    assert '<span class="unknown">unknown <span class="reason">(reason not recorded)</span></span>' in text
    assert '<span class="sym">MOCK</span> mock</span>' in text
    assert '<span class="sym">CLAIM</span> published_claim</span>' in text
    assert "SIMULATED</span>" in text
    assert not re.search(r"<t[dh][^>]*></t[dh]>", text)


def _variables(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_contrast_is_enough(scheme: int) -> None:
    style = Page(html.render(small())).text_of("style")
    colours = _variables(re.findall(r":root \{(.*?)\}", style, re.DOTALL)[scheme])
    pairs = [(ink, "paper") for ink in ("ink", "soft", "link", "gone-ink")]
    pairs += [(ink, "band") for ink in ("ink", "soft", "link", "gone-ink")]
    pairs += [(f"{name}-ink", f"{name}-paper") for name in ("pass", "fail", "maybe", "weak")]
    pairs += [
        ("maybe-ink", "maybe-stripe"),
        ("ink", "maybe-paper"),
        ("gone-ink", "maybe-paper"),
        ("link", "maybe-paper"),
    ]
    for ink, paper in pairs:
        dark, light = sorted((_luminance(colours[ink]), _luminance(colours[paper])))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, paper)
