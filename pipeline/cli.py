"""The command line: data to stdout, everything else to stderr. Each command forwards plain values to a function.

duckdb, pyarrow and pandera load inside commands, so that `--help` and completion stay fast. Only this module prints,
exits and imports click.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from pipeline.database import Database
    from pipeline.ingest import Result
    from pipeline.report_model import Report

_FOLDER = click.Path(file_okay=False, path_type=Path)
_STORE = click.option(
    "--store",
    type=_FOLDER,
    default=Path("evidence"),
    show_default=True,
    envvar="GPU_EVIDENCE_STORE",
    show_envvar=True,
    help="Evidence store.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout.")
_JOBS = click.option("--jobs", type=click.IntRange(1, 256), default=os.cpu_count() or 1, help="Parsing processes.")
_REPORTS = click.option("--reports", type=_FOLDER, default=Path("reports"), show_default=True, help="Where reports go.")
_FORMATS = click.option(
    "--format", "formats", default="html,md,json,junit", show_default=True, help="Report formats, comma-parted."
)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_POLICY = click.option("--policy", type=_FILE, help="Judge perf gates by this policy and no other.")
_REQUIRE = click.option(
    "--require", type=click.Choice(["pass"]), help="Exit 1 when a verdict fails, 3 when one is indeterminate."
)


class _KindType(click.ParamType[str]):
    """A capture kind. KINDS loads only when a kind is given."""

    name = "kind"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from pipeline.parsers import KINDS

        if value not in KINDS:
            self.fail(f"{value!r} is not one of {', '.join(KINDS)}", param, ctx)
        return str(value)


_KIND = click.option("--kind", type=_KindType(), help="Read every capture as this kind, whatever it looks like.")


def _shielded(command: Callable[..., None]) -> Callable[..., None]:
    """Show our errors in one line with their exit code; a closed pipe or Ctrl-C ends quietly."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except errors.EvidenceError as error:
            _say(f"gpu-evidence: {_printable(str(error))}", fg="red")
            raise SystemExit(error.exit_code) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader has seen enough: click ends quietly
            _say(f"gpu-evidence: {_printable(str(error))} [io]", fg="red")
            raise SystemExit(errors.DAMAGED) from error

    return run


@click.group(context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "GPU_EVIDENCE"})
@click.version_option(package_name="gpu-evidence")
@click.pass_context
def cli(context: click.Context) -> None:
    """Prove things about GPUs from captured evidence: ingest captures, query them, print an acceptance report.

    Exit codes: 0 done, 1 a required verdict failed, 2 usage, 3 a required verdict is indeterminate, 4 some evidence was
    refused (the rest is in), 5 store or environment damaged.
    """
    if os.environ.get("NO_COLOR"):
        context.color = False


@cli.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@_STORE
@_REPORTS
@_FORMATS
@_KIND
@_JOBS
@_REQUIRE
@_JSON
@_shielded
def run(
    paths: tuple[Path, ...],
    store: Path,
    reports: Path,
    formats: str,
    kind: str | None,
    jobs: int,
    require: str | None,
    as_json: bool,
) -> None:
    """Ingest the captures in PATHS (default captures/), derive, and report on them alone: the main job."""
    from pipeline import publish

    chosen = publish.formats(formats)
    result = _ingest(store, paths or (Path("captures"),), kind, jobs)
    report, written = publish.publish(_open(store), reports, chosen, result.capture_ids)
    _summarise(result, report, written, as_json=as_json)
    raise SystemExit(publish.exit_code(report, required=bool(require)))


@cli.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_STORE
@_KIND
@_JOBS
@_JSON
@_shielded
def ingest(paths: tuple[Path, ...], store: Path, kind: str | None, jobs: int, as_json: bool) -> None:
    """Bring the captures in PATHS into the store. Captures that are in it already cost nothing."""
    result = _ingest(store, paths, kind, jobs)
    if as_json:
        _print_json(result.as_json())
    else:
        _summarise(result, None, [], as_json=False)
    raise SystemExit(errors.EVIDENCE_REFUSED if result.refused else 0)


@cli.command()
@_STORE
@_REPORTS
@_FORMATS
@click.option("--path", "prefix", help="Only captures whose path begins with this.")
@_POLICY
@_REQUIRE
@_JSON
@_shielded
def report(
    store: Path,
    reports: Path,
    formats: str,
    prefix: str | None,
    policy: Path | None,
    require: str | None,
    as_json: bool,
) -> None:
    """Report on the whole store, or on the captures under --path."""
    from pipeline import publish, rejudge

    chosen = publish.formats(formats)
    opened = _open(store)
    judged_by = rejudge.read_policy(policy) if policy else None
    built, written = publish.publish(opened, reports, chosen, publish.with_prefix(opened, prefix), judged_by)
    _summarise(None, built, written, as_json=as_json)
    raise SystemExit(publish.exit_code(built, required=bool(require)))


@cli.command()
@_STORE
@click.option("--policy", type=_FILE, required=True, help="The other gate policy.")
@_JSON
@_shielded
def diff(store: Path, policy: Path, as_json: bool) -> None:
    """Judge the perf gates of the store again under another policy: which verdicts flip, and why."""
    from pipeline import rejudge

    found = rejudge.flips(_open(store), rejudge.read_policy(policy))
    _print_json(found) if as_json else click.echo("\n".join(map(_printable, rejudge.as_lines(found))))


@cli.command()
@click.argument("query", required=False)
@_STORE
@click.option("--format", "form", type=click.Choice(["table", "csv", "json", "parquet"]), help="Default: table.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file instead of stdout.")
@_JSON
@_shielded
def sql(query: str | None, store: Path, form: str | None, output: Path | None, as_json: bool) -> None:
    """Run one reading statement (`-`: from stdin) over the store, locked down. Without QUERY: interactive."""
    database = _database(store)
    form = form or ("json" if as_json else "table")
    if query is None:
        _interactive(database)
        return
    text = sys.stdin.read() if query == "-" else query
    _write_rows(database.query(text), form, output)


@cli.command()
@_STORE
@click.option("--files", metavar="TABLE", help="Print the Parquet files of a table, for other engines.")
@click.option(
    "--export", type=click.Path(dir_okay=False, path_type=Path), help="Write a DuckDB file for other clients."
)
@click.option("--markdown", is_flag=True, help="Print the data dictionary as Markdown.")
@_JSON
@_shielded
def catalog(store: Path, files: str | None, export: Path | None, markdown: bool, as_json: bool) -> None:
    """Print tables and views with their columns, units and sources."""
    from pipeline import catalog as contents

    if files is not None:
        found = contents.files(_open(store), files)
        _print_json(found) if as_json else click.echo("\n".join(found), nl=bool(found))
    elif export is not None:
        count = contents.export(_open(store), export)
        _print_json({"file": str(export), "tables": count}) if as_json else _say(f"wrote {count} tables to {export}")
    elif as_json:
        _print_json(contents.entries())
    else:
        click.echo(contents.as_markdown() if markdown else contents.as_text(), nl=False)


@cli.command()
@click.argument("place", metavar="SHA[:LINE]")
@_STORE
@click.option("--context", "around", type=click.IntRange(0), default=0, help="Lines before and after.")
@_JSON
@_shielded
def show(place: str, store: Path, around: int, as_json: bool) -> None:
    """Print the bytes behind a number: a whole capture, or one of its lines."""
    from pipeline import show as shown

    found = shown.find(_open(store), place, around)
    if as_json:
        _print_json(found.as_json())
        return
    for path in found.paths:
        _say(_printable(path))
    if found.line is None and not sys.stdout.isatty():
        sys.stdout.buffer.write(found.data)
        return
    for number, text in found.lines:
        click.echo(f"{number}: {_printable(text)}")


@cli.command()
@_STORE
@_JSON
@_shielded
def verify(store: Path, as_json: bool) -> None:
    """Re-hash everything, parse the raw captures again, compare, and name what is damaged."""
    from dataclasses import asdict

    from pipeline import verify as checks

    with _progress("verifying") as tell:
        found = checks.verify(_open(store), tell)
    if as_json:
        _print_json(asdict(found))
    else:
        counts = (
            f"{found.manifests} batches, {found.captures} captures, {found.raw} raw files, {found.segments} segments"
        )
        click.echo(f"head {found.head}: {counts}")
        for damage in found.damage:
            click.echo(_printable(f"damaged: {damage['where']}: {damage['message']} [{damage['code']}]"))
        for name in found.unlisted:
            _say(f"not listed (left by an interrupted ingest, never read): {_printable(name)}")
        whole = "whole: every byte and every row is as it was written" if found.manifests else "empty: nothing to check"
        click.echo("damaged" if found.damage else whole)
    raise SystemExit(errors.DAMAGED if found.damage else 0)


# -- plain functions behind the commands -----------------------------------------------------------------------------


def _open(store: Path, *, create: bool = False) -> Any:
    from pipeline.store import open_store

    return open_store(store, create=create)


def _database(store: Path) -> Database:
    from pipeline.database import connect

    return connect(_open(store))


def _ingest(store: Path, paths: tuple[Path, ...], kind: str | None, jobs: int) -> Result:
    from pipeline.captures import require
    from pipeline.ingest import ingest as bring_in

    require(paths)
    with _progress("reading captures") as tell:
        return bring_in(_open(store, create=True), paths, kind=kind, jobs=jobs, progress=tell)


def _summarise(result: Result | None, report: Report | None, written: list[Path], *, as_json: bool) -> None:
    if as_json:
        _print_json(
            (result.as_json() if result else {})
            | ({"overall": report.overall, "reports": [str(path) for path in written]} if report else {})
        )
        return
    if result:
        counts = (
            f"{result.ingested} ingested, {result.already_present} already present, {result.quarantined} quarantined"
        )
        head = f"head {result.head.number} {(result.head.sha256 or 'none')[:12]}"
        click.echo(f"captures: {counts}; {sum(result.rows.values())} rows; {head}")
        for refusal in result.refused[:20]:
            line = "" if refusal["line"] is None else f":{refusal['line']}"
            _say(_printable(f"refused {refusal['path']}{line}: {refusal['message']} [{refusal['code']}]"), fg="yellow")
        if len(result.refused) > 20:  # noqa: PLR2004 - a screenful
            _say(f"and {len(result.refused) - 20} more, in the source_errors view", fg="yellow")
    if report:
        colour = {"pass": "green", "fail": "red", "indeterminate": "yellow"}[report.overall]
        click.secho(f"{report.overall.upper()}: {report.headline}", fg=colour)
        for path in written:
            click.echo(str(path))


def _write_rows(table: pa.Table, form: str, output: Path | None) -> None:
    from pipeline import rows

    if form == "parquet" and output is None and sys.stdout.isatty():
        raise errors.UsageError("Parquet is not for a terminal; name a file with --output", code="binary_to_terminal")
    data = rows.encode(table, form)
    if output is None:
        sys.stdout.buffer.write(data)
    else:
        output.write_bytes(data)
        _say(f"wrote {table.num_rows} rows to {output}")


def _interactive(database: Database) -> None:
    import readline  # noqa: F401 - gives input() line editing and history

    _say("One reading statement a line; tables: SELECT view_name, comment FROM duckdb_views(); end with Ctrl-D.")
    prompt = "gpu-evidence> " if sys.stdin.isatty() else ""
    failed = 0
    while True:
        try:
            text = input(prompt)
        except EOFError:
            raise SystemExit(0 if sys.stdin.isatty() else failed) from None
        if not text.strip():
            continue
        try:
            _write_rows(database.query(text), "table", None)
        except errors.EvidenceError as error:
            failed = error.exit_code
            _say(_printable(str(error)), fg="red")


class _progress:  # noqa: N801 - a context manager reads as a statement
    """A progress line on stderr, when stderr is a terminal and it takes long enough to be seen."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = False

    def __enter__(self) -> Callable[[int, int], None]:
        return self.tell

    def tell(self, done: int, of: int) -> None:
        if sys.stderr.isatty():
            self.shown = True
            click.echo(f"\r{self.what}: {done} of {of}", nl=False, err=True)

    def __exit__(self, *_: object) -> None:
        if self.shown:
            click.echo(err=True)


def _printable(text: str) -> str:
    from pipeline.renderers.escape import printable

    return printable(text)


def _say(text: str, fg: str | None = None) -> None:
    click.secho(text, fg=fg, err=True)


def _print_json(value: Any) -> None:
    import json

    click.echo(json.dumps(value, indent=1, ensure_ascii=True))
