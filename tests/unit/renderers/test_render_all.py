"""What holds for every format: nothing invisible, nothing that changes from run to run, nothing hidden as a pass."""

from __future__ import annotations

import unicodedata

import pytest
from sample_report import HOSTILE, every_field, only_indeterminate, small

from pipeline.renderers import RENDERERS


def test_every_format_has_its_file() -> None:
    names = {name: renderer.file_name for name, renderer in RENDERERS.items()}
    assert names == {"html": "acceptance.html", "md": "acceptance.md", "json": "acceptance.json", "junit": "junit.xml"}


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("text", HOSTILE)
def test_no_format_passes_on_an_invisible_character(name: str, text: str) -> None:
    rendered = RENDERERS[name].render(every_field(text))
    rendered.encode("utf-8")
    invisible = {char for char in rendered if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs"}}
    assert invisible <= {"\n"}
    assert not any(ord(char) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(char) <= 0xFDEF for char in rendered)


@pytest.mark.parametrize("name", RENDERERS)
def test_the_same_report_gives_the_same_text_with_one_final_newline(name: str) -> None:
    rendered = RENDERERS[name].render(small())
    assert rendered == RENDERERS[name].render(small())
    assert rendered.endswith("\n")
    assert not rendered.endswith("\n\n")


@pytest.mark.parametrize("name", ["html", "md"])
def test_nothing_looks_like_a_pass_when_nothing_passed(name: str) -> None:
    rendered = RENDERERS[name].render(only_indeterminate())
    assert "✓" not in rendered
    assert 'class="mark pass"' not in rendered
    assert "? indeterminate" in rendered or ">?</span> indeterminate" in rendered
