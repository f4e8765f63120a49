"""What every parser shares: encodings, lines, faults of a line, the sentences of nvidia-smi, the ledger."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import CaptureError
from pipeline.parsed import MAX_LINE_BYTES, Ledger, Parsed, diagnostic, line_fault, split_lines, to_utf8


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", b""),
        (b"a\n", b"a\n"),
        (b"\xef\xbb\xbfa", b"a"),
        (b"\xef\xbb\xbf", b""),
        (b"\xff\xfea\x00\n\x00", b"a\n"),
        (b"\xfe\xff\x00a\x00\n", b"a\n"),
        (b"\xff\xfe\xb5\x00", "\u00b5".encode()),
        (b"\xff\xfe\x3d\xd8\x00\xde", "\U0001f600".encode()),
        # Not UTF-8, but without a mark nobody knows what it is: left for the lines to be judged.
        (b"\xe4\xf6", b"\xe4\xf6"),
        (b"a\x00\n\x00", b"a\x00\n\x00"),
    ],
)
def test_to_utf8(data: bytes, expected: bytes) -> None:
    assert to_utf8(data) == expected


@pytest.mark.parametrize("data", [b"\xff\xfe\x00\xd8", b"\xfe\xff\xd8\x00", b"\xff\xfe\x00\xdc"])
def test_mark_that_lies_is_refused(data: bytes) -> None:
    with pytest.raises(CaptureError) as caught:
        to_utf8(data)
    assert caught.value.code == "undecodable"


@given(text=st.text(), encoding=st.sampled_from(["utf-16-le", "utf-16-be"]))
def test_utf16_keeps_text_and_line_count(text: str, encoding: str) -> None:
    data = ("\ufeff" + text).encode(encoding)
    assert to_utf8(data).decode() == text
    assert to_utf8(data).count(b"\n") == text.count("\n")


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\n\nb\n", [b"a", b"", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\r\r\n", [b"a\r"]),
        # Only LF ends a line: what Python's splitlines takes for one is text.
        (b"a\rb\x0bc\x0cd\x1ce\xc2\x85f\xe2\x80\xa8g\n", [b"a\rb\x0bc\x0cd\x1ce\xc2\x85f\xe2\x80\xa8g"]),
    ],
)
def test_split_lines(data: bytes, lines: list[bytes]) -> None:
    assert split_lines(data) == lines


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"", None),
        (b"plain", None),
        ("\u00b5".encode(), None),
        (b"x" * MAX_LINE_BYTES, None),
        (b"x" * (MAX_LINE_BYTES + 1), "line_too_long"),
        (b"a\0b", "nul_bytes"),
        (b"\xff", "invalid_utf8"),
        (b"\xc3", "invalid_utf8"),
        (b"\0" * (MAX_LINE_BYTES + 1), "line_too_long"),
    ],
    ids=["empty", "plain", "utf-8", "longest", "too-long", "nul", "invalid", "cut", "both"],
)
def test_line_fault(line: bytes, code: str | None) -> None:
    found = line_fault(line)
    assert (found and found[0]) == code


@pytest.mark.parametrize(
    ("sentence", "code", "severity"),
    [
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "driver_not_loaded", "error"),
        ("Make sure that the latest NVIDIA driver is installed and running.", "driver_not_loaded", "error"),
        ("Failed to initialize NVML: Insufficient Permissions", "nvml_not_initialized", "error"),
        ("NVML library version: 580.65", "nvml_not_initialized", "error"),
        ("No devices were found", "no_devices_found", "error"),
        ('Field "power.drawn" is not a valid field to query.', "invalid_field", "error"),
        ("Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost", "device_unreachable", "error"),
        ("Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error", "device_unreachable", "error"),
        ("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.", "invalid_arguments", "error"),
        ("WARNING: infoROM is corrupted at gpu 0000:4A:00.0", "inforom_corrupted", "warning"),
        ("No MIG-enabled devices found.", "no_mig_devices", "warning"),
        ("bash: nvidia-smi: command not found", "tool_not_found", "error"),
        ("sh: 1: nvidia-smi: not found", "tool_not_found", "error"),
        ("./x.sh: line 3: nvidia-smi: command not found", "tool_not_found", "error"),
    ],
)
def test_known_sentence(sentence: str, code: str, severity: str) -> None:
    for spelled in (sentence, f"  {sentence} \r", sentence.upper(), sentence.lower()):
        found = diagnostic(spelled, 7)
        assert found is not None
        assert (found.code, found.severity, found.line) == (code, severity, 7)


@pytest.mark.parametrize(
    "text", ["", "0, A, 1.00 W", "devices were found", "a line: No devices were found", "nvidia-smi -q"]
)
def test_other_text_is_no_sentence(text: str) -> None:
    assert diagnostic(text, 1) is None


def test_sentence_is_shown_cut() -> None:
    found = diagnostic("No devices were found" + "!" * 1000, 1)
    assert found is not None
    assert len(found.message) < 300


@pytest.mark.parametrize(
    ("ledger", "whole"),
    [
        (Ledger(), True),
        (Ledger(15, 1, 2, 3, 4, 5), True),
        (Ledger(14, 1, 2, 3, 4, 5), False),
        (Ledger(1), False),
        (Ledger(0, 1), False),
    ],
)
def test_ledger_is_whole(ledger: Ledger, whole: bool) -> None:
    assert ledger.is_whole is whole


def test_results_do_not_share_their_lists() -> None:
    one, other = Parsed(), Parsed()
    one.ledger.total = 1
    one.issues.append  # noqa: B018 - the attribute exists
    assert one.issues is not other.issues
    assert other.ledger.total == 0


def test_utf16_log_cut_within_a_character_loses_only_its_last_line() -> None:
    whole = "index\r\n0\r\n1"
    cut = codecs.BOM_UTF16_LE + whole.encode("utf-16-le") + b"\x31"
    assert to_utf8(cut) == f"{whole}\ufffd".encode()
