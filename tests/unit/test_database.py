"""The database: locked, over exactly what the head lists, and described wherever somebody looks."""

# ruff: noqa: S608 - queries are put together from names of our own

from __future__ import annotations

import gc
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from pipeline import catalog, database
from pipeline.errors import DatabaseError, StoreError
from pipeline.ingest import ingest
from pipeline.sql import VIEWS
from pipeline.store import Store, open_store
from schemas import TABLES, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

GPU = "GPU-5be0c1d2-77aa-4f10-9c3e-2f6b8d01e4a7"
OTHER = "GPU-0d94e7b8-1c52-4e6b-8f2d-a7c31e5590f3"
MIG = "MIG-3f1c2a9e-5b70-5d41-8a6e-0c9b7e21d504"
MARTS = [view.removeprefix("marts/") for view in VIEWS if view.startswith("marts/")]


def make_store(root: Path) -> Store:
    """A store of two captures in two batches: a log of three rows, and a listing with a MIG device."""
    source = root / "in"
    source.mkdir(parents=True)
    store = open_store(root / "store", create=True)
    reasons = "clocks_event_reasons.active"
    rows = f"0, {GPU}, A, 0x4, 1\n0, {GPU}, A, 0x0, 1\n1, {OTHER}, A, [N/A], 1\n"
    (source / "log.csv").write_text(f"index, uuid, name, {reasons}, brand.new\n{rows}")
    ingest(store, [source])
    (source / "list.txt").write_text(f"GPU 0: A (UUID: {GPU})\n  MIG 3g.40gb     Device  0: (UUID: {MIG})\n")
    ingest(store, [source])
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("database"))


@pytest.fixture(scope="module")
def opened(store: Store) -> database.Database:
    return database.connect(store)


def count(found: database.Database, name: str) -> int:
    counted: int = found.query(f"SELECT count(*) AS n FROM {name}")["n"][0].as_py()
    return counted


# -- locked ------------------------------------------------------------------------------------------------------------

ATTACKS = {
    "read-csv": "SELECT * FROM read_csv('{secret}')",
    "read-csv-auto": "SELECT * FROM read_csv_auto('{secret}', all_varchar = true)",
    "sniff-csv": "SELECT * FROM sniff_csv('{secret}')",
    "read-text": "SELECT content FROM read_text('{secret}')",
    "read-blob": "SELECT content FROM read_blob('{secret}')",
    "read-json": "SELECT * FROM read_json('{secret}')",
    "read-parquet": "SELECT * FROM read_parquet('{secret}')",
    "parquet-metadata": "SELECT * FROM parquet_metadata('{secret}')",
    "glob": "SELECT * FROM glob('{folder}/*')",
    "bare-file": "SELECT * FROM '{secret}'",
    "quoted-file": 'SELECT * FROM "{secret}"',
    "url": "SELECT * FROM 'https://127.0.0.1/x.csv'",
    "s3": "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
    "copy-to": "COPY (SELECT 1) TO '{target}'",
    "copy-table": "COPY captures TO '{target}' (FORMAT parquet)",
    "copy-from": "COPY evidence.captures FROM '{secret}'",
    "copy-in-cte": "WITH x AS (COPY (SELECT 1) TO '{target}') SELECT * FROM x",
    "copy-in-query": "FROM query('COPY (SELECT 1) TO ''{target}''')",
    "copy-explained": "EXPLAIN ANALYZE COPY (SELECT 1) TO '{target}'",
    "export": "EXPORT DATABASE '{target}'",
    "import": "IMPORT DATABASE '{folder}'",
    "attach": "ATTACH '{target}' AS other",
    "attach-explained": "EXPLAIN ANALYZE ATTACH '{target}' AS other",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "load-file": "LOAD '{secret}'",
    "set": "SET enable_external_access = true",
    "set-global": "SET GLOBAL lock_configuration = false",
    "reset": "RESET enable_external_access",
    "set-variable": "SET VARIABLE x = 1",
    "pragma": "PRAGMA enable_profiling",
    "pragma-database": "PRAGMA database_list",
    "call": "CALL pragma_version()",
    "secret": "CREATE SECRET s (TYPE s3)",
    "persistent-secret": "CREATE PERSISTENT SECRET s (TYPE s3)",
    "create-table": "CREATE TABLE t AS SELECT 1",
    "create-view": "CREATE OR REPLACE VIEW acceptance AS SELECT 'pass' AS verdict",
    "create-macro": "CREATE MACRO f() AS 1",
    "drop": "DROP VIEW acceptance",
    "insert": "INSERT INTO captures SELECT * FROM captures",
    "insert-in-cte": "WITH x AS (INSERT INTO evidence.captures FROM evidence.captures RETURNING 1) FROM x",
    "delete": "DELETE FROM evidence.captures",
    "update": "UPDATE evidence.captures SET status = 'accepted'",
    "comment": "COMMENT ON VIEW captures IS 'x'",
    "checkpoint": "CHECKPOINT",
    "vacuum": "VACUUM",
    "prepare": "PREPARE p AS SELECT 1",
    "begin": "BEGIN TRANSACTION",
    "use": "USE evidence",
    "two-statements": "SELECT 1; SELECT 2",
    "hidden-second-statement": "SELECT 1; COPY (SELECT 1) TO '{target}'",
    "nothing": "",
    "only-a-comment": "-- SELECT 1",
    "replacement-scan": "SELECT * FROM in_this_process",
    "environment": "SELECT getenv('HOME')",
    "pointer": "SELECT * FROM arrow_scan(1, 1, 1)",
    "pandas-pointer": "SELECT * FROM pandas_scan(1)",
    "parameter": "SELECT ?",
    "no-such-table": "SELECT * FROM nonsense",
    "syntax": "SELECT FROM WHERE",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_statement_is_refused_and_leaves_no_file(
    opened: database.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    in_this_process = pa.table({"secret": ["s3cret"]})
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\ns3cret,2\n")
    sql = ATTACKS[name].format(secret=secret, folder=tmp_path, target=tmp_path / "target")
    with pytest.raises(DatabaseError) as caught:
        opened.query(sql)
    assert caught.value.code in {"sql_refused", "sql_failed"}
    assert "s3cret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [secret]
    assert in_this_process.num_rows == count(opened, "gpu_list")


def test_variables_of_a_session_do_not_exist(opened: database.Database) -> None:
    assert opened.query("SELECT getvariable('HOME') AS x").to_pylist() == [{"x": None}]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("enable_external_access", "false"),
        ("lock_configuration", "true"),
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        ("allow_community_extensions", "false"),
        ("allow_unsigned_extensions", "false"),
        ("python_enable_replacements", "false"),
        ("temp_directory", ""),
        ("TimeZone", "UTC"),
        ("allowed_paths", "[]"),
        ("allowed_directories", "[]"),
    ],
)
def test_setting(opened: database.Database, setting: str, value: str) -> None:
    found = opened.query(f"SELECT value FROM duckdb_settings() WHERE name = '{setting}'")["value"][0].as_py()
    assert (found or "").lower() == value.lower()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS a",
        "FROM captures",
        "TABLE captures",
        "VALUES (1)",
        "WITH x AS (SELECT 1 AS a) SELECT * FROM x",
        "DESCRIBE captures",
        "SHOW TABLES",
        "SUMMARIZE gpu_readings",
        "EXPLAIN SELECT * FROM devices",
        "EXPLAIN ANALYZE SELECT * FROM captures",
        "SELECT 1 AS a, 2 AS a",
        "-- why\nSELECT 1;",
    ],
)
def test_reading_statement_is_answered(opened: database.Database, sql: str) -> None:
    assert opened.query(sql).num_columns > 0


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1",
        "EXPLAIN ANALYZE CREATE OR REPLACE VIEW acceptance AS SELECT 'pass' AS verdict",
        "EXPLAIN ANALYZE DROP VIEW captures",
        "EXPLAIN (ANALYZE) CREATE TABLE t AS SELECT 1",
        "EXPLAIN/**/ANALYZE CREATE TABLE t AS SELECT 1",
        "/* explain */ EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1",
        # What is left without the options is "SELECT 1 --...": the comment hides what is really run.
        "EXPLAIN (ANALYZE /*) SELECT 1 --*/) CREATE OR REPLACE VIEW acceptance AS SELECT 'pass' AS verdict",
    ],
)
def test_explain_of_a_writing_statement_is_refused(sql: str) -> None:
    with pytest.raises(DatabaseError):
        database.empty().query(sql)


def test_query_that_is_not_text_is_refused() -> None:
    with pytest.raises(DatabaseError):
        database.empty().query("SELECT '\udcff'")


def test_no_file_stays_open() -> None:
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        database.empty()
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


# -- what is read ------------------------------------------------------------------------------------------------------


def test_every_listed_segment_is_read(opened: database.Database) -> None:
    counts = {"captures": 2, "gpu_readings": 3, "gpu_extra": 3, "gpu_list": 1, "mig_devices": 1, "source_errors": 1}
    assert {name: count(opened, name) for name in TABLES} == dict.fromkeys(TABLES, 0) | counts


def test_only_segments_of_the_head_are_read(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    before = database.segments(store)
    listed = store.segment_path("gpu_list", before["gpu_list"][0])
    (listed.parent / "stray.parquet").write_bytes(listed.read_bytes())
    (listed.parent / f"{'0' * 64}.parquet").write_bytes(b"not parquet at all")
    assert count(database.connect(store), "gpu_list") == 1
    # Without the second manifest its segments are not there, though their files are.
    (store.root / "manifests" / "00000002.json").unlink()
    opened = database.connect(store)
    assert {name: count(opened, name) for name in ("captures", "gpu_readings", "gpu_list")} == {
        "captures": 1,
        "gpu_readings": 3,
        "gpu_list": 0,
    }


@pytest.mark.parametrize("at", [0, 100, -5], ids=["magic", "page", "footer"])
def test_flipped_byte_is_refused_before_any_row(tmp_path: Path, at: int) -> None:
    store = make_store(tmp_path)
    path = store.segment_path("gpu_readings", database.segments(store)["gpu_readings"][0])
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.unlink()
    path.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        database.connect(store)
    assert caught.value.code == "hash_mismatch"
    assert caught.value.where == str(path)


@pytest.mark.parametrize("left", [None, b""], ids=["missing", "empty"])
def test_lost_segment_is_refused(tmp_path: Path, left: bytes | None) -> None:
    store = make_store(tmp_path)
    path = store.segment_path("gpu_list", database.segments(store)["gpu_list"][0])
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    with pytest.raises(StoreError) as caught:
        database.connect(store)
    assert caught.value.code in {"file_missing", "hash_mismatch"}


def test_what_was_opened_stays_readable_when_the_files_go(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    opened = database.connect(store)
    for path in (store.root / "tables").rglob("*.parquet"):
        path.unlink()
    assert count(opened, "gpu_readings") == 3


def with_capture_id() -> list[str]:
    columns = {entry["name"]: {column["name"] for column in entry["columns"]} for entry in catalog.entries()}
    return sorted(name for name, names in columns.items() if "capture_id" in names)


def test_scope_restricts_every_table_and_mart(store: Store, opened: database.Database) -> None:
    ids = [row["capture_id"] for row in opened.query("SELECT capture_id FROM captures ORDER BY path").to_pylist()]
    names = with_capture_id()
    # Profiles are of a product and driver, whatever the captures; their bounds name them.
    assert set(names) >= (set(TABLES) | set(MARTS)) - {"contract_profiles", "profile_contradictions"}
    for scope in (ids[:1], [*ids, ids[0]], []):
        scoped = database.connect(store, scope, materialise=True)
        for name in names:
            found = set(scoped.query(f"SELECT capture_id FROM {name}")["capture_id"].to_pylist())
            assert found - {None} <= set(scope), name
        assert count(scoped, "captures") == len(set(scope) & set(ids))
        assert count(scoped, "evidence.captures") == len(set(scope) & set(ids))


def test_scope_is_a_value_and_not_sql(store: Store) -> None:
    assert count(database.connect(store, ["' OR true --"]), "captures") == 0


def test_table_without_segments_is_empty_with_the_full_schema() -> None:
    opened = database.empty()
    for name, schema in TABLES.items():
        found = opened.query(f"SELECT * FROM evidence.{name}")
        assert found.num_rows == 0
        assert found.column_names == arrow_schema(schema).names


def sorted_rows(found: pa.Table) -> list[str]:
    return sorted(repr(row) for row in found.to_pylist())


@pytest.mark.parametrize("name", MARTS)
def test_materialised_mart_says_the_same(store: Store, opened: database.Database, name: str) -> None:
    assert sorted_rows(materialised(store).query(f"FROM {name}")) == sorted_rows(opened.query(f"FROM {name}"))


_MADE: dict[Path, database.Database] = {}


def materialised(store: Store) -> database.Database:
    if store.root not in _MADE:
        _MADE[store.root] = database.connect(store, materialise=True)
    return _MADE[store.root]


def test_export_is_a_database_of_its_own(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "it's.duckdb"
    names = database.export(store, target)
    with duckdb.connect(str(target), read_only=True) as exported:
        tables = {row[0] for row in exported.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        assert len(tables) == names
        references = {
            "ref_products",
            "ref_mig_profiles",
            "ref_smi_fields",
            "ref_smi_query_fields",
            "ref_dcgm_smi_fields",
        }
        assert tables == set(TABLES) | {view.rsplit("/", 1)[-1] for view in VIEWS} | references
        why = exported.execute("SELECT why_absent('a=masked b=error', 'b')").fetchall()
        assert why == [("error",)]
        assert exported.execute("SELECT gpu_device_id('GPU-x', false, NULL, 0, 'abc')").fetchall() == [("GPU-x",)]
        assert exported.execute("SELECT count(*) FROM gpu_readings").fetchall() == [(3,)]
        assert exported.execute("SELECT count(*) FROM devices").fetchall() == [(3,)]


def test_export_does_not_overwrite(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "there.duckdb"
    target.write_bytes(b"something else")
    with pytest.raises(StoreError):
        database.export(store, target)
    assert target.read_bytes() == b"something else"


# -- described ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_view_has_a_file_with_a_header(view: str) -> None:
    doc = database.view_doc(view)
    assert doc.name == Path(view).name
    assert doc.sql.startswith("-- One row per ")
    assert doc.description.startswith("One row per ")
    assert doc.description.endswith(".")


def test_every_sql_file_is_listed_once() -> None:
    files = {path.relative_to(database._SQL).with_suffix("").as_posix() for path in database._SQL.glob("*/*.sql")}
    assert {name for name in files if not name.startswith("report/")} == set(VIEWS)
    assert len(set(VIEWS)) == len(VIEWS)
    assert {f"staging/stg_{name}" for name in TABLES if name != "gpu_extra"} == {
        view for view in VIEWS if view.startswith("staging/")
    }


ENTRIES = catalog.entries()
EMPTY = database.empty()


@pytest.mark.parametrize("entry", ENTRIES, ids=[f"{entry['kind']}-{entry['name']}" for entry in ENTRIES])
def test_every_column_has_a_description(entry: dict[str, Any]) -> None:
    assert entry["description"]
    assert entry["columns"]
    assert [column["name"] for column in entry["columns"] if not column["description"]] == []
    names = [column["name"] for column in entry["columns"]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("view", VIEWS)
def test_header_describes_only_columns_that_there_are(view: str) -> None:
    columns = {column["name"] for entry in ENTRIES if entry["name"] == Path(view).name for column in entry["columns"]}
    assert set(database.view_doc(view).columns) <= columns


def test_comments_are_in_the_database(opened: database.Database) -> None:
    found = opened.query(
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal"
    ).to_pylist()
    ours = {*TABLES, *(Path(view).name for view in VIEWS)}
    assert {row["table_name"] for row in found} >= ours
    missing = [
        (row["table_name"], row["column_name"]) for row in found if row["table_name"] in ours and not row["comment"]
    ]
    assert missing == []
    views = opened.query("""
        SELECT view_name AS name, comment FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal
        UNION ALL
        SELECT table_name AS name, comment FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal
    """)
    described = {row["name"] for row in views.to_pylist() if row["comment"]}
    assert described >= ours


# Columns of the views that others rely on: a column that goes, or changes its name, breaks them.
PUBLIC = {
    "captures": "capture_id capture_sha256 kind path bytes source is_simulated captured_at status claim_status",
    "source_errors": "capture_id capture_line severity code subject message",
    "devices": "device_id parent_device_id device_kind model product pci_bus_id driver_version vbios_version "
    "mig_profile gpu_instance_slices memory_gb gpu_instance_id compute_instance_id config_generation is_stale "
    "observed_at source is_simulated capture_id",
    "device_facts": "device_id fact value is_known source reason_code capture_id capture_line",
    "mig_layouts": "parent_device_id config_generation layout_sha256 child_count observed_at is_current "
    "is_partial_view capture_id",
    "acceptance": "subject requirement verdict reason_code evidence",
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_columns_are_there(name: str) -> None:
    assert set(PUBLIC[name].split()) <= set(EMPTY.rows(f"SELECT * FROM {name}").column_names)


# -- macros ------------------------------------------------------------------------------------------------------------


def answers(expression: str, rows: Sequence[Sequence[Any]], names: str) -> list[Any]:
    literal = ", ".join(
        "("
        + ", ".join("NULL" if cell is None else f"'{cell}'" if isinstance(cell, str) else str(cell) for cell in row)
        + ")"
        for row in rows
    )
    sql = f"SELECT {expression} AS x FROM (VALUES {literal}) AS t (n, {names}) ORDER BY n"
    found: list[Any] = EMPTY.rows(sql)["x"].to_pylist()
    return found


def test_why_absent_reads_the_reason_of_exactly_one_column() -> None:
    rows = [
        (1, "a=error", "a"),
        (2, "a=error b=not_supported", "b"),
        (3, "core_temp_c=error", "temp_c"),
        (4, "temp_c_max=error", "temp_c"),
        (5, "temp_c_max=error temp_c=masked", "temp_c"),
        (6, None, "a"),
        (7, "", "a"),
        (8, "b=error", "a"),
        (9, "a=requires_reset z=error", "a"),
    ]
    assert answers("why_absent(said, col)", rows, "said, col") == [
        "error",
        "not_supported",
        None,
        None,
        "masked",
        None,
        None,
        None,
        "requires_reset",
    ]


def test_is_masked_uuid() -> None:
    rows = [
        (1, "GPU-00000000-0000-0000-0000-000000000000"),
        (2, "GPU-00000001-0000-0000-0000-00000000000a"),
        (3, "MIG-00000000-0000-0000-0000-000000000000"),
        (4, "MIG-GPU-00000000-0000-0000-0000-000000000000/3/0"),
        (5, GPU),
        (6, "GPU-00000000-0000-0000-0001-000000000000"),
        (7, None),
        (8, ""),
    ]
    assert answers("is_masked_uuid(u)", rows, "u") == [True, True, True, True, False, False, False, False]


def test_gpu_device_id() -> None:
    masked, capture = "GPU-00000000-0000-0000-0000-000000000000", "0123456789abcdef"
    rows = [
        (1, GPU, None, None, None, capture),
        (2, GPU, False, "bus", 0, capture),
        (3, GPU, True, "bus", 0, capture),
        (4, masked, None, None, 2, capture),
        (5, masked, False, "bus", None, capture),
        (6, masked, None, None, None, capture),
        (7, None, None, None, 0, capture),
        (8, None, None, "bus", None, capture),
        (9, None, None, None, None, capture),
    ]
    at = "@0123456789ab"
    expected = [
        GPU,
        GPU,
        f"GPU 0{at}",
        f"GPU 2{at}",
        f"GPU bus{at}",
        f"{masked}{at}",
        f"GPU 0{at}",
        f"GPU bus{at}",
        None,
    ]
    typed = "gpu_device_id(u::VARCHAR, m::BOOLEAN, b::VARCHAR, i::INTEGER, c)"
    assert answers(typed, rows, "u, m, b, i, c") == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("true", True),
        ("false", False),
        ("NULL", None),
        ("true, NULL", True),
        ("true, false", True),
        ("false, NULL", None),
        ("false, false", False),
        ("true, false, NULL", True),
    ],
)
def test_any_true(flags: str, expected: bool | None) -> None:
    sql = f"SELECT any_true(flag::BOOLEAN) AS x FROM (SELECT unnest([{flags}]) AS flag)"
    assert EMPTY.rows(sql)["x"].to_pylist() == [expected]
