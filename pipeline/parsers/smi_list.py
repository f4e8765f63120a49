"""`nvidia-smi -L`: gpu_list (GPU lines) and mig_devices (the MIG lines under them).

Rules. A GPU line starts in column 0 and its UUID follows the last `(UUID:`. A MIG line is indented and belongs to the
GPU line above it; without one it is refused, never guessed. A damaged line that may have been a GPU line ends the
block above it; one that may have been a MIG line leaves that GPU without a generation, because its children are not
all known. GPU and compute instance ids are read only from old-style UUIDs, and only when these name the same parent.
Masked, malformed and repeated child UUIDs give no generation. Repeated GPU lines (time slicing prints them) are rows.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipeline.parsed import Issue, Ledger, Parsed, diagnostic, is_banner, line_fault, split_lines, to_utf8
from pipeline.tokens import absence
from schemas import TABLES, unstamped_schema
from schemas.hashes import canonical_mig_uuid, is_masked_uuid, layout_bytes, mig_config_generation, mig_ids, sha256

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts

# No control character in a name: a lone CR would glue two lines into one GPU. No two parts of a pattern can match the
# same run of blanks, so that a hostile line costs linear time.
_GPU = re.compile(r"GPU ([0-9]{1,5}):([^\x00-\x1f\x7f]*)\(UUID:([^()\x00-\x1f\x7f]*)\)[ \t]*")
_MIG = re.compile(r"[ \t]+MIG[ \t]+(\S+?)[ \t]*Device[ \t]+([0-9]{1,5}):[ \t]*\(UUID:([^()\x00-\x1f\x7f]*)\)[ \t]*")
_PROFILE = re.compile(
    r"(?:([1-9][0-9]?)c\.)?([1-9][0-9]?)g\.([0-9]{1,4}(?:\.[0-9]{1,3})?)gb"
    r"(?:[+-][a-z][a-z0-9]*(?:\.[a-z0-9]+)*(?:,[a-z][a-z0-9]*(?:\.[a-z0-9]+)*)*)?"
)
_HEX = "[0-9a-fA-F]"
_GPU_UUID = re.compile(rf"(?:GPU-)?{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}")

_EXPECTED = "expected 'GPU <n>: <name> (UUID: ...)' or an indented 'MIG <profile> Device <k>: (UUID: ...)'"


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as the declared table, without the two columns that are stamped later."""
    return pa.Table.from_pylist(rows, schema=unstamped_schema(TABLES[name]))


def _absent_text(reasons: dict[str, str]) -> str | None:
    return " ".join(f"{name}={reason}" for name, reason in sorted(reasons.items())) or None


@dataclass
class _Child:
    """A MIG row that waits for its siblings: its generation needs all of them."""

    row: dict[str, Any]
    reasons: dict[str, str]


@dataclass
class _Reader:
    """One pass over the lines; `parent` is the GPU row that a MIG line would belong to."""

    parsed: Parsed
    gpus: list[dict[str, Any]] = field(default_factory=list)
    children: list[_Child] = field(default_factory=list)
    parent: dict[str, Any] | None = None
    models: dict[str, str] = field(default_factory=dict)
    incomplete: set[str] = field(default_factory=set)
    failure: str | None = None

    def read(self, number: int, line: bytes) -> None:
        """Account for one line: a row, blank, structure or refused."""
        ledger = self.parsed.ledger
        if not line.strip():
            ledger.blank += 1
        elif fault := line_fault(line):
            self.refuse(number, line, *fault)
        elif match := _GPU.fullmatch(text := line.decode()):
            self.gpu(number, match)
        elif match := _MIG.fullmatch(text):
            self.mig(number, line, match)
        elif remark := diagnostic(text, number):
            self.remark(remark)
        elif is_banner(text):
            self.parent = None
            ledger.structure += 1
        else:
            self.refuse(number, line, "unparsed_line", f"found {text[:200]!r}, {_EXPECTED}; remove or re-capture it")

    def refuse(self, number: int, line: bytes, code: str, message: str) -> None:
        """Refuse a line, and forget what it makes unknown about the lines around it."""
        self.parsed.ledger.refused += 1
        self.parsed.issues.append(Issue("error", code, message, number))
        may_be_child = b"MIG" in line or line[:1] in (b" ", b"\t")
        if line.startswith(b"GPU") or (not may_be_child and (b"GPU" in line or b"UUID" in line)):
            self.parent = None
        elif may_be_child and self.parent is not None:
            self.incomplete.add(self.parent["gpu_uuid"])

    def remark(self, remark: Issue) -> None:
        """Note a sentence of nvidia-smi; an error one stands where evidence is missing, so it counts as refused."""
        self.parsed.issues.append(remark)
        if remark.severity != "error":
            self.parsed.ledger.structure += 1
            return
        self.parsed.ledger.refused += 1
        self.failure = self.failure or remark.code
        # The sentence may stand in place of a GPU line.
        self.parent = None

    def gpu(self, number: int, match: re.Match[str]) -> None:
        """Add a GPU row."""
        model, printed = match[2].strip(), match[3].strip()
        reasons = {} if model else {"model": "not_recorded"}
        missing = absence(printed) if printed else "not_available"
        if missing is not None:
            reasons["gpu_uuid"] = missing
            self.warn(
                number, "malformed_uuid", f"GPU line without a UUID (found {printed!r}); its MIG lines are refused"
            )
        elif not _GPU_UUID.fullmatch(printed):
            self.warn(number, "malformed_uuid", f"found {printed!r}, expected GPU-<8-4-4-4-12 hex>; kept as printed")
        row = {
            "capture_line": number,
            "gpu_index": int(match[1]),
            "model": model or None,
            "gpu_uuid": None if missing else printed,
            "absent": _absent_text(reasons),
        }
        self.parsed.ledger.rows += 1
        self.gpus.append(row)
        self.parent = None if missing else row
        self.check_model(number, row)

    def check_model(self, number: int, row: dict[str, Any]) -> None:
        """Remark when one UUID goes by two names: both rows stay, which one is right is not ours to say."""
        uuid, model = row["gpu_uuid"], row["model"]
        if uuid is None or model is None:
            return
        known = self.models.setdefault(uuid, model)
        if known != model:
            message = f"{uuid} is named {known!r} and {model!r} in one capture; capture each machine by itself"
            self.warn(number, "conflicting_model", message, uuid)

    def mig(self, number: int, line: bytes, match: re.Match[str]) -> None:
        """Add a MIG row under the GPU above, or refuse it."""
        uuid = match[3].strip()
        if self.parent is None:
            message = f"MIG device {uuid!r} has no GPU line above, expected one; re-capture the whole listing"
            self.parsed.ledger.refused += 1
            self.parsed.issues.append(Issue("error", "orphan_mig_device", message, number, uuid or None))
            return
        if not uuid or absence(uuid) is not None:
            message = f"found {uuid!r} as MIG UUID, expected MIG-<8-4-4-4-12 hex>; re-capture the listing"
            self.refuse(number, line, "malformed_uuid", message)
            return
        row = {
            "capture_line": number,
            "gpu_index": self.parent["gpu_index"],
            "parent_gpu_uuid": self.parent["gpu_uuid"],
            "mig_uuid": uuid,
            "device_number": int(match[2]),
            "mig_profile": match[1],
        }
        reasons: dict[str, str] = {}
        self.slices(row, reasons)
        self.instance_ids(row, reasons)
        self.parsed.ledger.rows += 1
        self.children.append(_Child(row, reasons))

    def slices(self, row: dict[str, Any], reasons: dict[str, str]) -> None:
        """Read slices and nominal memory from the profile name; without a c part the compute slices are all."""
        profile = row["mig_profile"]
        match = _PROFILE.fullmatch(profile)
        columns = ("gpu_instance_slices", "compute_instance_slices", "memory_gb")
        if match is None or int(match[1] or match[2]) > int(match[2]):
            reasons.update(dict.fromkeys(columns, "unparsable"))
            message = f"found profile {profile!r}, expected [<c>c.]<g>g.<memory>gb[+attribute]; its sizes stay unknown"
            self.warn(row["capture_line"], "unparsable_profile", message, row["mig_uuid"])
            return
        row.update(zip(columns, (int(match[2]), int(match[1] or match[2]), float(match[3])), strict=True))

    def instance_ids(self, row: dict[str, Any], reasons: dict[str, str]) -> None:
        """Read GPU and compute instance ids where the UUID spells them and names the GPU above as its parent."""
        number, uuid, parent = row["capture_line"], row["mig_uuid"], row["parent_gpu_uuid"]
        reason = "not_recorded"
        if (ids := mig_ids(uuid)) is not None:
            if ids[0].casefold() == parent.casefold():
                row["gpu_instance_id"], row["compute_instance_id"] = ids[1:]
                return
            reason = "error"
            message = f"{uuid} spells parent {ids[0]}, the GPU line above says {parent}; its instance ids stay unknown"
            self.warn(number, "parent_mismatch", message, uuid)
        elif canonical_mig_uuid(uuid) is None:
            reason = "unparsable"
            message = (
                f"found {uuid!r}, expected MIG-<8-4-4-4-12 hex> or MIG-GPU-<hex>/<gi>/<ci>; no generation is given"
            )
            self.warn(number, "malformed_uuid", message, uuid)
        reasons.update(gpu_instance_id=reason, compute_instance_id=reason)

    def warn(self, number: int, code: str, message: str, subject: str | None = None) -> None:
        """Remark that costs no line."""
        self.parsed.issues.append(Issue("warning", code, message, number, subject))


def _finish_layouts(reader: _Reader, *, masked: bool) -> None:
    """Give every MIG row the generation of its parent's whole set of children, or the reason why there is none."""
    families: dict[str, list[_Child]] = defaultdict(list)
    for child in reader.children:
        families[child.row["parent_gpu_uuid"]].append(child)
    repeated = _repeated(reader)
    for parent, family in families.items():
        uuids = [child.row["mig_uuid"] for child in family]
        layout, generation = layout_bytes(uuids), mig_config_generation(uuids)
        reason = None
        if masked or any(is_masked_uuid(uuid) for uuid in (parent, *uuids)):
            reason = "masked"
        elif layout is None or generation is None or parent in reader.incomplete or repeated & _spelled(uuids):
            reason = "error"
        for child in family:
            if reason is not None:
                child.reasons.update(config_generation=reason, layout_sha256=reason)
            elif layout is not None:
                child.row.update(config_generation=generation, layout_sha256=sha256(layout))


def _spelled(uuids: list[str]) -> set[str]:
    return {text for uuid in uuids if (text := canonical_mig_uuid(uuid)) is not None}


def _repeated(reader: _Reader) -> set[str]:
    """MIG UUIDs listed more than once in the capture, each repetition remarked."""
    seen: Counter[str] = Counter()
    for child in reader.children:
        uuid = canonical_mig_uuid(child.row["mig_uuid"])
        if uuid is None:
            continue
        seen[uuid] += 1
        if seen[uuid] > 1:
            message = f"{uuid} is listed {seen[uuid]} times, expected once; its parent gets no generation"
            reader.warn(child.row["capture_line"], "duplicate_mig_uuid", message, uuid)
    return {uuid for uuid, count in seen.items() if count > 1}


def parse(data: bytes, facts: CaptureFacts) -> Parsed:
    """Read a listing; see the module for the rules."""
    lines = split_lines(to_utf8(data))
    reader = _Reader(Parsed(ledger=Ledger(total=len(lines))))
    for number, line in enumerate(lines, start=1):
        reader.read(number, line)
    _finish_layouts(reader, masked=facts.masked is True)
    parsed = reader.parsed
    rows = [{**child.row, "absent": _absent_text(child.reasons)} for child in reader.children]
    parsed.tables = {"gpu_list": _table("gpu_list", reader.gpus), "mig_devices": _table("mig_devices", rows)}
    if not parsed.ledger.rows:
        parsed.quarantine = reader.failure or "no_rows"
    return parsed


def detect(head: bytes) -> bool:
    """Whether a line is a GPU line of a listing (the GPU line of `-q` has a bus id and no UUID)."""
    return any(_GPU.fullmatch(line.decode(errors="replace")) for line in split_lines(head))
