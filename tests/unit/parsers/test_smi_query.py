"""Parser of `nvidia-smi -q`: both forms, drift of labels over drivers, damage, and the real captures where present."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import CaptureError
from pipeline.parsed import CaptureFacts, Parsed
from pipeline.parsers import smi_query
from schemas import TABLES, arrow_schema

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "corpus" / "smi_query"
CAPTURES = ROOT.parent / "shared" / "captures"
REAL = sorted(
    [*CAPTURES.glob("smi_query/*.txt"), *CAPTURES.glob("smi_query/*.xml"), *CAPTURES.glob("smi/*/*-query.txt")]
)
BANNER = "==============NVSMI LOG==============\n"
GPU = "00000000:4A:00.0"

TWIN_TEXT = f"""
{BANNER}
Timestamp                 : Mon Nov  2 06:15:41 2026
Driver Version            : 590.48.01
CUDA Version              : 13.1

Attached GPUs             : 1
GPU {GPU}
    Product Name          : NVIDIA H100 80GB HBM3
    MIG Mode
        Current           : Enabled
        Pending           : Enabled
    MIG Device
        Index             : 0
        GPU Instance ID   : 1
        Device Attributes
            Shared
                OFA count : 1
        Shared FB Memory Usage
            Total         : 40448 MiB
    MIG Device
        Index             : 1
        GPU Instance ID   : 5
        Device Attributes
            Shared
                OFA count : 0
        Shared FB Memory Usage
            Total         : 20096 MiB
    GPU UUID              : GPU-5be0c1d2-77aa-4f10-9c3e-2f6b8d01e4a7
    GPU Recovery Action   : None
    PCI
        Bus               : 0x4A
        GPU Link Info
            Link Width
                Max       : 16x
        Tx Throughput     : 3875 KB/s
    Fan Speed             : N/A
    Clocks Event Reasons
        Idle              : Active
        HW Slowdown       : Not Active
            HW Thermal Slowdown : Not Active
    Clocks Event Reasons Counters
        SW Power Capping  : 212553937 us
    FB Memory Usage
        Total             : 81559 MiB
    Utilization
        GPU               : 7 %
    Remapped Rows
        Correctable Error : 4
        Bank Remap Availability Histogram
            Max           : 2560 bank(s)
    Temperature
        GPU Current Temp  : 32 C
        GPU T.Limit Temp  : 55 C
        GPU Shutdown T.Limit Temp      : -8 C
        GPU Slowdown T.Limit Temp      : -2 C
        GPU Max Operating T.Limit Temp : 0 C
        Memory Max Operating T.Limit Temp : 0 C
    GPU Power Readings
        Average Power Draw       : 69.85 W
        Instantaneous Power Draw : 70.02 W
        Current Power Limit      : 650.00 W
        Requested Power Limit    : 700.00 W
    Module Power Readings
        Average Power Draw       : N/A
        Current Power Limit      : 1000.00 W
    Clocks
        SM                : 345 MHz
    Applications Clocks
        Graphics          : Requested functionality has been deprecated
    Processes
        GPU instance ID   : 1
        Process ID        : 4711
            Type          : C
            Used GPU Memory : 512 MiB
        GPU instance ID   : 5
        Process ID        : 4712
            Type          : C
            Used GPU Memory : 64 MiB
"""

TWIN_XML = f"""<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
  <timestamp>Mon Nov  2 06:15:41 2026</timestamp>
  <driver_version>590.48.01</driver_version>
  <cuda_version>13.1</cuda_version>
  <attached_gpus>1</attached_gpus>
  <gpu id="{GPU}">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <mig_mode><current_mig>Enabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
    <mig_devices>
      <mig_device>
        <index>0</index><gpu_instance_id>1</gpu_instance_id>
        <device_attributes><shared><ofa_count>1</ofa_count></shared></device_attributes>
        <fb_memory_usage><total>40448 MiB</total></fb_memory_usage>
      </mig_device>
      <mig_device>
        <index>1</index><gpu_instance_id>5</gpu_instance_id>
        <device_attributes><shared><ofa_count>0</ofa_count></shared></device_attributes>
        <fb_memory_usage><total>20096 MiB</total></fb_memory_usage>
      </mig_device>
    </mig_devices>
    <uuid>GPU-5be0c1d2-77aa-4f10-9c3e-2f6b8d01e4a7</uuid>
    <gpu_recovery_action>None</gpu_recovery_action>
    <pci>
      <pci_bus>4A</pci_bus>
      <pci_gpu_link_info><link_widths><max_link_width>16x</max_link_width></link_widths></pci_gpu_link_info>
      <tx_util>3875 KB/s</tx_util>
    </pci>
    <fan_speed>N/A</fan_speed>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
      <clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
      <clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
    </clocks_event_reasons>
    <clocks_event_reasons_counters>
      <clocks_event_reasons_counters_sw_power_cap>212553937 us</clocks_event_reasons_counters_sw_power_cap>
    </clocks_event_reasons_counters>
    <fb_memory_usage><total>81559 MiB</total></fb_memory_usage>
    <utilization><gpu_util>7 %</gpu_util></utilization>
    <remapped_rows>
      <remapped_row_corr>4</remapped_row_corr>
      <row_remapper_histogram>
        <row_remapper_histogram_max>2560 bank(s)</row_remapper_histogram_max>
      </row_remapper_histogram>
    </remapped_rows>
    <temperature>
      <gpu_temp>32 C</gpu_temp>
      <gpu_temp_tlimit>55 C</gpu_temp_tlimit>
      <gpu_temp_max_tlimit_threshold>-8 C</gpu_temp_max_tlimit_threshold>
      <gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>
      <gpu_temp_max_gpu_tlimit_threshold>0 C</gpu_temp_max_gpu_tlimit_threshold>
      <gpu_temp_max_mem_tlimit_threshold>0 C</gpu_temp_max_mem_tlimit_threshold>
    </temperature>
    <gpu_power_readings>
      <average_power_draw>69.85 W</average_power_draw>
      <instant_power_draw>70.02 W</instant_power_draw>
      <current_power_limit>650.00 W</current_power_limit>
      <requested_power_limit>700.00 W</requested_power_limit>
    </gpu_power_readings>
    <module_power_readings>
      <average_power_draw>N/A</average_power_draw>
      <current_power_limit>1000.00 W</current_power_limit>
    </module_power_readings>
    <clocks><sm_clock>345 MHz</sm_clock></clocks>
    <applications_clocks>
      <graphics_clock>Requested functionality has been deprecated</graphics_clock>
    </applications_clocks>
    <processes>
      <process_info>
        <gpu_instance_id>1</gpu_instance_id><pid>4711</pid><type>C</type><used_memory>512 MiB</used_memory>
      </process_info>
      <process_info>
        <gpu_instance_id>5</gpu_instance_id><pid>4712</pid><type>C</type><used_memory>64 MiB</used_memory>
      </process_info>
    </processes>
  </gpu>
</nvidia_smi_log>
"""


def parse(text: str | bytes) -> Parsed:
    parsed = smi_query.parse(text if isinstance(text, bytes) else text.encode(), CaptureFacts())
    assert parsed.ledger.is_whole, parsed.ledger
    assert parsed.ledger.rows == parsed.tables["gpu_query"].num_rows
    return parsed


def rows(parsed: Parsed) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = parsed.tables["gpu_query"].to_pylist()
    return listed


def numbers(parsed: Parsed) -> dict[str, float]:
    """Numbers by field, of a capture in which each field stands once."""
    found = [(row["field"], row["value_number"]) for row in rows(parsed) if row["value_number"] is not None]
    assert len(found) == len(dict(found))
    return dict(found)


def codes(parsed: Parsed) -> list[str]:
    return [issue.code for issue in parsed.issues]


def text_log(body: str, head: str = f"GPU {GPU}\n") -> str:
    return BANNER + head + body


def xml_log(body: str) -> str:
    return f'<nvidia_smi_log><gpu id="{GPU}">{body}</gpu></nvidia_smi_log>'


def test_schema_is_that_of_the_table_without_stamps() -> None:
    full = arrow_schema(TABLES["gpu_query"])
    stamped = {"capture_id", "capture_sha256"}
    expected = [place for place in full if place.name not in stamped]
    for capture in (TWIN_TEXT, TWIN_XML, ""):
        assert list(parse(capture).tables["gpu_query"].schema) == expected


@pytest.mark.parametrize("name", ["drift-610.txt", "throttle-v11.xml"])
@pytest.mark.parametrize("crlf", [False, True])
def test_corpus_gives_its_expected_rows(name: str, crlf: bool) -> None:
    path = CORPUS / name
    data = path.read_bytes()
    parsed = parse(data.replace(b"\n", b"\r\n") if crlf else data)
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    assert rows(parsed) == expected["gpu_query"]
    assert parsed.quarantine is None


def test_remarks_of_the_drifted_capture() -> None:
    parsed = parse((CORPUS / "drift-610.txt").read_bytes())
    said = [(issue.severity, issue.code, issue.line, issue.subject) for issue in parsed.issues]
    assert said == [
        ("warning", "unparsable_value", 28, "Min Power Limit"),
        ("note", "unknown_label", 32, "Flux"),
    ]
    # Structure: two banners, two GPUs, and nine headings.
    ledger = parsed.ledger
    assert (ledger.total, ledger.rows, ledger.blank, ledger.structure, ledger.refused) == (46, 28, 5, 13, 0)


def test_text_and_xml_of_one_machine_say_the_same() -> None:
    def facts(capture: str) -> list[tuple[Any, ...]]:
        return sorted(
            (
                str(row["gpu"]),
                row["field"],
                row["block"] or 0,
                (row["value_text"] or "").removeprefix("0x"),  # text prints hex words with 0x, XML without
                str(row["value_number"]),
                str(row["unit"]),
                str(row["absent"]),
            )
            for row in rows(parse(capture))
            if row["field"] != "XML DTD Version"
        )

    assert facts(TWIN_TEXT) == facts(TWIN_XML)
    assert parse(TWIN_TEXT).issues == parse(TWIN_XML).issues == []
    assert len(facts(TWIN_TEXT)) == TWIN_TEXT.count(" : ") == 51


def test_mig_devices_and_processes_are_numbered_blocks() -> None:
    for capture in (TWIN_TEXT, TWIN_XML):
        found = {
            (row["field"], row["block"]): row["value_number"]
            for row in rows(parse(capture))
            if row["block"] is not None and row["value_number"] is not None
        }
        assert found == {
            ("MIG Device > Index", 1): 0,
            ("MIG Device > Index", 2): 1,
            ("MIG Device > GPU Instance ID", 1): 1,
            ("MIG Device > GPU Instance ID", 2): 5,
            ("MIG Device > Device Attributes > Shared > OFA count", 1): 1,
            ("MIG Device > Device Attributes > Shared > OFA count", 2): 0,
            ("MIG Device > Shared FB Memory Usage > Total", 1): 40448,
            ("MIG Device > Shared FB Memory Usage > Total", 2): 20096,
            ("Processes > GPU instance ID", 1): 1,
            ("Processes > GPU instance ID", 2): 5,
            ("Processes > Process ID", 1): 4711,
            ("Processes > Process ID", 2): 4712,
            ("Processes > Process ID > Used GPU Memory", 1): 512,
            ("Processes > Process ID > Used GPU Memory", 2): 64,
        }


def test_a_single_mig_device_or_process_has_a_block_and_other_sections_have_none() -> None:
    text = "    MIG Device\n        Index : 0\n    Clocks\n        SM : 5 MHz\n    Processes\n        Process ID : 7\n"
    assert [row["block"] for row in rows(parse(text_log(text)))] == [1, None, 1]
    xml = (
        "<mig_devices><mig_device><index>0</index></mig_device></mig_devices>"
        "<clocks><sm_clock>5 MHz</sm_clock></clocks><processes><process_info><pid>7</pid></process_info></processes>"
    )
    assert [row["block"] for row in rows(parse(xml_log(xml)))] == [1, None, 1]


def test_any_other_repeated_section_is_numbered_from_its_first() -> None:
    text = "    Clocks\n        SM : 5 MHz\n    Fan Speed : 1 %\n    Clocks\n        SM : 6 MHz\n"
    assert [row["block"] for row in rows(parse(text_log(text)))] == [1, None, 2]
    xml = "<clocks><sm_clock>5 MHz</sm_clock></clocks><clocks><sm_clock>6 MHz</sm_clock></clocks>"
    assert [row["block"] for row in rows(parse(xml_log(xml)))] == [1, 2]


def test_a_process_whose_first_label_is_damaged_does_not_join_the_one_before() -> None:
    text = (
        "    Processes\n        GPU instance ID : 1\n        Process ID : 7\n"
        "        GPU \x00 : 2\n        Process ID : 8\n        GPU instance ID : 3\n        Process ID : 9\n"
    )
    found = [(row["value_number"], row["block"]) for row in rows(parse(text_log(text)))]
    assert found == [(1, 1), (7, 1), (8, 2), (3, 3), (9, 3)]


def test_old_and_new_xml_give_the_same_fields() -> None:
    old = xml_log(
        "<clocks_throttle_reasons><clocks_throttle_reason_sw_power_cap>Active</clocks_throttle_reason_sw_power_cap>"
        "</clocks_throttle_reasons><power_readings><power_state>P0</power_state><power_draw>26.78 W</power_draw>"
        "<power_limit>60.00 W</power_limit><enforced_power_limit>55.00 W</enforced_power_limit>"
        "<default_power_limit>70.00 W</default_power_limit></power_readings>"
    )
    new = xml_log(
        "<clocks_event_reasons><clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>"
        "</clocks_event_reasons><gpu_power_readings><power_state>P0</power_state><power_draw>26.78 W</power_draw>"
        "<requested_power_limit>60.00 W</requested_power_limit><current_power_limit>55.00 W</current_power_limit>"
        "<default_power_limit>70.00 W</default_power_limit></gpu_power_readings>"
    )
    facts = [[(row["field"], row["value_text"], row["value_number"]) for row in rows(parse(xml))] for xml in (old, new)]
    assert facts[0] == facts[1]
    assert facts[0] == [
        ("Clocks Event Reasons > SW Power Cap", "Active", None),
        ("GPU Power Readings > Power State", "P0", None),
        ("GPU Power Readings > Power Draw", "26.78 W", 26.78),
        ("GPU Power Readings > Requested Power Limit", "60.00 W", 60.0),
        ("GPU Power Readings > Current Power Limit", "55.00 W", 55.0),
        ("GPU Power Readings > Default Power Limit", "70.00 W", 70.0),
    ]


def test_power_labels_of_old_text_and_module_power_stay_apart() -> None:
    text = (
        "    Power Readings\n        Power Limit : 60.00 W\n        Enforced Power Limit : 55.00 W\n"
        "    Module Power Readings\n        Current Power Limit : 900.00 W\n"
    )
    assert numbers(parse(text_log(text))) == {
        "GPU Power Readings > Requested Power Limit": 60.0,
        "GPU Power Readings > Current Power Limit": 55.0,
        "Module Power Readings > Current Power Limit": 900.0,
    }


def test_absolute_thresholds_and_offsets_are_different_fields() -> None:
    absolute = "    Temperature\n        GPU Shutdown Temp : 95 C\n        GPU Slowdown Temp : 89 C\n"
    offsets = "    Temperature\n        GPU Shutdown T.Limit Temp : -8 C\n        GPU Slowdown T.Limit Temp : -2 C\n"
    assert numbers(parse(text_log(absolute))) == {
        "Temperature > GPU Shutdown Temp": 95,
        "Temperature > GPU Slowdown Temp": 89,
    }
    assert numbers(parse(text_log(offsets))) == {
        "Temperature > GPU Shutdown T.Limit Temp": -8,
        "Temperature > GPU Slowdown T.Limit Temp": -2,
    }


def test_two_gpus_each_with_their_own_offsets() -> None:
    def gpu(bus_id: str, margin: int) -> str:
        return (
            f"GPU {bus_id}\n    Temperature\n        GPU T.Limit Temp          : {margin} C\n"
            "        GPU Shutdown T.Limit Temp : -8 C\n        GPU Slowdown T.Limit Temp : -2 C\n\n"
        )

    parsed = parse(BANNER + "\nAttached GPUs : 2\n" + gpu("00000000:19:00.0", 55) + gpu("00000000:3B:00.0", 57))
    found = [(row["gpu"], row["label"], row["value_number"]) for row in rows(parsed)]
    assert found == [
        (None, "Attached GPUs", 2),
        ("00000000:19:00.0", "GPU T.Limit Temp", 55),
        ("00000000:19:00.0", "GPU Shutdown T.Limit Temp", -8),
        ("00000000:19:00.0", "GPU Slowdown T.Limit Temp", -2),
        ("00000000:3B:00.0", "GPU T.Limit Temp", 57),
        ("00000000:3B:00.0", "GPU Shutdown T.Limit Temp", -8),
        ("00000000:3B:00.0", "GPU Slowdown T.Limit Temp", -2),
    ]


def test_loops_number_their_documents() -> None:
    assert Counter(row["document"] for row in rows(parse(TWIN_TEXT * 3))) == {1: 51, 2: 51, 3: 51}
    looped = rows(parse(TWIN_XML * 2))
    assert Counter(row["document"] for row in looped) == {1: 52, 2: 52}  # the DOCTYPE is one more
    # The twin's DOCTYPE stands in its second line, and the twin has as many lines as it has line feeds.
    assert [row["capture_line"] for row in looped if row["label"] == "nvsmi_device_dtd"] == [
        2,
        2 + TWIN_XML.count("\n"),
    ]


def test_an_xml_loop_with_a_cut_document_in_the_middle_keeps_the_next_one() -> None:
    parsed = parse(TWIN_XML[: TWIN_XML.index("<temperature>")] + "\n" + TWIN_XML)
    assert codes(parsed) == ["xml_malformed"]
    assert Counter(row["document"] for row in rows(parsed))[2] == 52


@pytest.mark.parametrize(
    ("printed", "field", "cells"),
    [
        ("662.500 mV", "Voltage > Graphics", ("662.500 mV", 662.5, "mV", None)),
        ("0 us", "Clocks Event Reasons Counters > Sync Boost", ("0 us", 0.0, "us", None)),
        ("100.00%", "EDPp Multiplier", ("100.00%", 100.0, "%", None)),
        (
            "192 bank(s)",
            "Remapped Rows > Bank Remap Availability Histogram > Low",
            ("192 bank(s)", 192.0, "bank(s)", None),
        ),
        ("0 ms", "Encoder Stats > Average Latency", ("0 ms", 0.0, "ms", None)),
        ("None", "Addressing Mode", ("None", None, None, None)),
        ("1650522003820", "Serial Number", ("1650522003820", None, None, None)),
        ("13.1", "CUDA Version", ("13.1", None, None, None)),
        ("0x9", "Board ID", ("0x9", None, None, None)),
        ("ERR!", "Fan Speed", (None, None, None, "value_number=error value_text=error")),
        ("[GPU is lost]", "Product Name", (None, None, None, "value_text=error")),
        ("1980 MH", "Clocks > SM", ("1980 MH", None, None, "value_number=unparsable")),
        ("1980", "Clocks > SM", ("1980", None, None, "value_number=unparsable")),
        ("1_980 MHz", "Clocks > SM", ("1_980 MHz", None, None, "value_number=unparsable")),
        ("\u0661\u0662 MHz", "Clocks > SM", ("\u0661\u0662 MHz", None, None, "value_number=unparsable")),
        ("1e3 MHz", "Clocks > SM", ("1e3 MHz", None, None, "value_number=unparsable")),
        ("nan MHz", "Clocks > SM", ("nan MHz", None, None, "value_number=unparsable")),
        ("9" * 19 + " MHz", "Clocks > SM", ("9" * 19 + " MHz", None, None, "value_number=unparsable")),
        ("1,5 W", "GPU Power Readings > Max Power Limit", ("1,5 W", None, None, "value_number=unparsable")),
    ],
)
def test_values(printed: str, field: str, cells: tuple[Any, ...]) -> None:
    *sections, label = field.split(" > ")
    lines = [f"{'    ' * depth}{name}\n" for depth, name in enumerate(sections, 1)]
    parsed = parse(text_log("".join(lines) + f"{'    ' * (len(sections) + 1)}{label} : {printed}\n"))
    (row,) = rows(parsed)
    assert row["field"] == field
    assert (row["value_text"], row["value_number"], row["unit"], row["absent"]) == cells


def test_unparsable_values_warn_once_per_label() -> None:
    text = "    Clocks\n        SM : fast\n        Memory : slow\n"
    parsed = parse(text_log(text) + f"GPU {GPU}\n" + text)
    said = [(issue.code, issue.severity, issue.line, issue.subject) for issue in parsed.issues]
    assert said == [("unparsable_value", "warning", 4, "SM"), ("unparsable_value", "warning", 5, "Memory")]


def test_unknown_labels_are_kept_with_one_note_each() -> None:
    parsed = parse(text_log("    Warp Factor : 9\n    Warp Clock : 5 MHz\n") + f"GPU {GPU}\n    Warp Factor : 8\n")
    cells = [(row["field"], row["value_text"], row["value_number"], row["unit"]) for row in rows(parsed)]
    assert cells == [(None, "9", None, None), (None, "5 MHz", 5.0, "MHz"), (None, "8", None, None)]
    said = [(issue.severity, issue.code, issue.line, issue.subject) for issue in parsed.issues]
    assert said == [("note", "unknown_label", 3, "Warp Factor"), ("note", "unknown_label", 4, "Warp Clock")]
    (issue,) = parse(xml_log("<warp>1</warp><warp>2</warp>")).issues
    assert (issue.code, issue.subject) == ("unknown_label", "warp")


def test_a_section_that_prints_a_token_in_place_of_its_labels_is_known() -> None:
    parsed = parse(text_log("    Clocks Throttle Reasons : N/A\n    Temperature : N/A\n    Processes : None\n"))
    cells = [(row["field"], row["value_text"], row["absent"], row["block"]) for row in rows(parsed)]
    assert cells == [
        ("Clocks Event Reasons", None, "value_text=not_supported", None),
        ("Temperature", None, "value_text=not_supported", None),
        ("Processes", "None", None, None),
    ]
    assert parsed.issues == []


def test_driver_failure_is_quarantined_with_its_reason() -> None:
    sentence = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Try again.\n\n"
    parsed = parse(sentence)
    assert (parsed.quarantine, parsed.ledger.refused, parsed.ledger.blank) == ("driver_not_loaded", 1, 1)
    assert parse(BANNER + "No devices were found\n").quarantine == "no_devices_found"
    assert parse("").quarantine == "no_rows"
    assert parse("hello\n").quarantine == "no_rows"


def test_a_sentence_between_rows_costs_only_itself() -> None:
    text = text_log(
        "    Clocks\n        SM : 5 MHz\nWARNING: infoROM is corrupted at gpu 0000:4A:00.0\n        Memory : 6 MHz\n"
    )
    parsed = parse(text)
    assert numbers(parsed) == {"Clocks > SM": 5, "Clocks > Memory": 6}
    assert [(issue.severity, issue.code, issue.line) for issue in parsed.issues] == [
        ("warning", "inforom_corrupted", 5)
    ]
    assert (parsed.quarantine, parsed.ledger.refused) == (None, 1)
    assert codes(parse("No devices were found\n" + TWIN_XML)) == ["no_devices_found"]


def test_below_a_damaged_heading_nothing_is_read_as_something_else() -> None:
    text = text_log(
        "    FB Memory Usage\n        Total : 5 MiB\n    BAR\x00Usage\n        Total : 7 MiB\n    Fan Speed : 1 %\n"
    )
    parsed = parse(text)
    assert numbers(parsed) == {"FB Memory Usage > Total": 5, "Fan Speed": 1}
    assert [(issue.code, issue.line) for issue in parsed.issues] == [("nul_bytes", 5), ("unparsed_line", 6)]


def test_below_a_damaged_gpu_heading_the_gpu_is_unknown() -> None:
    parsed = parse(text_log("    Fan Speed : 1 %\nGPU 0000\n    Fan Speed : 2 %\n"))
    assert [(row["gpu"], row["value_number"]) for row in rows(parsed)] == [(GPU, 1), (None, 2)]
    assert [(issue.code, issue.severity, issue.line) for issue in parsed.issues] == [("unparsed_line", "error", 4)]


@pytest.mark.parametrize(
    "line",
    ["    Fan Spee", "  Fan Speed : 1 %", "            Fan Speed : 1 %", "     : 1 %", "    " + "x" * 129 + " : 1"],
    ids=["cut", "odd indentation", "no heading above", "no label", "long label"],
)
def test_lines_that_cannot_be_read_are_refused(line: str) -> None:
    parsed = parse(text_log("    Clocks\n        SM : 5 MHz\n") + f"GPU {GPU}\n{line}\n")
    (issue,) = parsed.issues
    assert (issue.code, issue.severity, issue.line) == ("unparsed_line", "error", 6)
    assert "found" in issue.message
    assert "expected" in issue.message
    assert (parsed.ledger.rows, parsed.ledger.refused) == (1, 1)


def test_many_refused_lines_are_counted_not_listed() -> None:
    parsed = parse(text_log("x\n" * 1_500))
    assert len(parsed.issues) == 1_001
    assert parsed.issues[-1].message.startswith("and 500 more like this from here on: ")
    assert (parsed.issues[-1].line, parsed.ledger.refused) == (1_003, 1_500)


def test_truncated_xml_keeps_its_rows_and_says_what_is_missing() -> None:
    cut = TWIN_XML[: TWIN_XML.index(" C</gpu_temp_tlimit>")]
    parsed = parse(cut)
    found = rows(parsed)
    assert (found[-1]["field"], found[-1]["value_number"]) == ("Temperature > GPU Current Temp", 32)
    (issue,) = parsed.issues
    assert (issue.severity, issue.code, issue.line) == ("error", "xml_malformed", cut.count("\n") + 1)
    assert (parsed.quarantine, parsed.ledger.refused, parsed.ledger.counted) == (None, 1, "elements")


def test_xml_with_nothing_usable_is_quarantined() -> None:
    assert parse("<nvidia_smi_log><gpu").quarantine == "xml_malformed"
    assert parse("<nvidia_smi_log></nvidia_smi_log>").quarantine == "no_rows"
    assert parse('<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log').quarantine == "xml_malformed"
    assert parse("<html></html>").quarantine == "no_rows"
    assert parse("<nvidia_smi_log>" + "<a>" * 100).quarantine == "xml_too_deep"
    assert parse(f"<nvidia_smi_log><{'n' * 600}/></nvidia_smi_log>").quarantine == "xml_too_deep"


def test_text_between_elements_is_refused_not_lost() -> None:
    parsed = parse(xml_log("<clocks>....More of these<sm_clock>5 MHz</sm_clock> and these</clocks>"))
    assert numbers(parsed) == {"Clocks > SM": 5}
    assert codes(parsed) == ["unparsed_text"]


@pytest.mark.parametrize(
    "doctype",
    [
        '[<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]',
        '[<!ENTITY x SYSTEM "file:///etc/passwd">]',
        '[<!ENTITY % p SYSTEM "http://127.0.0.1/x"> %p;]',
    ],
)
def test_entities_are_refused(doctype: str) -> None:
    xml = f"<?xml version='1.0'?><!DOCTYPE nvidia_smi_log {doctype}>{xml_log('<serial>&c;</serial>')}"
    with pytest.raises(CaptureError) as caught:
        parse(xml)
    assert caught.value.code == "xml_entity_refused"


def test_undeclared_entities_are_refused_and_the_dtd_is_not_loaded() -> None:
    doctype = '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">'
    with pytest.raises(CaptureError, match="xml_entity_refused"):
        parse(doctype + xml_log("<serial>&unknown;</serial>"))
    assert [row["value_text"] for row in rows(parse(doctype + xml_log("<serial>&lt;1&gt;</serial>")))] == ["v13", "<1>"]


def test_utf16_captures_read_like_utf8() -> None:
    plain = rows(parse(TWIN_TEXT))
    for encoding, bom in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"), ("utf-8", b"\xef\xbb\xbf")):
        assert rows(parse(bom + TWIN_TEXT.encode(encoding))) == plain
    assert len(rows(parse(b"\xff\xfe" + TWIN_XML.encode("utf-16-le")))) == 52


def test_detect() -> None:
    assert smi_query.detect(TWIN_TEXT.encode())
    assert smi_query.detect(TWIN_XML.encode())
    assert not smi_query.detect(b"GPU 0: NVIDIA H100 (UUID: GPU-1)\n")
    assert not smi_query.detect(b"timestamp, name\n")
    assert not smi_query.detect(b"")


def test_reference_names_no_path_twice() -> None:
    lines = (ROOT / "pipeline" / "reference" / "smi_query_fields.csv").read_text().splitlines()
    assert lines[0] == "field,kind,unit,text_synonyms,xml_paths,source"
    import csv

    entries = list(csv.DictReader(lines))
    texts = [path.casefold() for e in entries for path in {e["field"], *filter(None, e["text_synonyms"].split(" | "))}]
    xmls = [path for e in entries for path in filter(None, e["xml_paths"].split(" | "))]
    folded = [path for path, count in Counter(texts).items() if count > 1]
    assert folded in ([], ["utilization > gpu"])  # one field, printed Gpu and GPU
    assert len(xmls) == len(set(xmls))
    assert {e["kind"] for e in entries} == {"number", "text"}
    assert all(e["source"] for e in entries)


LINES = st.sampled_from(
    [
        BANNER,
        f"GPU {GPU}\n",
        "GPU x\n",
        "    Processes\n",
        "    MIG Device\n",
        "        Process ID : 1\n",
        "        Index : 0\n",
        "            Type : C\n",
        "        Type\n",
        "\n",
        "\t\n",
        "Timestamp : now\n",
        "  odd : 1\n",
        "No devices were found\n",
        "    Fan Speed : \u0661 %\n",
        "x\x00\n",
    ]
)
TAGS = st.sampled_from(
    [
        "<?xml version='1.0'?>",
        '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">',
        "<nvidia_smi_log>",
        "</nvidia_smi_log>",
        f"<gpu id='{GPU}'>",
        "</gpu>",
        "<processes>",
        "</processes>",
        "<pid>1</pid>",
        "<pid>",
        "text\n",
        "<!--",
        "<![CDATA[</nvidia_smi_log>]]>",
    ]
)


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=400),
        st.lists(LINES, max_size=25).map(lambda lines: "".join(lines).encode()),
        st.lists(TAGS, max_size=25).map(lambda tags: ("<nvidia_smi_log>" + "".join(tags)).encode()),
        st.tuples(st.integers(0, 2_000), st.binary(max_size=4)).map(
            lambda cut: TWIN_XML.encode()[: cut[0]] + cut[1] + TWIN_XML.encode()[cut[0] + 7 :]
        ),
        st.tuples(st.integers(0, 2_000), st.binary(max_size=4)).map(
            lambda cut: TWIN_TEXT.encode()[: cut[0]] + cut[1] + TWIN_TEXT.encode()[cut[0] + 7 :]
        ),
    )
)
def test_any_bytes_are_accounted_for(data: bytes) -> None:
    smi_query.detect(data)
    try:
        parsed = parse(data)
    except CaptureError:
        return
    assert (parsed.quarantine is None) == (parsed.tables["gpu_query"].num_rows > 0)


@pytest.mark.parametrize(
    "unit",
    [
        "    a : b\n",
        " : ",
        "    " + "h" * 120 + "\n        a : b\n",
        "<nvidia_smi_log><gpu>",
        "x<pid>&amp;</pid>",
        "=" * 99,
    ],
)
def test_time_grows_with_size_only(unit: str) -> None:
    head = "<nvidia_smi_log>" if "<" in unit else text_log("")

    def seconds(size: int) -> float:
        data = head + unit * (size // len(unit))
        start = time.process_time()
        parse(data)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(256_000) < 16 * max(seconds(64_000), 0.01)


@pytest.mark.skipif(not REAL, reason=f"no real captures under {CAPTURES}")
def test_real_captures_are_read_whole() -> None:
    for path in REAL:
        data = path.read_bytes()
        assert smi_query.detect(data[:65_536]), path
        parsed = parse(data)
        # Counted in the files: this one says that 4 GPUs are attached, and holds one gpu element.
        expected = [("gpus_missing", 7)] if path.name == "tg-a100-sxm4-v12.xml" else []
        assert [(issue.code, issue.line) for issue in parsed.issues] == expected, path
        assert (parsed.ledger.refused, parsed.quarantine) == (0, None), path
        assert all(row["field"] for row in rows(parsed)), path


def _real(name: str) -> list[dict[str, Any]]:
    path = CAPTURES / name
    if not path.exists():
        pytest.skip(f"no real capture {path}")
    return rows(parse(path.read_bytes()))


def test_real_h100_node_has_eight_gpus_with_the_same_offsets() -> None:
    found = _real("smi_query/gpud-h100x8-535.161.08.txt")
    for field, offset in (("GPU Slowdown T.Limit Temp", -2), ("GPU Shutdown T.Limit Temp", -8)):
        offsets = {row["gpu"]: row["value_number"] for row in found if row["field"] == f"Temperature > {field}"}
        assert len(offsets) == 8
        assert set(offsets.values()) == {offset}


def test_real_a100_xml_has_absolute_thresholds_and_mig_devices() -> None:
    found = _real("smi_query/tg-a100-sxm4-v12.xml")
    by_field = {row["field"]: row["value_number"] for row in found}
    assert by_field["Temperature > GPU Slowdown Temp"] == 89
    assert by_field["Temperature > GPU Shutdown Temp"] == 92
    assert by_field["Temperature > GPU Max Operating Temp"] == 85
    assert by_field["Temperature > Memory Max Operating Temp"] == 95
    assert "Temperature > GPU Slowdown T.Limit Temp" not in by_field
    instances = {row["block"]: row["value_number"] for row in found if row["field"] == "MIG Device > GPU Instance ID"}
    assert instances == {1: 3, 2: 4, 3: 5, 4: 6}


def test_real_mig_text_has_blocks_and_processes() -> None:
    found = _real("smi/h100-mig__590.48.01/load-query.txt")
    instances = {row["block"]: row["value_number"] for row in found if row["field"] == "MIG Device > GPU Instance ID"}
    assert instances == {1: 2, 2: 3, 3: 9, 4: 10}
    memory = {row["block"]: row["value_number"] for row in found if row["label"] == "Used GPU Memory"}
    assert memory == {1: 2296, 2: 1272, 3: 7484}


@pytest.mark.parametrize("tail", ["GPU UUID : GPU-0000701e-52d1", "Bus Id : 00000000:01:00.0", "Minor Number : 1"])
def test_last_line_without_newline_is_no_fact(tail: str) -> None:
    text = "==============NVSMI LOG==============\nGPU 00000000:01:00.0\n    Product Name : NVIDIA L4\n"
    parsed = parse(f"{text}    {tail}".encode())
    assert [row["label"] for row in rows(parsed)] == ["Product Name"]
    assert [(issue.severity, issue.code, issue.line) for issue in parsed.issues] == [("warning", "truncated_row", 4)]
    assert (parsed.ledger.refused, parsed.ledger.is_whole) == (1, True)


@pytest.mark.parametrize(("said", "codes"), [(1, []), (2, ["gpus_missing"])])
def test_gpus_that_are_said_but_not_shown_are_remarked(said: int, codes: list[str]) -> None:
    text = f"==============NVSMI LOG==============\nAttached GPUs : {said}\nGPU 00000000:01:00.0\n"
    parsed = parse(f"{text}    Product Name : NVIDIA L4\n".encode())
    assert [issue.code for issue in parsed.issues] == codes
    xml = f"<nvidia_smi_log><attached_gpus>{said}</attached_gpus><gpu id='00000000:01:00.0'>"
    xml += "<product_name>NVIDIA L4</product_name></gpu></nvidia_smi_log>"
    assert [issue.code for issue in parse(xml.encode()).issues] == codes
