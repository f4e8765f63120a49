"""Judge the same records again under another gate policy, and say which verdicts flip and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline import captures, parse_pool, segments
from pipeline.database import connect
from pipeline.errors import CaptureError

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from pipeline.database import Database
    from pipeline.store import Store

# Verdicts of whole gates and of regions in one shape; a region that is not gated has no verdict.
_VERDICTS = """
SELECT
    captures.path, judged.case_id, judged.reading_id, judged.subject, judged.verdict, judged.reason_code, judged.why
FROM (
    SELECT
        capture_id, case_id, reading_id, 'gate' AS subject, verdict, reason_code, detail AS why
    FROM gate_verdicts
    UNION ALL
    SELECT
        capture_id,
        case_id,
        reading_id,
        region_text(region, scope),
        verdict,
        reason_code,
        concat_ws(
            ', ',
            'margin ' || number_text(margin),
            'ratio ' || decimals_text(hodges_lehmann, 4),
            'interval ' || decimals_text(interval_low, 4) || ' to ' || decimals_text(interval_high, 4),
            pairs_counted || ' of ' || planned_rounds || ' rounds count'
        )
    FROM gate_regions
    WHERE verdict IS NOT NULL
) AS judged
INNER JOIN captures USING (capture_id)
ORDER BY ALL
"""


def read_policy(path: Path) -> pa.Table:
    """A policy file as the one row of gate_policies. Raises CaptureError with its first fault."""
    found = captures.load(path.name, path, "gate_policy")
    parsed = parse_pool.parse_capture(found)
    faults = [issue for issue in (*found.issues, *parsed.issues) if issue.severity == "error"]
    if faults:
        raise CaptureError(faults[0].message, code=faults[0].code, where=str(path), line=faults[0].line)
    return segments.joined([segments.Item.of(found, parsed)])["gate_policies"]


def flips(store: Store, policy: pa.Table) -> list[dict[str, Any]]:
    """Verdicts that are another under the policy: what they were, what they are, and what decides them now."""
    before, after = (_verdicts(connect(store, policy=chosen)) for chosen in (None, policy))
    return [
        {
            **dict(zip(("path", "case_id", "subject"), key[:3], strict=True)),
            "reading_before": before.get(key, _NONE)["reading_id"],
            "reading_after": after.get(key, _NONE)["reading_id"],
            "before": before.get(key, _NONE)["verdict"],
            "after": after.get(key, _NONE)["verdict"],
            "reason_before": before.get(key, _NONE)["reason_code"],
            "reason_after": after.get(key, _NONE)["reason_code"],
            "why": after.get(key, before.get(key, _NONE))["why"],
        }
        for key in dict.fromkeys([*before, *after])
        if before.get(key, _NONE)["verdict"] != after.get(key, _NONE)["verdict"]
    ]


def as_lines(found: list[dict[str, Any]]) -> list[str]:
    """Flips as lines of text."""
    told = [
        f"{flip['path']}: {flip['case_id']}: {flip['subject']}: {flip['before']} ({flip['reason_before']}) "
        f"-> {flip['after']} ({flip['reason_after']}): {flip['why']}"
        for flip in found
    ]
    return [*told, f"{len(found)} verdict{'' if len(found) == 1 else 's'} flip{'s' if len(found) == 1 else ''}"]


_NONE: dict[str, Any] = {"reading_id": None, "verdict": None, "reason_code": None, "why": None}


def _verdicts(database: Database) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Verdicts by what they are about; a gate may choose another reading, a region belongs to one."""
    found = {}
    for row in database.rows(_VERDICTS).to_pylist():
        reading = None if row["subject"] == "gate" else row["reading_id"]
        found[(row["path"], row["case_id"], row["subject"], reading)] = row
    return found
