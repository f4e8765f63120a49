"""Tables of decisions: what a person accepted (decisions) and every single statement in it (decision_claims)."""

from __future__ import annotations

import pyarrow as pa

from schemas.columns import HEX64, TEXT, absent, at_least, column, one_of, pointer_keys, table

STATUSES = ("accepted", "proposed", "rejected")
CLAIM_KINDS = ("bound", "field", "evidence", "tool", "supersedes", "gate_reading")

DECISIONS = table(
    "decisions",
    "One row per decision. A decision is never rewritten: the same id with other content is refused.",
    {
        **pointer_keys(),
        "decision_id": column(TEXT, "Name of the decision.", required=True),
        "decision_sha256": column(
            TEXT, "SHA-256 of its canonical JSON: equal for equal content.", required=True, rules=(HEX64,)
        ),
        "contract": column(TEXT, "What is decided about, such as dcgm."),
        "revision": column(pa.int32(), "Revision of the contract.", rules=(at_least(0),)),
        "product": column(TEXT, "Product id that it is about."),
        "driver_version": column(TEXT, "The one driver version that it is about."),
        "status": column(TEXT, "accepted, proposed or rejected.", required=True, rules=(one_of(*STATUSES),)),
        "decided_on": column(pa.date32(), "Day of the decision."),
        "decided_by": column(TEXT, "Who decided."),
        "captured_on": column(pa.date32(), "Day on which the evidence was captured, as the decision says."),
        "interpretation": column(pa.string(), "Source by which the evidence was read, and what it does not establish."),
        "text": column(pa.string(), "The decision in words."),
        **absent(),
    },
)

DECISION_CLAIMS = table(
    "decision_claims",
    "One row per statement of a decision: a bound, a field that is used, evidence, a tool, a superseded decision, "
    "the reading that gates a case.",
    {
        **pointer_keys(),
        "decision_id": column(TEXT, "The decision that says it.", required=True),
        "claim_kind": column(
            TEXT,
            "bound, field, evidence, tool, supersedes or gate_reading.",
            required=True,
            rules=(one_of(*CLAIM_KINDS),),
        ),
        "name": column(
            TEXT, "Name of the bound, field, tool, decision or gate case; SHA-256 of the evidence.", required=True
        ),
        "value_number": column(pa.float64(), "Value of a bound."),
        "value_text": column(
            pa.string(),
            "Version of a tool; what evidence is; what a field is used for; the clock lock of the reading that gates.",
        ),
        "unit": column(TEXT, "Unit of a bound."),
        "field_id": column(pa.int32(), "DCGM field id, where the decision gives it.", rules=(at_least(0),)),
        "smi_field": column(TEXT, "nvidia-smi query field of the same quantity, where the decision gives it."),
        **absent(),
    },
)
