"""The sections of the acceptance report: rows of the report queries in, tables of cells out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipeline.report_model import Cell, Column, Evidence, ReportTable, Section, Unknown

if TYPE_CHECKING:
    from pipeline.report_model import Verdict

Row = dict[str, Any]

SHOWN_FACTS = (
    "partitioning",
    "supported_capabilities",
    "time_slicing",
    "mps",
    "virtualization",
    "region",
    "assigned_tenant",
    "attestation",
)


def evidence(row: Row, line: str = "capture_line") -> Cell:
    """The capture and line that a row stands on; None when the file could not be read."""
    sha = row["capture_sha256"]
    return None if sha is None else Evidence(sha, row.get(line))


def _time(value: datetime | None) -> Cell:
    return None if value is None else value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def known(value: Cell, reason: str | None) -> Cell:
    """The value, or why it is not known."""
    return value if value is not None or reason is None else Unknown(reason)


_SOURCE = Column("source", "Source", "source")
_SIMULATED = Column("is_simulated", "Simulated", "flag")
_EVIDENCE = Column("evidence", "Evidence", "evidence")


def captures(rows: list[Row]) -> Section:
    """What was read."""
    columns = (
        Column("path", "Capture"),
        Column("kind", "Kind", "code"),
        _SOURCE,
        _SIMULATED,
        Column("claim_status", "Claimed hash", "code"),
        Column("status", "Status", "code"),
        Column("captured_at", "Captured at", unit="UTC"),
        Column("total_count", "Lines or elements", "number"),
        Column("row_count", "Became rows", "number"),
        Column("refused_count", "Refused", "number"),
        Column("capture_sha256", "SHA-256", "code"),
    )
    cells = tuple(
        (
            row["path"],
            known(row["kind"], "KIND_UNKNOWN"),
            known(row["source"], "NOT_SAID"),
            known(row["is_simulated"], "NOT_SAID"),
            row["claim_status"] or "no claim",
            row["status"] if row["status_reason"] is None else f"{row['status']}: {row['status_reason']}",
            known(_time(row["captured_at"]), "NOT_RECORDED"),
            row["total_count"],
            row["row_count"],
            row["refused_count"],
            row["capture_sha256"],
        )
        for row in rows
    )
    note = "Every line (element, in XML) of a capture became a row, or is a heading, a blank, structure, or refused."
    table = ReportTable("captures", "Captures", columns, cells, "No captures.", note)
    return Section(
        "captures", "What was read", "Each capture with its source, its claim and what became of it.", (table,)
    )


def devices(gpus: list[Row], facts: list[Row]) -> Section:
    """GPUs, and the facts about them."""
    columns = (
        Column("device_id", "GPU", "code"),
        Column("model", "Model"),
        Column("product", "Product", "code"),
        Column("driver_version", "Driver", "code"),
        Column("vbios_version", "VBIOS", "code"),
        Column("pci_bus_id", "PCI bus", "code"),
        Column("observed_at", "Last observed", unit="UTC"),
        _SOURCE,
        _SIMULATED,
        _EVIDENCE,
    )
    why = {(row["device_id"], row["fact"]): row["reason_code"] for row in facts}
    named = {
        "model": "model",
        "driver_version": "driver_version",
        "vbios_version": "firmware",
        "pci_bus_id": "pci_bus_id",
    }
    cells = tuple(
        (
            row["device_id"],
            known(row["model"], why.get((row["device_id"], named["model"]))),
            known(row["product"], "PRODUCT_NOT_LISTED" if row["model"] else "MODEL_UNKNOWN"),
            *(known(row[name], why.get((row["device_id"], named[name]))) for name in list(named)[1:]),
            known(_time(row["observed_at"]), "TIME_NOT_RECORDED"),
            known(row["source"], "NOT_SAID"),
            known(row["is_simulated"], "NOT_SAID"),
            evidence(row),
        )
        for row in gpus
    )
    table = ReportTable("gpus", "GPUs", columns, cells, "No capture names a GPU.")
    intro = "A fact is known only where a capture says it; an unknown one says why. Unknown is never no."
    return Section("devices", "Devices and what is known of them", intro, (table, _fact_table(gpus, facts)))


def _fact_table(gpus: list[Row], facts: list[Row]) -> ReportTable:
    by_key = {(row["device_id"], row["fact"]): row for row in facts}
    columns = (
        Column("device_id", "GPU", "code"),
        *(Column(fact, "MPS" if fact == "mps" else fact.replace("_", " ").capitalize()) for fact in SHOWN_FACTS),
        _EVIDENCE,
    )
    cells = []
    for gpu in gpus:
        found = [by_key[gpu["device_id"], fact] for fact in SHOWN_FACTS]
        shown = [known(fact["value"], fact["reason_code"]) for fact in found]
        cells.append((gpu["device_id"], *shown, evidence(found[0])))
    note = (
        "The evidence is that of the partitioning. Time slicing and MPS can only be told from a sharing configuration."
    )
    return ReportTable("facts", "Facts", columns, tuple(cells), "No GPU, no facts.", note)


def mig(layouts: list[Row], devices: list[Row]) -> Section:
    """MIG layouts and devices."""
    layout_columns = (
        Column("parent_device_id", "Parent GPU", "code"),
        Column("config_generation", "Generation", "code"),
        Column("child_count", "MIG devices", "number"),
        Column("observed_at", "Observed", unit="UTC"),
        Column("is_current", "Current", "flag"),
        Column("is_partial_view", "Partial view", "flag"),
        _SOURCE,
        _SIMULATED,
        _EVIDENCE,
    )
    layout_cells = tuple(
        (
            row["parent_device_id"],
            known(row["config_generation"], row["why_generation"]),
            row["child_count"],
            known(_time(row["observed_at"]), "TIME_NOT_RECORDED"),
            known(row["is_current"], "PARTIAL_VIEW" if row["is_partial_view"] else "ORDER_UNKNOWN"),
            known(row["is_partial_view"], "VIEWER_NOT_SAID"),
            known(row["source"], "NOT_SAID"),
            known(row["is_simulated"], "NOT_SAID"),
            evidence(row),
        )
        for row in layouts
    )
    intro = (
        "The generation names a set of MIG devices. It is a fence, not a proof: equal sets are told by their SHA-256."
    )
    return Section(
        "mig",
        "MIG layouts",
        intro,
        (
            ReportTable("layouts", "Layouts", layout_columns, layout_cells, "No capture lists MIG devices."),
            _mig_devices(devices),
        ),
    )


def _mig_devices(devices: list[Row]) -> ReportTable:
    columns = (
        Column("device_id", "MIG device", "code"),
        Column("parent_device_id", "Parent GPU", "code"),
        Column("mig_profile", "Profile", "code"),
        Column("gpu_instance_slices", "GPU slices", "number"),
        Column("compute_instance_slices", "Compute slices", "number"),
        Column("memory_gb", "Memory", "number", "GB"),
        Column("gpu_instance_id", "GI id", "number"),
        Column("compute_instance_id", "CI id", "number"),
        Column("is_stale", "Stale", "flag"),
        _SOURCE,
        _SIMULATED,
        _EVIDENCE,
    )
    why = {
        "gpu_instance_id": "NOT_IN_LISTING",
        "compute_instance_id": "NOT_IN_LISTING",
        "is_stale": "NO_NEWER_HOST_VIEW",
        "source": "NOT_SAID",
        "is_simulated": "NOT_SAID",
    }
    cells = tuple(
        (
            *(known(row[column.name], why.get(column.name, "UNPARSABLE")) for column in columns[:-1]),
            evidence(row),
        )
        for row in devices
    )
    return ReportTable("mig_devices", "MIG devices", columns, cells, "No capture lists MIG devices.")


def readings(rows: list[Row]) -> Section:
    """Ranges of the readings."""
    pairs = (
        ("sm_clock", "mhz", "SM clock", "MHz"),
        ("power_draw", "w", "Power draw", "W"),
        ("core_temp", "c", "Core", "C"),
    )
    ranges = tuple(
        Column(f"{name}_{end}_{suffix}", f"{label} {end}", "number", unit)
        for name, suffix, label, unit in pairs
        for end in ("min", "max")
    )
    columns = (
        Column("path", "Capture"),
        Column("gpu", "GPU", "code"),
        Column("rows", "Rows", "number"),
        *ranges,
        _SOURCE,
        _SIMULATED,
        _EVIDENCE,
    )
    cells = tuple(
        (
            row["path"],
            known(row["gpu"], "ROWS_NAME_NO_GPU"),
            row["rows"],
            *(
                known(row[f"{name}_{end}_{suffix}"], row[f"why_{name}"])
                for name, suffix, _, _ in pairs
                for end in ("min", "max")
            ),
            known(row["source"], "NOT_SAID"),
            known(row["is_simulated"], "NOT_SAID"),
            evidence(row, "first_line"),
        )
        for row in rows
    )
    table = ReportTable("readings", "Readings", columns, cells, "No capture holds readings.")
    intro = (
        "Least and greatest value of each quantity per capture and GPU, over all rows; the evidence is the first row."
    )
    return Section("readings", "Readings", intro, (table,))


def remarks(rows: list[Row]) -> Section:
    """What was refused or remarked."""
    columns = (
        Column("severity", "Severity", "severity"),
        Column("code", "Code", "code"),
        Column("path", "Capture"),
        Column("remarks", "Times", "number"),
        Column("subject", "About"),
        Column("message", "First of them"),
        _EVIDENCE,
    )
    cells = tuple(
        (
            row["severity"],
            row["code"],
            row["path"],
            row["remarks"],
            row["subject"] or "the capture",
            row["message"],
            evidence(row),
        )
        for row in rows
    )
    table = ReportTable("remarks", "Refused and remarked", columns, cells, "Nothing was refused and nothing is odd.")
    intro = "An error means that evidence was refused; its bytes are kept. Warnings are doubts, notes are news."
    return Section("refused", "What was refused, and why", intro, (table,))


def verdicts(verdicts: tuple[Verdict, ...]) -> Section:
    """Every verdict."""
    columns = (
        Column("requirement", "Requirement", "code"),
        Column("subject", "Subject"),
        Column("verdict", "Verdict", "verdict"),
        Column("reason_code", "Reason", "code"),
        Column("detail", "In words"),
        _EVIDENCE,
    )
    cells = tuple(
        (
            item.requirement,
            item.subject,
            item.verdict,
            item.reason_code,
            item.detail,
            item.evidence[0] if item.evidence else None,
        )
        for item in verdicts
    )
    table = ReportTable("verdicts", "Verdicts", columns, cells, "No requirement was judged.")
    return Section("verdicts", "Verdicts", "Each requirement, for each subject.", (table,))
