"""The command line: data on stdout, one line per error on stderr, exit codes that scripts can rely on."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from pipeline.cli import cli
from pipeline.database import connect
from pipeline.errors import DatabaseError
from pipeline.renderers import RENDERERS
from pipeline.store import open_store

if TYPE_CHECKING:
    from conftest import WriteCapture

    from pipeline.database import Database

ROOT = Path(__file__).parents[2]
SCRIPT = Path(sys.executable).with_name("gpu-evidence")
COMMANDS = ("run", "ingest", "report", "sql", "catalog", "show", "verify")
UUID = "GPU-a2c6d813-9f40-4b57-8e21-7b35f0d9c46a"
LISTING = f"GPU 0: NVIDIA A100-SXM4-40GB (UUID: {UUID})\n"
SHA = hashlib.sha256(LISTING.encode()).hexdigest()


def invoke(*arguments: str | Path, code: int = 0, **options: Any) -> Result:
    """Run a command in this process. Whatever happens, no traceback is shown."""
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments], **options)
    assert done.exit_code == code, f"{done.output}\n{done.exception!r}"
    assert "Traceback" not in done.output
    return done


def one_error(done: Result) -> str:
    """The one line on stderr; stdout holds data only, so nothing."""
    assert done.stdout == ""
    assert done.stderr.startswith("gpu-evidence: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, so that the defaults (evidence, reports, captures) are not the repository's."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("GPU_EVIDENCE") or name == "NO_COLOR"]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one listing and a store that holds it."""
    folder = tmp_path_factory.mktemp("template")
    (folder / "captures").mkdir()
    (folder / "captures" / "list.txt").write_text(LISTING, encoding="utf-8")
    invoke("ingest", folder / "captures" / "list.txt", "--store", folder / "evidence")
    return folder


@pytest.fixture
def filled(home: Path, template: Path) -> Path:
    """A working directory with a store that holds one listing."""
    shutil.copytree(template, home, dirs_exist_ok=True)
    return home


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two folders in which the bundled captures were run from scratch."""
    folders = []
    for name in ("one", "two"):
        folder = tmp_path_factory.mktemp(name)
        (folder / "captures").symlink_to(ROOT / "captures")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            invoke("run", "--json")
        folders.append(folder)
    return folders[0], folders[1]


# -- help and usage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_explains_every_option(home: Path, command: str) -> None:
    done = invoke(*command.split(), "--help")
    assert "Usage: " in done.stdout
    assert list(home.iterdir()) == []
    if command:
        assert "--json" in done.stdout
        assert "--store" in done.stdout
    else:
        assert all(name in done.stdout for name in COMMANDS)
        assert "Exit codes: 0 done" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["run", "--nonsense"],
        ["ingest"],
        ["ingest", "none"],
        ["ingest", "--kind", "nonsense", "."],
        ["ingest", "--jobs", "0", "."],
        ["run", "none"],
        ["run", "--format", "pdf", "."],
        ["run", "--format", "", "."],
        ["run", "--require", "fail", "."],
        ["show"],
        ["sql", "--format", "xlsx", "SELECT 1"],
    ],
    ids=" ".join,
)
def test_usage_errors_exit_with_2_and_write_nothing(home: Path, arguments: list[str]) -> None:
    done = invoke(*arguments, code=2)
    assert done.stdout == ""
    assert done.stderr
    assert not (home / "reports").exists()


@pytest.mark.parametrize("command", ["report", "sql SELECT", "verify", f"show {SHA}", "catalog --files gpu_list"])
def test_reading_without_a_store_says_what_to_do(home: Path, command: str) -> None:
    message = one_error(invoke(*command.split(), code=5))
    assert "run `gpu-evidence ingest` first [no_store]" in message
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("command", ["report", "sql SELECT", "verify", "run captures", "ingest captures"])
def test_broken_store_is_one_line(filled: Path, command: str) -> None:
    manifest = filled / "evidence" / "manifests" / "00000001.json"
    manifest.chmod(0o600)
    manifest.write_text("{")
    done = invoke(*command.split(), code=5)
    if command == "verify":
        assert "damaged: evidence/manifests/00000001.json: " in done.stdout
    else:
        assert "[manifest_damaged]" in one_error(done)


def test_fault_of_the_system_is_one_line(filled: Path) -> None:
    message = one_error(invoke("sql", "SELECT 1", "--output", filled / "none" / "out.csv", code=5))
    assert "No such file or directory" in message
    (filled / "reports").write_text("a file in place of the folder")
    invoke("report", code=2)


def test_store_from_the_environment(home: Path, write_capture: WriteCapture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_EVIDENCE_STORE", str(home / "elsewhere"))
    invoke("ingest", write_capture("list.txt", LISTING))
    assert (home / "elsewhere" / "FORMAT").exists()
    assert not (home / "evidence").exists()
    assert json.loads(invoke("verify", "--json").stdout)["captures"] == 1
    one_error(invoke("verify", "--store", "other", code=5))  # an option goes before the environment


# -- ingest, run, report ---------------------------------------------------------------------------------------------


def test_ingest_says_what_it_did(home: Path, write_capture: WriteCapture) -> None:
    folder = write_capture("list.txt", LISTING).parent
    done = invoke("ingest", folder)
    assert done.stdout.startswith("captures: 1 ingested, 0 already present, 0 quarantined; 2 rows; head 1 ")
    assert done.stderr == ""
    assert invoke("ingest", folder).stdout.startswith("captures: 0 ingested, 1 already present, 0 quarantined; ")
    assert not (home / "reports").exists()


def test_refused_evidence_exits_with_4_and_the_rest_is_in(home: Path, write_capture: WriteCapture) -> None:
    write_capture("list.txt", LISTING)
    folder = write_capture("bad\x1b[31m.csv", "index, utilization.gpu [%]\n0, 250 %\n1, 3 %\n").parent
    done = invoke("ingest", folder, code=4)
    assert "captures: 2 ingested" in done.stdout
    assert "\x1b" not in done.output
    assert r"refused captures/bad\u{1b}[31m.csv:2: row breaks gpu_readings.gpu_utilization_pct" in done.stderr
    printed = json.loads(invoke("run", folder, "--require", "pass", "--json", code=1).stdout)
    assert printed["captures"] == {"ingested": 0, "already_present": 2, "quarantined": 0}
    assert printed["overall"] == "fail"
    assert (home / "reports").is_dir()


def test_many_refusals_do_not_flood_the_terminal(home: Path, write_capture: WriteCapture) -> None:
    rows = "".join(f"{number}, 250 %\n" for number in range(50))
    file = write_capture("bad.csv", f"index, utilization.gpu [%]\n{rows}50, 1 %\n")
    done = invoke("ingest", file, code=4)
    assert done.stderr.count("\n") == 21
    assert "and 30 more" in done.stderr
    assert (home / "evidence").is_dir()


def test_kind_is_used_for_every_capture(home: Path, write_capture: WriteCapture) -> None:
    file = write_capture("list.txt", LISTING)
    assert json.loads(invoke("ingest", file, "--kind", "smi_list", "--json").stdout)["rows"]["gpu_list"] == 1
    done = invoke("ingest", file, "--kind", "smi_mig", "--json", code=4)
    assert json.loads(done.stdout)["captures"] == {"ingested": 0, "already_present": 0, "quarantined": 1}
    assert home.exists()


def test_run_reads_captures_by_default_and_writes_every_report(bundled: tuple[Path, Path]) -> None:
    folder = bundled[0]
    assert {path.name for path in (folder / "reports").iterdir()} == {made.file_name for made in RENDERERS.values()}
    assert (folder / "evidence" / "manifests" / "00000001.json").exists()


def test_two_runs_from_scratch_give_the_same_bytes(bundled: tuple[Path, Path]) -> None:
    one, two = (
        {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for top in ("reports", "evidence")
            for path in (folder / top).rglob("*")
            if path.is_file()
        }
        for folder in bundled
    )
    assert sorted(one) == sorted(two)
    assert [name for name in one if one[name] != two[name]] == []
    assert sum(name.startswith("reports/") for name in one) == 4
    for name, data in one.items():
        if name.startswith("reports/"):
            assert str(bundled[0]).encode() not in data
            assert str(ROOT).encode() not in data


def test_claims_that_are_not_verified_are_indeterminate(
    bundled: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bundled[0])
    printed = json.loads(invoke("run", "--require", "pass", "--json", code=3).stdout)
    assert printed["overall"] == "indeterminate"
    assert printed["captures"] == {"ingested": 0, "already_present": 15, "quarantined": 0}
    assert printed["refused"] == []
    query = "SELECT count(*) AS n FROM captures WHERE claim_status = 'claim_unverified'"
    assert json.loads(invoke("sql", query, "--json").stdout) == [{"n": 2}]
    assert invoke("report").stdout.startswith("INDETERMINATE: ")


def test_report_on_a_part_of_the_store(bundled: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bundled[0])
    done = invoke(
        "report", "--path", "captures/rtx-a5000", "--reports", "part", "--format", "json", "--require", "pass"
    )
    assert done.stdout.startswith("PASS: ")
    (file,) = (bundled[0] / "part").iterdir()
    text = file.read_text(encoding="utf-8")
    assert "captures/rtx-a5000/power.csv" in text
    assert "captures/rtx-3070" not in text
    assert "no_such_path" in one_error(invoke("report", "--path", "none", code=2))


def test_report_covers_the_captures_of_this_run_alone(filled: Path, write_capture: WriteCapture) -> None:
    other = write_capture("other.txt", LISTING.replace("a2c6d813", "00000001"))
    invoke("run", other, "--format", "json")
    text = (filled / "reports" / RENDERERS["json"].file_name).read_text(encoding="utf-8")
    assert "other.txt" in text
    assert "list.txt" not in text


# -- JSON and colour -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        ("ingest captures", {"head", "captures", "rows", "refused"}),
        ("report --format json", {"overall", "reports"}),
        (f"show {SHA[:12]}:1", {"capture_sha256", "paths", "line", "lines"}),
        ("verify", {"manifests", "raw", "segments", "captures", "head", "damage", "unlisted"}),
    ],
)
def test_json_is_all_of_stdout(filled: Path, command: str, keys: set[str]) -> None:
    """The other commands are asked for JSON where their answers are looked at."""
    done = invoke(*command.split(), "--json")
    assert set(json.loads(done.stdout)) == keys
    assert done.stdout.isascii()
    assert done.stdout.endswith("\n")
    assert filled.exists()


@pytest.mark.parametrize(("value", "coloured"), [(None, True), ("", True), ("1", False)])
def test_no_color_is_honoured(filled: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, coloured: bool) -> None:
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    done = invoke("show", "nonsense", color=True, code=2)
    assert ("\x1b[" in done.stderr) is coloured
    assert filled.exists()


# -- sql -------------------------------------------------------------------------------------------------------------


def test_sql_to_a_file_and_to_stdout(filled: Path) -> None:
    query = "SELECT gpu_uuid, gpu_index FROM gpu_list"
    done = invoke("sql", query, "--format", "csv", "--output", filled / "out.csv")
    assert done.stdout == ""
    assert "wrote 1 rows to" in done.stderr
    assert (filled / "out.csv").read_bytes() == f"gpu_uuid,gpu_index\n{UUID},0\n".encode()
    printed = invoke("sql", query, "--format", "parquet").stdout_bytes
    assert pq.read_table(io.BytesIO(printed)).to_pylist() == [{"gpu_uuid": UUID, "gpu_index": 0}]


def test_sql_from_stdin_and_line_by_line(filled: Path) -> None:
    assert json.loads(invoke("sql", "-", "--json", input="SELECT 7 AS n").stdout) == [{"n": 7}]
    done = invoke("sql", input="SELECT 7 AS n\n\nSELECT nonsense\nSELECT 8 AS n\n", code=2)
    assert done.stdout.count("(1 row)") == 2
    assert "[sql_failed]" in done.stderr
    assert filled.exists()


def test_capture_text_acts_on_no_machine(home: Path, write_capture: WriteCapture) -> None:
    hostile = "=cmd|'/c calc'!A0 \x1b]8;;http://x\x07 \u202e"
    file = write_capture("gpu.csv", f"index, name\n0, {hostile}\n")
    invoke("ingest", file)
    shown = r"=cmd|'/c calc'!A0 \u{1b}]8;;http://x\u{7} \u{202e}"
    assert invoke("sql", "SELECT model FROM gpu_readings", "--format", "csv").stdout == f"model\n'{shown}\n"
    sha = hashlib.sha256(file.read_bytes()).hexdigest()
    assert invoke("show", f"{sha}:2").stdout == f"2: 0, {shown}\n"
    assert home.exists()


SECRET = "canary-7f3a"  # noqa: S105 - what a query must not be able to read


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Database, Path]:
    """A locked database, and a folder with files that its queries try to read and write."""
    folder = tmp_path_factory.mktemp("locked")
    store = open_store(folder / "evidence", create=True)
    for name in ("secret.csv", "secret.json", "secret.txt"):
        (folder / name).write_text(f'"{SECRET}"\n', encoding="utf-8")
    duckdb.connect(str(folder / "secret.duckdb")).execute(f"CREATE TABLE t AS SELECT '{SECRET}' AS s").close()
    duckdb.connect().execute(f"COPY (SELECT '{SECRET}' AS s) TO '{folder}/secret.parquet'").close()
    return connect(store), folder


ATTACKS = [
    "COPY (SELECT 1) TO '{0}/new.csv'",
    "COPY captures TO '{0}/new.parquet' (FORMAT parquet)",
    "COPY captures FROM '{0}/secret.csv'",
    "EXPORT DATABASE '{0}/new'",
    "IMPORT DATABASE '{0}/new'",
    "ATTACH '{0}/secret.duckdb' AS other",
    "ATTACH '{0}/new.duckdb' AS other",
    "DETACH memory",
    "USE evidence",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET threads = 1",
    "RESET threads",
    "PRAGMA enable_profiling",
    "PRAGMA version",
    "CALL pragma_version()",
    "CREATE TABLE t AS SELECT 1",
    "CREATE TEMP VIEW captures AS SELECT 1",
    "CREATE TEMP MACRO why_absent(a, b) AS 'no'",
    "CREATE SECRET s (TYPE s3)",
    "DROP VIEW captures",
    "ALTER VIEW captures RENAME TO other",
    "INSERT INTO captures SELECT * FROM captures",
    "UPDATE captures SET path = ''",
    "DELETE FROM captures",
    "SET VARIABLE x = 1",
    "BEGIN",
    "CHECKPOINT",
    "VACUUM",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY (SELECT 1) TO '{0}/new.csv'",
    "",
    ";",
    "-- nothing",
    "SELECT * FROM read_csv('{0}/secret.csv', header = false)",
    "SELECT * FROM read_csv('/etc/passwd', sep = ':')",
    "SELECT * FROM read_text('{0}/secret.txt')",
    "SELECT * FROM read_blob('{0}/secret.txt')",
    "SELECT * FROM read_json('{0}/secret.json')",
    "SELECT * FROM read_parquet('{0}/secret.parquet')",
    "SELECT * FROM parquet_metadata('{0}/secret.parquet')",
    "SELECT * FROM parquet_scan('{0}/secret.parquet')",
    "SELECT * FROM sniff_csv('{0}/secret.csv')",
    "SELECT * FROM glob('{0}/*')",
    "SELECT * FROM '{0}/secret.parquet'",
    "FROM '{0}/secret.csv'",
    "SELECT * FROM 'file:{0}/secret.csv'",
    "SELECT * FROM 'https://example.org/x.parquet'",
    "SELECT getenv('HOME')",
    "WITH z AS (COPY (SELECT 1) TO '{0}/new.csv') FROM z",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{0}/new.csv'",
    "SELECT * FROM query('COPY (SELECT 1) TO ''{0}/new.csv''')",
    "SELECT * FROM query('SELECT * FROM read_text(''{0}/secret.txt'')')",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_query_reads_evidence_and_nothing_else(locked: tuple[Database, Path], attack: str) -> None:
    database, folder = locked
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with pytest.raises(DatabaseError) as caught:
        database.query(attack.format(folder))
    assert SECRET not in str(caught.value)
    assert caught.value.exit_code == 2
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize("attack", ["EXPLAIN COPY (SELECT 1) TO '{0}/new.csv'", "SELECT * FROM duckdb_settings()"])
def test_query_that_only_describes_writes_nothing(locked: tuple[Database, Path], attack: str) -> None:
    database, folder = locked
    before = sorted(folder.rglob("*"))
    with contextlib.suppress(DatabaseError):  # refused is fine as well
        assert SECRET not in str(database.query(attack.format(folder)).to_pylist())
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM captures",
        "FROM devices",
        "WITH x AS (SELECT 1 AS n) SELECT * FROM x",
        "EXPLAIN SELECT * FROM devices",
        "DESCRIBE devices",
        "SHOW TABLES",
        "VALUES (1)",
        "SELECT ';' AS semicolon;",
    ],
)
def test_queries_that_read_are_answered(locked: tuple[Database, Path], query: str) -> None:
    assert locked[0].query(query).num_columns > 0


def test_refused_query_exits_with_2(filled: Path) -> None:
    assert "[sql_refused]" in one_error(invoke("sql", "COPY (SELECT 1) TO 'new.csv'", code=2))
    assert not (filled / "new.csv").exists()


# -- catalog, show, verify -------------------------------------------------------------------------------------------


def test_catalog_needs_no_store(home: Path) -> None:
    names = [entry["name"] for entry in json.loads(invoke("catalog", "--json").stdout)]
    assert "gpu_readings" in names
    assert "devices" in names
    assert list(home.iterdir()) == []


def test_catalog_files_are_readable_by_anybody(filled: Path) -> None:
    (name,) = invoke("catalog", "--files", "gpu_list").stdout.splitlines()
    assert hashlib.sha256((filled / name).read_bytes()).hexdigest() == Path(name).stem
    assert pq.read_table(filled / name)["gpu_uuid"].to_pylist() == [UUID]
    assert json.loads(invoke("catalog", "--files", "gpu_list", "--json").stdout) == [name]
    assert invoke("catalog", "--files", "mig_devices").stdout == ""
    assert "no_such_table" in one_error(invoke("catalog", "--files", "nonsense", code=2))


def test_catalog_export_is_a_database(filled: Path) -> None:
    assert json.loads(invoke("catalog", "--export", "out.duckdb", "--json").stdout)["file"] == "out.duckdb"
    with duckdb.connect(str(filled / "out.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT device_id FROM devices").fetchall() == [(UUID,)]
    assert "file_exists" in one_error(invoke("catalog", "--export", "out.duckdb", code=2))


def test_show_gives_the_line_or_the_bytes(home: Path, write_capture: WriteCapture) -> None:
    data = b"index, name\r\n0, x\xff\r\n1, y\r\n"
    invoke("ingest", write_capture("gpu.csv", data), code=4)
    sha = hashlib.sha256(data).hexdigest()
    whole = invoke("show", sha)
    assert whole.stdout_bytes == data
    assert whole.stderr == "gpu.csv\n"
    assert invoke("show", f"{sha[:6]}:3").stdout == "3: 1, y\n"
    assert invoke("show", f"{sha}:2", "--context", "1").stdout == "1: index, name\n2: 0, x\\xff\n3: 1, y\n"
    assert "no_such_line" in one_error(invoke("show", f"{sha}:4", code=2))
    assert "bad_place" in one_error(invoke("show", "../../etc/passwd", code=2))
    assert home.exists()


def test_verify_names_damage_and_exits_with_5(filled: Path) -> None:
    done = invoke("verify")
    assert done.stdout.endswith("whole: every byte and every row is as it was written\n")
    assert "1 batches, 1 captures, 1 raw files, 2 segments" in done.stdout
    (filled / "evidence" / "tmp" / "1-1").touch()
    assert "not listed" in invoke("verify").stderr
    raw = filled / "evidence" / "raw" / SHA[:2] / SHA
    raw.chmod(0o600)
    raw.write_text("changed")
    done = invoke("verify", code=5)
    assert f"damaged: evidence/raw/{SHA[:2]}/{SHA}: " in done.stdout
    assert done.stdout.endswith("\ndamaged\n")
    (damage,) = json.loads(invoke("verify", "--json", code=5).stdout)["damage"]
    assert damage["code"] == "hash_mismatch"


def test_damaged_segment_answers_no_query(filled: Path) -> None:
    (name,) = invoke("catalog", "--files", "gpu_list").stdout.splitlines()
    data = bytearray((filled / name).read_bytes())
    data[len(data) // 2] ^= 1
    (filled / name).chmod(0o600)
    (filled / name).write_bytes(data)
    for command in (["sql", "SELECT 1"], ["report"], ["run", "captures"]):
        assert "hash_mismatch" in one_error(invoke(*command, code=5))


# -- the console script ----------------------------------------------------------------------------------------------

needs_script = pytest.mark.skipif(not SCRIPT.exists(), reason="the package is not installed: no console script")


def script(home: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(SCRIPT), *arguments], cwd=home, capture_output=True, check=False, timeout=120, **options)


@needs_script
def test_script_runs_the_main_job(home: Path, write_capture: WriteCapture) -> None:
    write_capture("list.txt", LISTING)
    write_capture("empty", "")
    done = script(home, "run", "captures", "--json")
    assert done.returncode == 4, done.stderr
    printed = json.loads(done.stdout)
    assert printed["captures"] == {"ingested": 1, "already_present": 0, "quarantined": 1}
    assert done.stderr == b""  # no progress where stderr is no terminal
    assert sorted(path.name for path in (home / "reports").iterdir()) == sorted(
        made.file_name for made in RENDERERS.values()
    )


@needs_script
def test_reader_that_goes_away_early_gets_no_traceback(filled: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [str(SCRIPT), "sql", "SELECT 1"], cwd=filled, stdout=write, stderr=subprocess.PIPE, check=False, timeout=120
        )
    finally:
        os.close(write)
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    assert done.returncode in {0, 1}
