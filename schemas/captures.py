"""Tables `captures` (what was found and what became of it) and `source_errors` (what was refused or remarked)."""

from __future__ import annotations

import pyarrow as pa

from schemas.columns import HEX64, TEXT, UTC, absent, at_least, column, one_of, table

SOURCES = ("host_observation", "admin_inventory", "operator_assertion", "published_claim", "mock")
"""Where evidence can come from. Never attestation_verifier: nothing here verifies an attestation."""

_COUNT = (at_least(0),)

CAPTURES = table(
    "captures",
    "One row per observation (a file that was found), refused ones included. Content is named by capture_sha256.",
    {
        "capture_id": column(
            TEXT,
            "SHA-256 of the canonical JSON of content hash, kind, command, captured_at, host, set, source, simulated.",
            required=True,
            rules=(HEX64,),
        ),
        "capture_sha256": column(TEXT, "SHA-256 of the bytes; NULL when the file could not be read.", rules=(HEX64,)),
        "kind": column(TEXT, "Capture kind (KINDS); NULL when it could not be told."),
        "path": column(TEXT, "Where it was found, below the path given on the command line.", required=True),
        "bytes": column(pa.int64(), "Size of the content.", unit="B", rules=_COUNT),
        "command": column(TEXT, "Command line that printed it.", source="sidecar command"),
        "captured_at": column(UTC, "When it was captured.", unit="UTC", source="sidecar captured_at"),
        "host": column(TEXT, "Host it was captured on.", source="sidecar host"),
        "set": column(TEXT, "Name of the set of captures taken together.", source="sidecar set"),
        "viewer": column(TEXT, "Whose view it is: host or restricted.", source="sidecar viewer"),
        "timezone": column(TEXT, "Zone of local times in the content.", source="sidecar timezone"),
        "source": column(
            TEXT, "Class of the source; NULL is not known.", source="sidecar source", rules=(one_of(*SOURCES),)
        ),
        "is_simulated": column(
            pa.bool_(), "Whether a simulation made it; NULL is not known.", source="sidecar simulated"
        ),
        "is_masked": column(pa.bool_(), "Whether UUIDs were masked before we got it.", source="sidecar masked"),
        "claimed_sha256": column(TEXT, "Hash that somebody claims for the content.", source="sidecar claimed_sha256"),
        "claim_status": column(
            TEXT,
            "claim_verified or claim_unverified: whether the real hash equals the claimed one; NULL without a claim.",
            rules=(one_of("claim_verified", "claim_unverified"),),
        ),
        "note": column(TEXT, "What the sidecar says of it in words.", source="sidecar note"),
        "sidecar": column(TEXT, "The whole sidecar as canonical JSON, unknown keys kept."),
        "status": column(
            TEXT,
            "accepted, accepted_with_rejects (some lines refused) or quarantined (nothing usable; bytes kept).",
            required=True,
            rules=(one_of("accepted", "accepted_with_rejects", "quarantined"),),
        ),
        "status_reason": column(TEXT, "Code of the reason for quarantine."),
        "counted": column(
            TEXT, "What the counts count: lines, or elements in XML.", rules=(one_of("lines", "elements"),)
        ),
        "total_count": column(pa.int64(), "Lines (elements) in the capture.", rules=_COUNT),
        "row_count": column(pa.int64(), "Lines (elements) that became rows.", rules=_COUNT),
        "header_count": column(pa.int64(), "Lines that name columns.", rules=_COUNT),
        "blank_count": column(pa.int64(), "Empty lines.", rules=_COUNT),
        "structure_count": column(pa.int64(), "Rules, titles, banners (elements that hold elements).", rules=_COUNT),
        "refused_count": column(
            pa.int64(), "Lines (elements) refused; total is the sum of the other five.", rules=_COUNT
        ),
        **absent(),
    },
)

SOURCE_ERRORS = table(
    "source_errors",
    "One row per remark about a capture: notes and warnings inform, errors mean that evidence was refused.",
    {
        "capture_id": column(TEXT, "The observation it is about.", required=True, rules=(HEX64,)),
        "capture_sha256": column(TEXT, "SHA-256 of the bytes; NULL when the file could not be read.", rules=(HEX64,)),
        "capture_line": column(pa.int32(), "First line it is about; NULL when about the whole.", rules=(at_least(1),)),
        "severity": column(TEXT, "note, warning or error.", required=True, rules=(one_of("note", "warning", "error"),)),
        "code": column(TEXT, "Stable code of the remark.", required=True),
        "subject": column(TEXT, "Field, element or device it is about."),
        "message": column(pa.string(), "What was found, what was expected, what to do.", required=True),
        **absent(),
    },
)
