"""Real captures, read in place where they are beside this checkout: values counted from the files.

Each rule here has a small twin under tests/, so that it is tested where the files are absent.
"""

# ruff: noqa: S608 - queries are put together from names of our own

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline import database
from pipeline.ingest import ingest
from pipeline.parsed import CaptureFacts
from pipeline.parsers import KINDS
from pipeline.store import open_store

CAPTURES = Path(__file__).parents[2] / "shared" / "captures"
pytestmark = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the real captures (../shared/captures) are not there")
SMI = ("smi/%", "smi_csv/%", "smi_list/%", "smi_mig/%", "smi_query/%")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> database.Database:
    """A database over all of them, from one ingest."""
    store = open_store(tmp_path_factory.mktemp("shared") / "evidence", create=True)
    ingest(store, [CAPTURES])
    return database.connect(store, materialise=True)


def ask(opened: database.Database, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = opened.query(sql).to_pylist()
    return found


def of(opened: database.Database, table: str, file: str, columns: str = "*") -> list[dict[str, Any]]:
    """Rows of a table that come from one file."""
    one = f"(FROM captures WHERE path = 'captures/{file}')"
    order = "ORDER BY capture_line" if columns == "*" else ""
    return ask(opened, f"SELECT {columns} FROM {table} SEMI JOIN {one} AS one USING (capture_id) {order}")


def capture(opened: database.Database, file: str) -> dict[str, Any]:
    (found,) = ask(opened, f"FROM captures WHERE path = 'captures/{file}'")
    return found


# -- all of them -------------------------------------------------------------------------------------------------------


def test_every_file_is_a_capture(opened: database.Database) -> None:
    files = [path for path in CAPTURES.rglob("*") if path.is_file()]
    sidecars = [path for path in files if path.suffix == ".json" and path.with_suffix("") in files]
    assert ask(opened, "SELECT count(*) AS n FROM captures") == [{"n": len(files) - len(sidecars)}]


def test_every_line_of_every_capture_is_accounted_for(opened: database.Database) -> None:
    sql = "SELECT path FROM captures WHERE is_accounted_for IS DISTINCT FROM true OR total_count IS NULL"
    assert ask(opened, sql) == []


def test_counts_are_the_lines_of_the_files(opened: database.Database) -> None:
    for row in ask(opened, "SELECT path, total_count FROM captures WHERE counted = 'lines'"):
        data = (CAPTURES.parent / row["path"]).read_bytes()
        lines = data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
        assert row["total_count"] == lines, row["path"]


def test_row_counts_are_the_rows_of_the_tables(opened: database.Database) -> None:
    lines = " UNION ALL ".join(
        f"SELECT capture_id, capture_line FROM {table}"
        for table in (
            *("gpu_readings", "gpu_list", "mig_devices", "gpu_query", "mig_instances"),
            *("dcgm_fields", "dcgm_counters"),
        )
    )
    sql = (
        f"SELECT path, row_count, n FROM captures LEFT JOIN (SELECT capture_id, count(DISTINCT capture_line) AS n "
        f"FROM ({lines}) GROUP BY capture_id) USING (capture_id) "
        "WHERE counted = 'lines' AND row_count <> coalesce(n, 0)"
    )
    assert ask(opened, sql) == []


def test_each_quarantined_capture_says_why(opened: database.Database) -> None:
    sql = (
        "SELECT path FROM captures WHERE status = 'quarantined' AND (status_reason IS NULL OR NOT EXISTS (FROM "
        "source_errors AS e WHERE e.capture_id = captures.capture_id AND e.severity = 'error' AND e.message <> '' "
        "AND e.code = captures.status_reason))"
    )
    assert ask(opened, sql) == []
    assert ask(opened, "SELECT path FROM captures WHERE status <> 'quarantined' AND status_reason IS NOT NULL") == []


def test_each_refusal_has_an_error(opened: database.Database) -> None:
    sql = (
        "SELECT path FROM captures WHERE refused_count > 0 AND NOT EXISTS (FROM source_errors AS e "
        "WHERE e.capture_id = captures.capture_id AND e.severity = 'error')"
    )
    assert ask(opened, sql) == []


def test_every_nvidia_smi_capture_is_accepted_whole_but_those_without_columns(opened: database.Database) -> None:
    like = " OR ".join(f"path LIKE 'captures/{pattern}'" for pattern in SMI)
    found = ask(
        opened, f"SELECT path, status_reason FROM captures WHERE ({like}) AND status <> 'accepted' ORDER BY path"
    )
    assert found == [
        {"path": "captures/smi_csv/llamacpp-noheader-nounits-4gpu.csv", "status_reason": "columns_unknown"},
        {"path": "captures/smi_csv/plato-noheader-units.csv", "status_reason": "columns_unknown"},
    ]


def test_what_is_unknown_has_a_reason_and_what_is_known_has_none(opened: database.Database) -> None:
    sql = "FROM device_facts WHERE (value IS NULL) <> (reason_code IS NOT NULL) OR is_known <> (value IS NOT NULL)"
    assert ask(opened, sql) == []
    assert ask(opened, "FROM device_facts WHERE is_known IS NULL") == []


# -- the table of cases ------------------------------------------------------------------------------------------------


def test_nounits_log_is_numeric(opened: database.Database) -> None:
    file = "smi_csv/gpb-3090-update-freq.csv"
    assert (capture(opened, file)["row_count"], capture(opened, file)["refused_count"]) == (31031, 0)
    columns = "count(sm_clock_mhz) AS clocks, count(power_draw_w) AS power, count(gpu_utilization_pct) AS used"
    assert of(opened, "gpu_readings", file, columns) == [{"clocks": 31031, "power": 31031, "used": 31031}]
    first = of(opened, "gpu_readings", file)[0]
    assert (first["sm_clock_mhz"], first["power_draw_w"], first["power_draw_instant_w"]) == (1800, 137.12, 136.57)


def test_clock_that_could_not_be_read_is_null_with_its_reason(opened: database.Database) -> None:
    columns = (
        "count(*) AS n, count(sm_clock_mhz) AS clocks, count(power_draw_w) AS power, count(core_temp_c) AS temp, "
        "count(*) FILTER (why_absent(absent, 'sm_clock_mhz') = 'error') AS errors"
    )
    found = of(opened, "gpu_readings", "smi_csv/gpb-mlperf-unknown-error.csv", columns)
    assert found == [{"n": 12792, "clocks": 0, "power": 12792, "temp": 12792, "errors": 12792}]


@pytest.mark.parametrize(
    ("file", "fields", "count"),
    [
        ("llamacpp-noheader-nounits-4gpu.csv", "timestamp,utilization.gpu,memory.used", 388),
        (
            "plato-noheader-units.csv",
            "timestamp,utilization.gpu,utilization.memory,memory.used,memory.free,temperature.gpu,power.draw",
            1923,
        ),
    ],
)
def test_capture_without_header(opened: database.Database, file: str, fields: str, count: int) -> None:
    found = capture(opened, f"smi_csv/{file}")
    assert (found["status"], found["status_reason"], found["row_count"]) == ("quarantined", "columns_unknown", 0)
    command = f"nvidia-smi --query-gpu={fields} --format=csv,noheader"
    parsed = KINDS["smi_csv"].parse((CAPTURES / "smi_csv" / file).read_bytes(), CaptureFacts(command=command))
    table = parsed.tables["gpu_readings"]
    assert (len(table), parsed.ledger.refused, parsed.issues) == (count, 0, [])
    assert table["memory_used_mib"].null_count == 0
    # Nothing in the rows tells the GPUs apart: no sweep, and no GPU 0.
    assert table["sweep"].null_count == table["gpu_index"].null_count == count


def test_masked_listing_has_no_generation(opened: database.Database) -> None:
    file = "smi/h100-mig__590.48.01/list.txt"
    assert len(of(opened, "gpu_list", file)) == 1
    children = of(opened, "mig_devices", file)
    assert len(children) == 4
    assert {row["config_generation"] for row in children} == {None}
    assert all("config_generation=masked" in row["absent"] for row in children)
    (layout,) = of(opened, "mig_layouts", file)
    assert (layout["config_generation"], layout["why_generation"], layout["child_count"]) == (None, "masked", 4)


def test_listing_cut_by_head(opened: database.Database) -> None:
    file = "smi_list/deepops-head10-a100x8.txt"
    assert len(of(opened, "gpu_list", file)) == 2
    assert len(of(opened, "mig_devices", file)) == 8
    assert {row["config_generation"] for row in of(opened, "mig_layouts", file)} == {
        "fnv1a64:38c47e826c214ff2",
        "fnv1a64:aaa7a5d711e4f5ee",
    }


def test_old_style_ids(opened: database.Database) -> None:
    children = of(opened, "mig_devices", "smi_list/cnd-legacy-mixed.txt")
    assert [(row["gpu_instance_id"], row["compute_instance_id"]) for row in children] == [(2, 0), (3, 0), (9, 0)]
    assert {row["config_generation"] for row in children} == {"fnv1a64:a21ed12fb7a3142e"}


def test_joined_listings_are_two_devices(opened: database.Database) -> None:
    file = "smi_list/cncf-timeslice-duplicates.txt"
    assert len(of(opened, "gpu_list", file)) == 4
    assert capture(opened, file)["status"] == "accepted"
    sightings = of(opened, "device_sightings", file)
    assert len(sightings) == 2
    ids = ", ".join(f"'{row['device_id']}'" for row in sightings)
    assert len(ask(opened, f"FROM devices WHERE device_id IN ({ids})")) == 2


def test_one_uuid_under_two_names(opened: database.Database) -> None:
    file = "smi_list/ctk-igpu-orin-thor.txt"
    uuid = "54d0709b-558d-5a59-9c65-0c5fc14a21a4"
    assert [row["gpu_uuid"] for row in of(opened, "gpu_list", file)] == [uuid, uuid]
    assert [row["model"] for row in of(opened, "gpu_list", file)] == ["Orin (nvgpu)", "NVIDIA Thor"]
    (fact,) = ask(opened, f"FROM device_facts WHERE device_id = '{uuid}' AND fact = 'model'")
    assert (fact["value"], fact["reason_code"]) == (None, "CONFLICTING_SOURCES")
    assert [row["code"] for row in of(opened, "source_errors", file)] == ["conflicting_model"]


def test_pod_views_are_partial(opened: database.Database) -> None:
    for file in ("smi_list/deepops-container-view-a.txt", "smi_list/deepops-container-view-b.txt"):
        (layout,) = of(opened, "mig_layouts", file)
        assert (layout["is_partial_view"], layout["is_current"], layout["child_count"]) == (True, None, 1)


def test_query_of_eight_gpus(opened: database.Database) -> None:
    columns = "field, value_number, count(DISTINCT gpu) AS gpus"
    where = "WHERE field LIKE '%Slowdown T.Limit%' OR field LIKE '%Shutdown T.Limit%' GROUP BY ALL ORDER BY ALL"
    file = "smi_query/gpud-h100x8-535.161.08.txt"
    (one,) = ask(opened, f"SELECT capture_id FROM captures WHERE path = 'captures/{file}'")
    found = ask(opened, f"SELECT {columns} FROM (FROM gpu_query WHERE capture_id = '{one['capture_id']}') {where}")
    assert found == [
        {"field": "Temperature > GPU Shutdown T.Limit Temp", "value_number": -8.0, "gpus": 8},
        {"field": "Temperature > GPU Slowdown T.Limit Temp", "value_number": -2.0, "gpus": 8},
    ]
    assert len(of(opened, "device_sightings", file)) == 8


@pytest.mark.parametrize("file", ["tg-a100-sxm4-v12.xml", "tg-rtx-3080-v13.xml", "tg-tesla-t4.xml"])
def test_xml_has_the_field_names_of_the_text(opened: database.Database, file: str) -> None:
    fields = {row["field"] for row in of(opened, "gpu_query", f"smi_query/{file}")}
    assert {
        "Driver Version",
        "Product Name",
        "GPU UUID",
        "VBIOS Version",
        "FB Memory Usage > Total",
        "Temperature > GPU Current Temp",
        "Clocks > SM",
        "Max Clocks > SM",
    } <= fields
    assert len(of(opened, "device_sightings", f"smi_query/{file}")) == 1


def test_windows_captures_are_like_the_linux_ones(opened: database.Database) -> None:
    counts = {
        system: ask(
            opened,
            "SELECT count(*) AS n, count(*) FILTER (status = 'accepted') AS accepted FROM captures "
            f"WHERE path LIKE 'captures/smi/{system}geforce-rtx-2080-super__%'",
        )
        for system in ("windows-", "")
    }
    assert counts["windows-"] == counts[""] == [{"n": 5, "accepted": 5}]


def test_vbios_compares_whatever_its_case(opened: database.Database) -> None:
    sql = (
        "SELECT count(DISTINCT vbios_version) AS printed, count(DISTINCT upper(vbios_version)) AS real "
        "FROM gpu_readings SEMI JOIN (FROM captures WHERE path LIKE '%rtx-2080-super%') AS cards USING (capture_id)"
    )
    assert ask(opened, sql) == [{"printed": 2, "real": 1}]
    assert ask(opened, "FROM device_sightings WHERE vbios_version <> upper(vbios_version)") == []
