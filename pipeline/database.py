"""The database: in memory, over exactly the segments that the head manifest lists, then locked.

Each segment is mapped once and hashed, and the same mapping becomes a pyarrow dataset: what was hashed is what is read.
Views are made in the order of VIEWS. Then access to files is switched off and the configuration is locked: no query can
read or write a file, load code, open a socket or change a setting after that. Only this module imports duckdb's API.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.dataset as ds

from pipeline import statistics
from pipeline.errors import DatabaseError, StoreError
from pipeline.sql import VIEWS
from schemas import TABLES, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.store import Store

_SQL = Path(__file__).parent / "sql"
_REFERENCE = Path(__file__).parent / "reference"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}
LARGE = frozenset({"clocks_event_reasons"})
"""Marts with several rows per reading: never materialised."""
SETTLED = frozenset(
    {"decisions", "profile_observations", "profile_bounds", "profile_contradictions", "contract_profiles"}
)
"""Small marts that many others read, and that no scenario changes: always computed once. As views they would be
expanded anew in every place, which took seconds to plan."""
_EXPLAIN = re.compile(r"^\s*explain\s+(?:analyze\s+)?(?:\([\w\s,]*\)\s*)?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class ViewDoc:
    """What the header of a .sql file says: the grain in its first sentence, and what its own columns mean."""

    name: str
    description: str
    columns: dict[str, str]
    sql: str


@dataclass
class Database:
    """A locked connection with every table and view."""

    connection: duckdb.DuckDBPyConnection
    held: list[Any] = field(default_factory=list)

    def query(self, sql: str) -> pa.Table:
        """Run one reading statement of an analyst and return its rows."""
        kind = self._only_statement(sql)
        if kind == duckdb.StatementType.EXPLAIN:
            # EXPLAIN ANALYZE runs what it explains
            kind = self._only_statement(_EXPLAIN.sub("", sql, count=1))
        if kind != duckdb.StatementType.SELECT:
            message = f"found a statement of type {kind.name}, expected one that reads (SELECT, or EXPLAIN of one)"
            raise DatabaseError(message, code="sql_refused")
        return self.rows(sql)

    def _only_statement(self, sql: str) -> duckdb.StatementType:
        try:
            statements = self.connection.extract_statements(sql)
        except duckdb.Error as error:
            raise _refused(error) from error
        except TypeError as error:
            raise DatabaseError("the query is not UTF-8 text", code="sql_refused") from error
        if len(statements) != 1:
            raise DatabaseError(f"found {len(statements)} statements, expected one", code="sql_refused")
        try:
            return statements[0].type
        except ValueError as error:  # a statement so new that the client has no name for it
            raise DatabaseError("found a statement of unknown type, expected SELECT", code="sql_refused") from error

    def rows(self, sql: str) -> pa.Table:
        """Run one of our own queries."""
        try:
            return self.connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise _refused(error) from error


def connect(
    store: Store,
    scope: Sequence[str] | None = None,
    *,
    materialise: bool = False,
    policy: pa.Table | None = None,
) -> Database:
    """Open the database over the store's head; with a scope, over these captures alone (in every table).

    A report asks every mart, so it has each of them computed once, in order (`materialise`). A policy (one row of
    gate_policies) stands for all captured ones.
    """
    listed = segments(store)
    datasets = {name: dataset(store, name, listed.get(name, ())) for name in TABLES}
    if policy is not None:
        datasets["gate_policies"] = ds.dataset(policy)
        scope = None if scope is None else [*scope, policy["capture_id"][0].as_py()]
    database = _build(datasets, scope, materialise=materialise)
    _lock(database)
    return database


def empty() -> Database:
    """Return the database over no evidence at all: for the catalogue."""
    return over({name: ds.dataset(arrow_schema(schema).empty_table()) for name, schema in TABLES.items()})


def over(datasets: dict[str, ds.Dataset]) -> Database:
    """Return the database over tables that are in memory, one dataset for each."""
    database = _build(datasets, None, comment=False)
    _lock(database)
    return database


def export(store: Store, target: Path) -> int:
    """Copy every table and mart into a new DuckDB file, in a storage version that DuckDB 1.5 reads; how many."""
    listed = segments(store)
    database = _build({name: dataset(store, name, listed.get(name, ())) for name in TABLES}, None)
    references = {f"ref_{file.stem}" for file in _REFERENCE.glob("*.csv")}
    names = sorted({*TABLES, *(view_doc(view).name for view in VIEWS), *references})
    path = str(target).replace("'", "''")
    try:
        database.connection.execute(f"ATTACH '{path}' AS exported (STORAGE_VERSION 'v1.5.0')")
        for name in names:
            database.connection.execute(f"CREATE TABLE exported.{name} AS SELECT * FROM main.{name}")  # noqa: S608
        # Made inside the file, so that the macros find each other whatever name the file is attached under later.
        database.connection.execute("USE exported")
        database.connection.execute((_SQL / "macros.sql").read_text(encoding="utf-8"))
        database.connection.execute("USE memory")
        database.connection.execute("DETACH exported")
    except duckdb.Error as error:
        raise StoreError(str(error), code="export_failed", where=str(target)) from error
    return len(names)


def _build(
    datasets: dict[str, ds.Dataset],
    scope: Sequence[str] | None,
    *,
    materialise: bool = False,
    comment: bool = True,
) -> Database:
    connection = duckdb.connect(":memory:", config=_CONFIG)
    database = Database(connection, list(datasets.values()))
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("CREATE SCHEMA evidence")
    if scope is not None:
        wanted = pa.table({"capture_id": pa.array(sorted(set(scope)), pa.string())})
        connection.register("scope_captures", wanted)
    for name, data in datasets.items():
        connection.register(f"_{name}", data)
        only = "" if scope is None else " SEMI JOIN scope_captures USING (capture_id)"
        connection.execute(f"CREATE VIEW evidence.{name} AS SELECT * FROM _{name}{only}")  # noqa: S608 - our own names
        if f"marts/{name}" not in VIEWS:
            connection.execute(f"CREATE VIEW main.{name} AS SELECT * FROM evidence.{name}")  # noqa: S608
    _reference(connection)
    _functions(connection)
    connection.execute((_SQL / "macros.sql").read_text(encoding="utf-8"))
    for view in VIEWS:
        doc = view_doc(view)
        is_once = doc.name in SETTLED or (materialise and view.startswith("marts/") and doc.name not in LARGE)
        kind = "TABLE" if is_once else "VIEW"
        connection.execute(f"CREATE {kind} {doc.name} AS {doc.sql}")
    if comment and not materialise:
        _comment(connection)
    return database


def _lock(database: Database) -> None:
    """Nothing reads or writes a file, loads code, opens a socket or changes a setting after this."""
    database.connection.execute("SET enable_external_access = false")
    database.connection.execute("SET lock_configuration = true")


def segments(store: Store) -> dict[str, tuple[str, ...]]:
    """Hashes of the segments of each table that the head lists, in the order of the batches."""
    listed: dict[str, list[str]] = {}
    for manifest in store.manifests():
        for segment in manifest["segments"]:
            listed.setdefault(segment["table"], []).append(segment["sha256"])
    return {name: tuple(hashes) for name, hashes in listed.items()}


def dataset(store: Store, name: str, hashes: Iterable[str]) -> ds.Dataset:
    """A table as a pyarrow dataset over its segments, each hashed before it is read."""
    schema = arrow_schema(TABLES[name])
    form = ds.ParquetFileFormat()
    fragments = [form.make_fragment(_verified(store, name, digest)) for digest in dict.fromkeys(hashes)]
    if not fragments:
        return ds.dataset(schema.empty_table())
    return ds.FileSystemDataset(fragments, schema=schema, format=form)


def _verified(store: Store, name: str, digest: str) -> pa.Buffer:
    path = store.segment_path(name, digest)
    try:
        buffer = pa.memory_map(str(path)).read_buffer()
    except OSError as error:
        raise StoreError(
            "segment is missing; run `gpu-evidence verify`", code="file_missing", where=str(path)
        ) from error
    found = hashlib.sha256(buffer).hexdigest()
    if found != digest:
        message = f"segment hashes to {found}; run `gpu-evidence verify`; nothing was read from it"
        raise StoreError(message, code="hash_mismatch", where=str(path))
    return buffer


def _reference(connection: duckdb.DuckDBPyConnection) -> None:
    """Facts that are ours and not the evidence's: ref_products, ref_mig_profiles, ref_smi_fields, ..."""
    for file in sorted(_REFERENCE.glob("*.csv")):
        names = file.read_text(encoding="utf-8").partition("\n")[0].split(",")
        kinds = pcsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
        )
        table = pcsv.read_csv(file, convert_options=kinds)
        connection.register(f"_ref_{file.stem}", table)
        connection.execute(f"CREATE VIEW ref_{file.stem} AS SELECT * FROM _ref_{file.stem}")  # noqa: S608


def _functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Tests that SQL has no words for: functions over whole columns, told apart from aggregates by taking lists."""
    for name, (function, parameters, result) in statistics.FUNCTIONS.items():
        connection.create_function(name, function, parameters, result, type="arrow", null_handling="special")


@cache
def view_doc(view: str) -> ViewDoc:
    """Read a view's file: comment lines first, the query after them."""
    text = (_SQL / f"{view}.sql").read_text(encoding="utf-8")
    header = [line[2:] for line in text.splitlines() if line.startswith("--")]
    columns: dict[str, str] = {}
    words: list[str] = []
    last = ""
    for line in header:
        if match := re.fullmatch(r"   (\w+): (.*)", line):
            last = match[1]
            columns[last] = match[2]
        elif line.startswith("     ") and last:
            columns[last] += " " + line.strip()
        else:
            words.append(line.strip())
    return ViewDoc(view.rsplit("/", 1)[-1], " ".join(words), columns, text)


def column_docs() -> dict[str, tuple[str, str | None, str | None]]:
    """Description, unit and source by column name, from the tables: a view's column of the same name means the same."""
    found: dict[str, tuple[str, str | None, str | None]] = {}
    for schema in TABLES.values():
        for name, declared in schema.columns.items():
            metadata = declared.metadata or {}
            found.setdefault(name, (declared.description or "", metadata.get("unit"), metadata.get("source")))
    return found


def _comment(connection: duckdb.DuckDBPyConnection) -> None:
    """Put the data dictionary into the database, where every client shows it."""
    statements = []
    shared = column_docs()
    tables: dict[str, tuple[str, dict[str, str]]] = {
        name: (schema.description or "", {}) for name, schema in TABLES.items() if f"marts/{name}" not in VIEWS
    }
    views = {doc.name: (doc.description, doc.columns) for doc in map(view_doc, VIEWS)}
    columns = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal"
    ).fetchall()
    for name, (description, _) in (tables | views).items():
        kind = "TABLE" if name in SETTLED else "VIEW"
        statements.append(f"COMMENT ON {kind} {name} IS {_quoted(description)}")
    for table, column in columns:
        if table not in tables | views:
            continue
        own = (tables | views)[table][1].get(column)
        said = own or (shared.get(column) or ("",))[0]
        if said:
            statements.append(f"COMMENT ON COLUMN {table}.{column} IS {_quoted(said)}")
    connection.execute(";".join(statements))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _refused(error: duckdb.Error) -> DatabaseError:
    return DatabaseError(str(error), code="sql_failed")
