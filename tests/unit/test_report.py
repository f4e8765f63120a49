"""The report over the bundled captures, counted by hand, and the fold of verdicts."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline import database
from pipeline.ingest import ingest
from pipeline.report import build, fold
from pipeline.report_model import Cell, Evidence, Report, ReportTable, Unknown
from pipeline.store import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
H100 = "GPU-3b7e90c4-52d1-4f8a-9e16-c07d41a8b25f"
RTX_3070 = "GPU-c95a1e07-3d48-4b62-8f7b-60e2d94a1c38"
A5000 = "GPU-7d02f5b8-16ac-4e93-b0d4-85c3e97f2a61"
A100 = "GPU-a2c6d813-9f40-4b57-8e21-7b35f0d9c46a"
CHILDREN = (
    "MIG-0b94f6d2-7a1e-5c83-9d47-f5e2183ac06d",
    "MIG-5e81c07a-d3b4-5926-a1f8-20c96e7d4b35",
    "MIG-92d8ab41-06f7-53ec-b75c-4ea0c8d61f93",
    "MIG-c7350e9f-48d6-5ab1-8026-913bd4f7e5a8",
)


def make_store(root: Path) -> Store:
    store = open_store(root / "evidence", create=True)
    ingest(store, [ROOT / "captures"])
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def opened(store: Store) -> database.Database:
    return database.connect(store, materialise=True)


@pytest.fixture(scope="module")
def report(opened: database.Database) -> Report:
    return build(opened)


def table(report: Report, name: str) -> ReportTable:
    return next(found for section in report.sections for found in section.tables if found.id == name)


def rows(report: Report, name: str) -> list[dict[str, Cell]]:
    found = table(report, name)
    names = [column.name for column in found.columns]
    return [dict(zip(names, row, strict=True)) for row in found.rows]


def row(report: Report, name: str, key: str, value: str) -> dict[str, Cell]:
    (found,) = [candidate for candidate in rows(report, name) if candidate[key] == value]
    return found


def test_counts_of_the_first_page(report: Report) -> None:
    # 15 files: 4 of the simulated A100, 2 of the H100, 1 of the RTX 3070, 2 of the RTX A5000 (its log is made up),
    # a DCGM header and catalogue, a decision, and 3 scenarios, which are simulations too.
    assert dict(report.facts) == {
        "Captures": 15,
        "Accepted whole": 15,
        "Accepted with refused lines": 0,
        "Quarantined": 0,
        "Simulated": 8,
        "Not said whether simulated": 0,
        "Source not said": 0,
        "Claimed hash not verified": 2,
        "GPUs": 4,
    }


def test_headline_and_verdicts(report: Report) -> None:
    # 15 captures are whole; the 2 claims of the H100 cannot hold, because the claimed bytes were never published, and
    # what was accepted rests on them. The contract's fields are defined. Of the 2 scenarios with demands one has a GPU
    # without a profile; the legacy one keeps within its thermal envelope.
    assert report.overall == "indeterminate"
    assert report.headline == "18 of 22 requirements pass, 0 fail, 4 are indeterminate. Indeterminate is not a pass."
    doubtful = [verdict for verdict in report.verdicts if verdict.verdict != "pass"]
    assert [(verdict.subject, verdict.requirement, verdict.reason_code) for verdict in doubtful] == [
        ("captures/h100-sxm-595.91.07/gpu.csv", "claim_is_verified", "CLAIM_UNVERIFIED"),
        ("captures/h100-sxm-595.91.07/query.txt", "claim_is_verified", "CLAIM_UNVERIFIED"),
        ("h100_sxm_80gb, driver 595.91.07", "contract_profile_stands", "RESTS_ON_CLAIM"),
        ("two-pools", "scenario_is_evaluated", "PROFILE_MISSING"),
    ]
    assert all(isinstance(verdict.evidence[0], Evidence) for verdict in report.verdicts)


@pytest.mark.parametrize(
    ("path", "kind", "source", "simulated", "claim", "lines", "became"),
    [
        ("a100-mig-simulated/gpu.csv", "smi_csv", "host_observation", True, "no claim", 2, 1),
        ("a100-mig-simulated/lci.txt", "smi_mig", "host_observation", True, "no claim", 14, 4),
        ("a100-mig-simulated/lgi.txt", "smi_mig", "host_observation", True, "no claim", 13, 4),
        ("a100-mig-simulated/list.txt", "smi_list", "host_observation", True, "no claim", 5, 5),
        ("h100-sxm-595.91.07/gpu.csv", "smi_csv", "published_claim", False, "claim_unverified", 2, 1),
        ("h100-sxm-595.91.07/query.txt", "smi_query", "published_claim", False, "claim_unverified", 63, None),
        ("rtx-3070-616.56/gpu.csv", "smi_csv", "published_claim", False, "no claim", 1, 1),
        ("rtx-a5000/clocks.csv", "smi_csv", "mock", True, "no claim", 121, 120),
        ("rtx-a5000/power.csv", "smi_csv", "published_claim", False, "no claim", 2, 1),
    ],
)
def test_capture_row(
    report: Report, path: str, kind: str, source: str, simulated: bool, claim: str, lines: int, became: int | None
) -> None:
    found = row(report, "captures", "path", f"captures/{path}")
    assert (found["kind"], found["source"], found["is_simulated"]) == (kind, source, simulated)
    assert (found["claim_status"], found["status"]) == (claim, "accepted")
    assert (found["total_count"], found["refused_count"]) == (lines, 0)
    assert became is None or found["row_count"] == became


def test_no_more_captures_than_those(report: Report) -> None:
    assert len(rows(report, "captures")) == 15


def test_the_contract(report: Report) -> None:
    (found,) = rows(report, "profiles")
    assert [found[name] for name in ("product", "driver_version", "status")] == [
        "h100_sxm_80gb",
        "595.91.07",
        "accepted",
    ]
    assert [found[f"core_{name}_c"] for name in ("slowdown", "shutdown", "reference")] == [89, 95, 87]
    assert (found["rests_on_claim"], found["hbm_limit_c"]) == (True, Unknown("NOT_ESTABLISHED"))
    assert rows(report, "contradictions") == []
    coverage = {cells["field_name"]: cells for cells in rows(report, "coverage")}
    assert len(coverage) == 14
    margin = coverage["DCGM_FI_DEV_GPU_TEMP_LIMIT"]
    assert (margin["field_id"], margin["header_name"]) == (153, "DCGM_FI_DEV_GPU_TEMP_MARGIN_CELSIUS")
    assert margin["smi_field"] == "temperature.gpu.tlimit"


@pytest.mark.parametrize(
    ("gpu", "state", "sm"),
    [
        ("node1-gpu0", "active", 1410),  # 90.5 C
        ("node1-gpu1", "active", 1620),  # 560 W of 500 W
        ("node1-gpu2", "active", 1410),  # both: the least of 1980, 1410 and 1620
        ("node1-gpu3", "inactive", 1980),  # exactly 89 C and exactly 700 W
        ("node2-gpu0", "inactive", 1980),  # equal caps
        ("node2-gpu1", "inactive", 1980),
        ("node2-gpu2", "not_evaluated", Unknown("GPU_UNAVAILABLE")),
        ("node2-gpu3", "inactive", 1980),
        ("train-gpu0", "active", 1620),  # 70 + 0.9 x (620 + 0.25 x 200 - 70) = 610 W of 600 W
        ("train-gpu1", "active", 1620),  # 70 + 0.9 x (820 - 70) = 745 W of 600 W
        ("train-gpu2", "inactive", 1980),
        ("train-gpu3", "inactive", 1980),
        ("serve0", "not_evaluated", Unknown("PROFILE_MISSING")),
    ],
)
def test_the_scenarios(report: Report, gpu: str, state: str, sm: Cell) -> None:
    found = row(report, "constraints", "gpu_id", gpu)
    assert (found["limiter_state"], found["achieved_sm_clock_mhz"]) == (state, sm)


def test_charts_show_what_the_table_says(report: Report) -> None:
    charts = [chart for section in report.sections for chart in section.charts]
    assert [len(chart.panels[0].points) for chart in charts] == [8, 5]
    points = {point.name: point for point in charts[0].panels[0].points}
    assert (points["node1-gpu0"].requested, points["node1-gpu0"].achieved) == (1980, 1410)
    assert points["node2-gpu2"].achieved is None


def test_nothing_is_odd_about_the_bundled_captures(report: Report) -> None:
    assert rows(report, "remarks") == []


def test_devices(report: Report) -> None:
    found = {
        item["device_id"]: (item["model"], item["product"], item["driver_version"], item["vbios_version"])
        for item in rows(report, "gpus")
    }
    missing = Unknown("NOT_RECORDED")
    assert found == {
        H100: ("NVIDIA H100 80GB HBM3", "h100_sxm_80gb", "595.91.07", missing),
        RTX_3070: ("NVIDIA GeForce RTX 3070", "geforce_rtx_3070_8gb", "616.56", "94.04.67.00.59"),
        A5000: ("NVIDIA RTX A5000", "rtx_a5000_24gb", missing, missing),
        A100: ("NVIDIA A100-SXM4-40GB", "a100_sxm_40gb", "580.65.06", "92.00.19.00.10"),
    }
    bus = {item["device_id"]: item["pci_bus_id"] for item in rows(report, "gpus")}
    assert bus == {H100: "00000000:1B:00.0", RTX_3070: "00000000:01:00.0", A5000: missing, A100: "00000000:07:00.0"}


def test_devices_carry_their_marks(report: Report) -> None:
    found = {item["device_id"]: (item["source"], item["is_simulated"]) for item in rows(report, "gpus")}
    assert found == {
        H100: ("published_claim", False),
        RTX_3070: ("published_claim", False),
        # One of its two captures is made up: the device is marked.
        A5000: ("mock, published_claim", True),
        A100: ("host_observation", True),
    }


def test_facts_of_the_gpus(report: Report) -> None:
    found = {
        item["device_id"]: (item["partitioning"], item["supported_capabilities"]) for item in rows(report, "facts")
    }
    assert found == {
        H100: ("none", "mig"),
        RTX_3070: ("none", "none"),
        A5000: (Unknown("NOT_RECORDED"), Unknown("NOT_RECORDED")),
        A100: ("mig", "mig"),
    }


def test_what_no_capture_says_is_unknown_for_every_gpu(report: Report) -> None:
    for item in rows(report, "facts"):
        assert item["time_slicing"] == item["mps"] == Unknown("SHARING_CONFIG_NEEDED")
        assert item["virtualization"] == Unknown("HOST_STATE_NEEDED")
        assert item["region"] == item["assigned_tenant"] == Unknown("ADMIN_ASSERTION_NEEDED")
        assert item["attestation"] == Unknown("UNSUPPORTED")


def fnv1a64(text: str) -> str:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"fnv1a64:{value:016x}"


def test_layout_of_the_simulated_a100(report: Report) -> None:
    (layout,) = rows(report, "layouts")
    assert layout["parent_device_id"] == A100
    assert layout["config_generation"] == fnv1a64("\n".join(CHILDREN))
    assert (layout["child_count"], layout["is_current"], layout["is_partial_view"]) == (4, True, False)
    assert layout["observed_at"] == Unknown("TIME_NOT_RECORDED")
    assert (layout["source"], layout["is_simulated"]) == ("host_observation", True)


def test_children_of_the_simulated_a100(report: Report) -> None:
    found = rows(report, "mig_devices")
    assert {item["device_id"] for item in found} == set(CHILDREN)
    assert [(item["mig_profile"], item["gpu_instance_slices"], item["memory_gb"]) for item in found] == [
        ("3g.20gb", 3, 20.0),
        ("2g.10gb", 2, 10.0),
        ("1g.5gb", 1, 5.0),
        ("1g.5gb", 1, 5.0),
    ]
    # No join by position: new-style UUIDs spell no ids, so they stay unknown.
    ids = {item[name] for item in found for name in ("gpu_instance_id", "compute_instance_id")}
    assert ids == {Unknown("NOT_IN_LISTING")}
    assert {item["is_stale"] for item in found} == {False}


def test_readings(report: Report) -> None:
    log = row(report, "readings", "path", "captures/rtx-a5000/clocks.csv")
    assert (log["gpu"], log["rows"]) == (A5000, 120)
    assert (log["sm_clock_min_mhz"], log["sm_clock_max_mhz"], log["power_draw_max_w"]) == (210, 1695, 230.9)
    power = row(report, "readings", "path", "captures/rtx-a5000/power.csv")
    assert power["sm_clock_min_mhz"] == power["power_draw_max_w"] == power["core_temp_max_c"] == Unknown("not_recorded")
    h100 = row(report, "readings", "path", "captures/h100-sxm-595.91.07/gpu.csv")
    assert (h100["sm_clock_max_mhz"], h100["power_draw_min_w"], h100["core_temp_max_c"]) == (345, 68.47, 32)


def test_every_evidence_is_a_line_of_a_bundled_capture(report: Report, store: Store) -> None:
    cited = [cell for section in report.sections for found in section.tables for line in found.rows for cell in line]
    evidence = {cell for cell in cited if isinstance(cell, Evidence)}
    assert evidence
    for cell in evidence:
        lines = store.read_raw(cell.capture_sha256).count(b"\n")
        assert cell.line is None or 1 <= cell.line <= lines


def test_every_row_has_a_cell_for_every_column(report: Report) -> None:
    for section in report.sections:
        for found in section.tables:
            assert all(len(line) == len(found.columns) for line in found.rows)
    ids = [found.id for section in report.sections for found in section.tables]
    assert len(set(ids)) == len(ids)


def as_text(report: Report) -> str:
    return json.dumps(asdict(report), default=str, ensure_ascii=False)


def test_report_holds_nothing_of_this_machine(report: Report, store: Store) -> None:
    text = as_text(report)
    assert not re.search(r'"/[a-z]', text)
    for path in (str(ROOT), str(store.root), str(Path.home()), "/tmp", "\\\\"):  # noqa: S108 - looked for, not used
        assert path not in text
    for name in ("duckdb", "pyarrow", "pandera", "gpu-evidence"):
        assert not re.search(rf"(?<![\d.]){re.escape(version(name))}(?![\d.])", text)
    for manifest in store.manifests():
        for segment in manifest["segments"]:
            assert segment["sha256"] not in text


def test_two_stores_of_the_same_captures_give_the_same_report(report: Report, tmp_path: Path) -> None:
    again = build(database.connect(make_store(tmp_path), materialise=True))
    assert as_text(again) == as_text(report)


def test_report_on_some_captures_only(store: Store, opened: database.Database) -> None:
    sql = "SELECT capture_id FROM captures WHERE path LIKE '%rtx-3070%'"
    ids = opened.query(sql)["capture_id"].to_pylist()
    found = build(database.connect(store, ids, materialise=True))
    assert dict(found.facts)["Captures"] == dict(found.facts)["GPUs"] == 1
    assert [item["device_id"] for item in rows(found, "facts")] == [RTX_3070]
    assert found.overall == "pass"
    assert found.headline == "1 of 1 requirements pass, 0 fail, 0 are indeterminate."


def test_report_on_nothing_is_indeterminate(store: Store) -> None:
    found = build(database.connect(store, [], materialise=True))
    assert found.overall == "indeterminate"
    assert found.headline == "There is no evidence: nothing can be said."
    assert found.verdicts == ()
    assert dict(found.facts)["Captures"] == dict(found.facts)["GPUs"] == 0
    assert all(not part.rows for section in found.sections for part in section.tables)
    assert all(part.empty for section in found.sections for part in section.tables)


# -- fold --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ("", "indeterminate"),
        ("pass", "pass"),
        ("fail", "fail"),
        ("indeterminate", "indeterminate"),
        ("pass pass", "pass"),
        ("pass indeterminate", "indeterminate"),
        ("pass fail", "fail"),
        ("fail indeterminate", "fail"),
        ("pass fail indeterminate", "fail"),
        ("unheard-of", "indeterminate"),
        ("pass unheard-of", "indeterminate"),
        ("fail unheard-of", "fail"),
    ],
)
def test_fold(verdicts: str, expected: str) -> None:
    assert fold(verdicts.split()) == expected


RANK: Callable[[str], int] = {"pass": 2, "indeterminate": 1, "fail": 0}.__getitem__


def test_fold_depends_on_no_order_and_unknown_never_makes_it_better() -> None:
    for count in range(4):
        for verdicts in itertools.product(("pass", "fail", "indeterminate"), repeat=count):
            assert fold(verdicts) == fold(reversed(verdicts))
            if verdicts:
                assert RANK(fold([*verdicts, "indeterminate"])) <= RANK(fold(verdicts))
                assert RANK(fold([*verdicts, "fail"])) == 0
