"""Report sections of contract profiles and clock constraints: rows of the report queries in, tables of cells out."""

from __future__ import annotations

from typing import Any

from pipeline.report_model import Cell, Chart, Column, Evidence, Panel, Point, ReportTable, Section
from pipeline.report_sections import evidence, known

Row = dict[str, Any]

_EVIDENCE = Column("evidence", "Evidence", "evidence")
_CLAIM = Column("rests_on_claim", "Rests on claim", "flag")


def contracts(profiles: list[Row], bounds: list[Row], contradictions: list[Row], coverage: list[Row]) -> Section:
    """Contract profiles, what they stand on, and the fields that a contract uses."""
    intro = (
        "A profile holds for one product and one exact driver version. It is supported only when a decision in force "
        "accepts it and no evidence contradicts it; a candidate supports nothing."
    )
    tables = (_profiles(profiles), _bounds(bounds), _contradictions(contradictions), _coverage(coverage))
    return Section("contracts", "Contract profiles", intro, tables)


_PROFILE = (
    ("sm_clock_max_mhz", "SM clock max", "MHz"),
    ("memory_clock_max_mhz", "Memory clock max", "MHz"),
    ("power_limit_min_w", "Power min", "W"),
    ("power_limit_max_w", "Power max", "W"),
    ("core_slowdown_c", "Slowdown", "C"),
    ("core_shutdown_c", "Shutdown", "C"),
    ("core_reference_c", "Reference", "C"),
    ("core_reference_spread_c", "Spread", "C"),
    ("hbm_limit_c", "HBM limit", "C"),
)


def _profiles(rows: list[Row]) -> ReportTable:
    columns = (
        Column("product", "Product", "code"),
        Column("driver_version", "Driver", "code"),
        Column("status", "Status", "code"),
        Column("reason_code", "Reason", "code"),
        Column("contract", "Accepted by"),
        *(Column(name, label, "number", unit) for name, label, unit in _PROFILE),
        Column("settled_observations", "Settled readings", "number"),
        _CLAIM,
        _EVIDENCE,
    )
    cells = tuple(
        (
            row["product"],
            row["driver_version"],
            row["status"],
            row["reason_code"],
            known(row["decision_id"], row["reason_code"]),
            *(known(row[name], _why(row, name)) for name, _, _ in _PROFILE),
            row["settled_observations"],
            known(row["rests_on_claim"], "SOURCE_NOT_SAID"),
            known(evidence(row), row["reason_code"]),
        )
        for row in rows
    )
    note = (
        "The slowdown temperature activates the thermal limiter, above it and not at it. Shutdown and reference are "
        "kept and bound admission; they activate nothing. An HBM limit is shown only where a capture prints it as a "
        "temperature."
    )
    return ReportTable(
        "profiles", "Profiles", columns, cells, "No capture and no decision is about a known product.", note
    )


def _why(row: Row, name: str) -> str:
    if name == "hbm_limit_c":
        return "NOT_ESTABLISHED"
    sums = ", ".join(f"{value:g}" for value in row["sums_seen_c"] or [])
    if row["contradictions"]:
        return "CONTRADICTED"
    if name in ("core_reference_c", "core_reference_spread_c", "core_slowdown_c", "core_shutdown_c") and sums:
        return f"NO_SETTLED_ROW (sums seen: {sums})" if name == "core_reference_c" else "NO_SETTLED_ROW"
    return "NOT_CAPTURED"


def _bounds(rows: list[Row]) -> ReportTable:
    columns = (
        Column("product", "Product", "code"),
        Column("driver_version", "Driver", "code"),
        Column("bound", "Bound", "code"),
        Column("value", "Value", "number"),
        Column("unit", "Unit"),
        Column("role", "Role", "code"),
        Column("basis", "Basis", "code"),
        Column("derivation", "Derivation", "words"),
        Column("observations", "Observations", "number"),
        Column("sources", "Sources", "source"),
        _EVIDENCE,
    )
    cells = tuple(
        (
            row["product"],
            row["driver_version"],
            row["bound"],
            known(row["value"], "NO_SETTLED_ROW"),
            row["unit"],
            row["role"],
            row["basis"],
            row["derivation"],
            row["observations"],
            row["sources"],
            evidence(row),
        )
        for row in rows
    )
    note = "read: a capture prints it. derived: computed from what captures print. pinned: a decision in force says it."
    return ReportTable("bounds", "Bounds and what they stand on", columns, cells, "There is no bound.", note)


def _contradictions(rows: list[Row]) -> ReportTable:
    columns = (
        Column("product", "Product", "code"),
        Column("driver_version", "Driver", "code"),
        Column("bound", "Bound", "code"),
        Column("reason_code", "Reason", "code"),
        Column("one", "One side"),
        Column("other", "The other side"),
    )
    cells = tuple(tuple(row[column.name] for column in columns) for row in rows)
    return ReportTable("contradictions", "Contradictions", columns, cells, "Nothing contradicts anything.")


def _coverage(rows: list[Row]) -> ReportTable:
    columns = (
        Column("decision_id", "Decision", "code"),
        Column("field_name", "Field as the contract names it", "code"),
        Column("field_id", "Id", "number"),
        Column("header_name", "Name in the header", "code"),
        Column("catalogue_name", "Name in the catalogue", "code"),
        Column("is_enabled", "Exported", "flag"),
        Column("smi_field", "nvidia-smi field", "code"),
        Column("unit_hint", "Unit", "text"),
        Column("meaning", "Meaning", "words"),
        Column("reason_code", "Answer", "code"),
        _EVIDENCE,
    )
    cells = tuple(
        (
            row["decision_id"],
            row["field_name"],
            known(row["field_id"], row["reason_code"]),
            known(row["header_name"], row["reason_code"]),
            known(row["catalogue_name"], _unlisted(row)),
            known(row["is_enabled"], _unlisted(row)),
            known(row["smi_field"], "NONE_NAMED"),
            known(row["unit_hint"], "NOT_SAID"),
            known(row["meaning"], "NOT_SAID"),
            row["reason_code"],
            _first(row["first_evidence"]) or evidence(row),
        )
        for row in rows
    )
    note = "Fields are joined by id, across renames: header, exporter catalogue, nvidia-smi."
    return ReportTable("coverage", "Fields that a contract uses", columns, cells, "No decision names a field.", note)


def _unlisted(row: Row) -> str:
    return "NOT_LISTED" if row["is_in_catalogue"] is False else "NO_USABLE_CATALOGUE"


def _first(text: str | None) -> Cell:
    sha, _, line = (text or "").partition(":")
    return Evidence(sha, int(line) if line else None) if sha else None


def scenarios(constraints: list[Row], admissions: list[Row]) -> Section:
    """Clock constraints and admissions of scenarios."""
    intro = (
        "A scenario is an operator's assumption, not a measurement. What cannot be evaluated has no achieved clocks: "
        "unknown is neither zero nor unlimited."
    )
    tables = (_limits(constraints), _admissions(admissions))
    return Section("scenarios", "Scenarios: clock constraints and admissions", intro, tables, _charts(constraints))


_CHARTED = 64
"""GPUs in one chart; a larger scenario is shown in the table alone."""


def _charts(rows: list[Row]) -> tuple[Chart, ...]:
    """Requested against achieved clocks, one chart per scenario."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["scenario"], row["capture_id"]), []).append(row)
    return tuple(
        Chart(
            f"clocks-{number}",
            f"Requested and achieved clocks: {scenario}",
            "Each GPU in physical order. Achieved clocks follow from the caps that the operator assumes, not from a "
            "measurement. An unknown one is marked at its request; the table below says why.",
            (_panel("SM clock", "sm_clock_mhz", part), _panel("Memory clock", "memory_clock_mhz", part)),
            table_id="constraints",
            source="simulated" if part[0]["is_simulated"] else part[0]["source"],
        )
        for number, ((scenario, _), part) in enumerate(found.items(), start=1)
        if part[0]["gpus"] <= _CHARTED
    )


def _panel(label: str, clock: str, rows: list[Row]) -> Panel:
    points = tuple(
        Point(
            row["gpu_id"],
            row[f"requested_{clock}"],
            row[f"achieved_{clock}"],
            is_limited=row["limiter_state"] == "active",
            state=_limiter(row),
            reason=row["reason_code"] if row[f"achieved_{clock}"] is None else None,
        )
        for row in rows
    )
    return Panel(label, "MHz", points)


def _limiter(row: Row) -> str | None:
    """Return what limits a GPU in the chart's words; None where nothing does."""
    if row["limiter_state"] != "active":
        return None if row["limiter_state"] == "inactive" else "not evaluated"
    by = [word for word in ("thermal", "power") if row[f"is_{word}_limited"]]
    return "+".join(by) or "limited"


def _limits(rows: list[Row]) -> ReportTable:
    columns = (
        Column("scenario", "Scenario", "code"),
        Column("gpu_id", "GPU", "code"),
        Column("core_temp_c", "Core", "number", "C"),
        Column("power_demand_w", "Demand", "number", "W"),
        Column("power_budget_w", "Budget", "number", "W"),
        Column("power_draw_w", "Draw", "number", "W"),
        Column("limiter_state", "Limiter", "code"),
        Column("reason", "Why", "words"),
        Column("requested_sm_clock_mhz", "SM requested", "number", "MHz"),
        Column("achieved_sm_clock_mhz", "SM achieved", "number", "MHz"),
        Column("requested_memory_clock_mhz", "Memory requested", "number", "MHz"),
        Column("achieved_memory_clock_mhz", "Memory achieved", "number", "MHz"),
        _CLAIM,
        Column("is_simulated", "Simulated", "flag"),
        _EVIDENCE,
    )
    cells = tuple(
        (
            row["scenario"],
            row["gpu_id"],
            known(row["core_temp_c"], "NOT_DECLARED"),
            known(row["power_demand_w"], "NOT_DECLARED"),
            known(row["power_budget_w"], "NOT_DECLARED"),
            known(row["power_draw_w"], row["why_draw"] or "NOT_DECLARED"),
            row["limiter_state"],
            row["reason"],
            known(row["requested_sm_clock_mhz"], "NOT_DECLARED"),
            known(row["achieved_sm_clock_mhz"], row["reason_code"]),
            known(row["requested_memory_clock_mhz"], "NOT_DECLARED"),
            known(row["achieved_memory_clock_mhz"], row["reason_code"]),
            known(row["rests_on_claim"], "SOURCE_NOT_SAID" if row["has_profile"] else "NO_PROFILE"),
            known(row["is_simulated"], "NOT_SAID"),
            evidence(row),
        )
        for row in rows
    )
    empty = "No scenario declares a demand."
    return ReportTable("constraints", "Clock constraints", columns, cells, empty, _cut(rows))


def _admissions(rows: list[Row]) -> ReportTable:
    columns = (
        Column("scenario", "Scenario", "code"),
        Column("gpu_id", "GPU", "code"),
        Column("capability", "Capability", "code"),
        Column("verdict", "Verdict", "verdict"),
        Column("reason_code", "Reason", "code"),
        Column("baseline_c", "Baseline", "number", "C"),
        Column("worst_case_c", "Worst case", "number", "C"),
        Column("fault", "Fault"),
        Column("limit_c", "Bound", "number", "C"),
        _CLAIM,
        _EVIDENCE,
    )
    cells = tuple(
        (
            row["scenario"],
            row["gpu_id"],
            row["capability"],
            row["verdict"],
            row["reason_code"],
            known(row["baseline_c"], "NOT_DECLARED"),
            known(row["worst_case_c"], "NOT_DECLARED"),
            known(row["fault"], "NOT_DECLARED"),
            known(row["limit_c"], row["reason_code"]),
            known(row["rests_on_claim"], "NO_PROFILE" if row["limit_c"] is None else "SOURCE_NOT_SAID"),
            evidence(row),
        )
        for row in rows
    )
    note = (
        "thermal_envelope: baseline and worst case at most the reference. gpu_fault_profile: an HGX board, baseline at "
        "most the reference, worst case strictly below shutdown. Only what a scenario requires is required here."
    )
    cut = _cut(rows)
    return ReportTable(
        "admissions", "Admissions", columns, cells, "There is no scenario.", note if cut is None else f"{note} {cut}"
    )


def _cut(rows: list[Row]) -> str | None:
    """Say so when a large scenario is not shown whole."""
    shown: dict[tuple[Any, ...], int] = {}
    whole: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = (row["scenario"], row["capture_id"], row.get("capability"))
        shown[key] = shown.get(key, 0) + 1
        whole[key] = row["gpus"]
    said = [f"{key[0]}: {count} of {whole[key]} GPUs are shown" for key, count in shown.items() if count < whole[key]]
    return "; ".join(said) + ", those that need a look first." if said else None
