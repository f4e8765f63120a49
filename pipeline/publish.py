"""Reports on disk: build once, print in every format asked for, and say what it means for the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline import errors
from pipeline.database import connect
from pipeline.renderers import RENDERERS
from pipeline.report import build

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from pipeline.report_model import Report
    from pipeline.store import Store


def formats(text: str) -> list[str]:
    """Formats of a comma-parted list."""
    chosen = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in chosen if name not in RENDERERS]
    if unknown or not chosen:
        message = f"format {', '.join(unknown) or 'list'} is not one of {', '.join(RENDERERS)}"
        raise errors.UsageError(message, code="unknown_format")
    return chosen


def publish(
    store: Store,
    reports: Path,
    chosen: Sequence[str],
    scope: Sequence[str] | None,
    policy: pa.Table | None = None,
) -> tuple[Report, list[Path]]:
    """Write the report on the store (or on some captures alone) into a folder, and return it and its files.

    A gate policy (one row of gate_policies) stands for all captured ones.
    """
    built = build(connect(store, scope, materialise=True, policy=policy))
    reports.mkdir(parents=True, exist_ok=True)
    written = []
    for name in chosen:
        path = reports / RENDERERS[name].file_name
        temporary = path.with_name(f".{path.name}.part")
        temporary.write_text(RENDERERS[name].render(built), encoding="utf-8")
        temporary.replace(path)  # a report is whole or not there
        written.append(path)
    return built, written


def with_prefix(store: Store, prefix: str | None) -> list[str] | None:
    """Ids of the captures whose path begins with the prefix; None: no limit."""
    if prefix is None:
        return None
    rows = connect(store).rows("SELECT capture_id, path FROM captures").to_pylist()
    found = [row["capture_id"] for row in rows if row["path"].startswith(prefix)]
    if not found:
        raise errors.UsageError(f"no capture has a path that begins with {prefix!r}", code="no_such_path")
    return found


def exit_code(report: Report, *, required: bool) -> int:
    """What a report means for whoever called: the overall verdict where it is required, else refused evidence."""
    if required and report.overall == "fail":
        return errors.VERDICT_FAILED
    if required and report.overall == "indeterminate":
        return errors.VERDICT_INDETERMINATE
    is_refused = any(
        verdict.requirement == "evidence_is_whole" and verdict.verdict == "fail" for verdict in report.verdicts
    )
    return errors.EVIDENCE_REFUSED if is_refused else 0
