"""Tables of `nvidia-smi -L` (gpu_list, mig_devices) and of the `mig -lgi` and `-lci` tables (mig_instances)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
from pandera.pyarrow import Check

from schemas.columns import HEX64, TEXT, absent, at_least, column, keys, matches, one_of, table
from schemas.hashes import layout_bytes, mig_config_generation, sha256

_ID = (at_least(0),)
GENERATION = matches("generation", "fnv1a64:[0-9a-f]{16}")


def _generations_hold(data: Any) -> list[bool] | pa.Array:
    """Recompute each parent's generation and layout hash from its children: a stored one must be exactly that."""
    rows = data.table.select(
        ["capture_id", "parent_gpu_uuid", "mig_uuid", "config_generation", "layout_sha256"]
    ).to_pylist()
    children: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        children[row["capture_id"], row["parent_gpu_uuid"]].append(row["mig_uuid"])
    right = {}
    for parent, uuids in children.items():
        layout = layout_bytes(uuids)
        right[parent] = (mig_config_generation(uuids), None if layout is None else sha256(layout))
    answers = []
    for row in rows:
        generation, digest = right[row["capture_id"], row["parent_gpu_uuid"]]
        answers.append(row["config_generation"] in (None, generation) and row["layout_sha256"] in (None, digest))
    return pa.array(answers, pa.bool_())


GPU_LIST = table(
    "gpu_list",
    "One row per GPU line of `nvidia-smi -L`; a listing may name a GPU more than once.",
    {
        **keys(),
        "gpu_index": column(pa.int32(), "Index printed; it can change at boot and between viewers.", rules=_ID),
        "model": column(TEXT, "Product name as printed."),
        "gpu_uuid": column(TEXT, "GPU UUID as printed (integrated GPUs print no GPU- prefix)."),
        **absent(),
    },
)

MIG_DEVICES = table(
    "mig_devices",
    "One row per MIG line of `nvidia-smi -L`.",
    {
        **keys(),
        "gpu_index": column(pa.int32(), "Index of the parent in this listing.", rules=_ID),
        "parent_gpu_uuid": column(TEXT, "UUID of the GPU line above.", required=True),
        "mig_uuid": column(TEXT, "UUID of the MIG device, as printed.", required=True),
        "device_number": column(
            pa.int32(),
            "MIG device index within the parent as this viewer sees it; renumbered in containers.",
            rules=_ID,
        ),
        "mig_profile": column(TEXT, "Profile name as printed: [<c>c.]<g>g.<memory>gb[+attribute].", required=True),
        "gpu_instance_slices": column(pa.int32(), "GPU instance slices, from the profile name.", rules=_ID),
        "compute_instance_slices": column(pa.int32(), "Compute instance slices, from the profile name.", rules=_ID),
        "memory_gb": column(pa.float64(), "Nominal memory, from the profile name.", unit="GB", rules=_ID),
        "gpu_instance_id": column(pa.int32(), "GPU instance id, where the (old-style) UUID spells it.", rules=_ID),
        "compute_instance_id": column(
            pa.int32(), "Compute instance id, where the (old-style) UUID spells it.", rules=_ID
        ),
        "config_generation": column(
            TEXT, "FNV-1a 64 over the parent's sorted child UUIDs: a fence, not a proof.", rules=(GENERATION,)
        ),
        "layout_sha256": column(TEXT, "SHA-256 over the same bytes: equal layouts have equal ones.", rules=(HEX64,)),
        **absent(),
    },
    checks=[Check(_generations_hold, name="generation_of_the_listed_children")],
)

MIG_INSTANCES = table(
    "mig_instances",
    "One row per line of a `mig -lgi` or `mig -lci` table.",
    {
        **keys(),
        "instance_kind": column(
            TEXT,
            "gpu_instance (-lgi) or compute_instance (-lci).",
            required=True,
            rules=(one_of("gpu_instance", "compute_instance"),),
        ),
        "gpu_index": column(pa.int32(), "GPU index as printed.", required=True, rules=_ID),
        "profile_name": column(TEXT, "Profile name as printed, without the word MIG.", required=True),
        "profile_id": column(pa.int32(), "Profile id; GPU and compute instances number theirs separately.", rules=_ID),
        "gpu_instance_id": column(pa.int32(), "GPU instance id; repeats over GPUs.", required=True, rules=_ID),
        "compute_instance_id": column(pa.int32(), "Compute instance id within its GPU instance (-lci).", rules=_ID),
        "placement_start": column(pa.int32(), "First slice of the placement.", rules=_ID),
        "placement_size": column(pa.int32(), "Slices of the placement.", rules=_ID),
        **absent(),
    },
)
