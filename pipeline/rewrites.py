"""A decision is never rewritten: the same id with other content is refused, whoever brings it and whenever.

What a store holds first stands. Within one batch the order is that of the paths. A later decision supersedes an earlier
one by naming it, under an id of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.parsed import Issue, Ledger

if TYPE_CHECKING:
    from pipeline.segments import Item
    from pipeline.store import Store

CODE = "decision_rewritten"


def known(store: Store) -> dict[str, str]:
    """Decisions that the store holds: hash of the content by id."""
    found: dict[str, str] = {}
    for manifest in store.manifests():
        for segment in manifest["segments"]:
            if segment["table"] == "decisions":
                path = store.segment_path("decisions", segment["sha256"])
                data = store._read(path, segment["sha256"])  # noqa: SLF001 - hashed as it is read
                for row in pq.read_table(pa.BufferReader(data)).to_pylist():
                    found.setdefault(row["decision_id"], row["decision_sha256"])
    return found


def refuse(item: Item, standing: dict[str, str]) -> None:
    """Refuse a capture that gives a standing decision other content; else its decisions stand from now on."""
    table = item.tables.get("decisions")
    for row in [] if table is None else table.to_pylist():
        first = standing.setdefault(row["decision_id"], row["decision_sha256"])
        if first != row["decision_sha256"]:
            message = (
                f"found decision {row['decision_id']!r} with other content ({row['decision_sha256'][:12]}) than "
                f"the one that stands ({first[:12]}); expected an id of its own, and that it names what it supersedes"
            )
            item.tables = {}
            item.issues.append(Issue("error", CODE, message, None, "/decision"))
            item.ledger = Ledger(item.ledger.total, refused=item.ledger.total, counted=item.ledger.counted)
            item.row["status_reason"] = CODE
