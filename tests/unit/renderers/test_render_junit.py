"""JUnit: the whole text of a small report, and that it stays XML whatever captures say."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from sample_report import HOSTILE, every_field, small

from pipeline.renderers import junit

EXPECTED = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" skipped="1">
  <testsuite name="Acceptance of node-17" tests="3" failures="1" errors="0" skipped="1">
    <testcase classname="clock" name="GPU-1" />
    <testcase classname="sharing" name="a|b">
      <skipped message="indeterminate: sharing_unknown">evidence abababababab:7</skipped>
    </testcase>
    <testcase classname="power" name="GPU-2">
      <failure message="above_limit">710 W of 700 W
evidence 0123456789ab</failure>
    </testcase>
  </testsuite>
</testsuites>
"""


def test_small_report() -> None:
    assert junit.render(small()) == EXPECTED


@pytest.mark.parametrize("text", HOSTILE)
def test_text_changes_no_element(text: str) -> None:
    root = ET.fromstring(junit.render(every_field(text)))  # noqa: S314 - our own text
    assert [element.tag for element in root.iter()] == [
        "testsuites",
        "testsuite",
        "testcase",
        "testcase",
        "failure",
        "testcase",
        "skipped",
    ]
    skipped = root.find(".//skipped")
    assert skipped is not None
    assert skipped.attrib["message"].startswith("indeterminate: ")
