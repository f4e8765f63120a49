"""Tables of the perf gate: A/B records as they were written, policies, and numbers that prose states.

What a record asserts about itself (ratios, medians, locks) stands in gate_assertions, apart from what it measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from schemas.columns import TEXT, UTC, absent, at_least, column, one_of, pointer_keys, table

if TYPE_CHECKING:
    from pandera.pyarrow import Column

SHAPES = (
    "gpu_evidence_1",
    "dyng_a",
    "dyng_b",
    "dyng_c",
    "nvbench",
    "nvbench_samples",
    "google_benchmark",
    "hyperfine",
    "pytest_benchmark",
)
LOCKS = ("boost", "base", "none")
ROLES = ("gate", "fallback", "ungated_default", "experiment")
SIDES = ("baseline", "candidate")
GATE_KINDS = ("compute", "end_to_end", "none")
ORDERS = ("AB", "ABBA", "random", "unpaired")
REJECT_CODES = (
    "off_lock",
    "foreign_gpu_process",
    "foreign_cpu",
    "correctness",
    "process_failed",
    "monitor_lost",
    "other",
)
QUANTITIES = (
    "ratio_of_medians",
    "baseline_ms",
    "candidate_ms",
    "rounds_accepted",
    "rounds_rejected",
    "locked_sm_clock_mhz",
    "locked_memory_clock_mhz",
    "power_limit_w",
)
"""What a claim can be about."""


def _whole(description: str, unit: str | None = None, low: int = 0) -> Column:
    return column(pa.int32(), description, unit=unit, rules=(at_least(low),))


def _number(description: str, unit: str | None = None) -> Column:
    return column(pa.float64(), description, unit=unit, rules=(at_least(0),))


def _case() -> dict[str, Column]:
    return {"case_id": column(TEXT, "Case: what was run, as the record names it.")}


def _reading() -> dict[str, Column]:
    return {**_case(), "reading_id": column(TEXT, "Reading of the case: all rounds under one clock lock.")}


def _attempt() -> dict[str, Column]:
    return {**_reading(), "attempt": _whole("Try at a round, from 1, in the order of running.", low=1)}


def _side(meaning: str) -> dict[str, Column]:
    return {
        "side": column(
            TEXT, f"{meaning} baseline or candidate; NULL: the record does not tell.", rules=(one_of(*SIDES),)
        ),
        "scope": column(
            TEXT, "Scope of the candidate (such as original or resident); NULL: none, or the baseline's window."
        ),
    }


def _clocks(prefix: str, when: str) -> dict[str, Column]:
    return {
        f"{prefix}_pstate": column(TEXT, f"Performance state {when}."),
        f"{prefix}_sm_clock_mhz": _whole(f"SM clock {when}.", "MHz"),
        f"{prefix}_memory_clock_mhz": _whole(f"Memory clock {when}.", "MHz"),
    }


GATE_RECORDS = table(
    "gate_records",
    "One row per perf-gate record: who measured what where, and how it was planned.",
    {
        **pointer_keys(),
        "record_shape": column(
            TEXT, "Format of the record, told by its structure.", required=True, rules=(one_of(*SHAPES),)
        ),
        "record_id": column(pa.string(), "Name that the record gives itself."),
        "created_at": column(UTC, "When the record was written."),
        "is_reconstruction": column(pa.bool_(), "Whether it was put together later from published figures."),
        "text": column(pa.string(), "Remark in the record."),
        "producer": column(TEXT, "Tool that wrote the record."),
        "producer_version": column(TEXT, "Its version or commit."),
        "algorithm": column(TEXT, "What the programs compute, as the record names it."),
        "backend": column(TEXT, "Where they compute, such as cuda."),
        "order_design": column(
            TEXT, "AB, ABBA, random or unpaired: in which order the sides ran.", rules=(one_of(*ORDERS),)
        ),
        "order_text": column(pa.string(), "The order in the record's words."),
        "planned_rounds": _whole("Accepted rounds wanted, fixed beforehand."),
        "exclusive_lock": column(TEXT, "Machine-wide lock under which it ran; not the clock lock."),
        "monitor_text": column(pa.string(), "The monitor in the record's words."),
        "monitor_period_ms": _number("Nominal time between two samples of the monitor.", "ms"),
        "foreign_cpu_limit_cores": _number("Foreign CPU load above which a round is repeated.", "cores"),
        "host": column(TEXT, "Host name, where the record gives it."),
        "cpu_model": column(TEXT, "CPU of the host."),
        "logical_cpus": _whole("Logical CPUs of the host."),
        "kernel": column(TEXT, "Kernel of the host."),
        "gpu_index": _whole("Index of the GPU."),
        "gpu_uuid": column(TEXT, "UUID of the GPU."),
        "model": column(TEXT, "Model of the GPU."),
        "driver_version": column(TEXT, "Driver version of the GPU."),
        "power_limit_w": _number("Power limit in force.", "W"),
        "power_default_limit_w": _number("Default power limit.", "W"),
        "power_limit_min_w": _number("Lowest power limit that can be set.", "W"),
        "power_limit_max_w": _number("Highest power limit that can be set.", "W"),
        "baseline_name": column(TEXT, "Program of the baseline."),
        "baseline_commit": column(TEXT, "Its commit, without a dirty mark."),
        "is_baseline_dirty": column(pa.bool_(), "Whether it was built from a changed tree."),
        "candidate_name": column(TEXT, "Program of the candidate."),
        "candidate_commit": column(TEXT, "Its commit, without a dirty mark."),
        "is_candidate_dirty": column(pa.bool_(), "Whether it was built from a changed tree."),
        **absent(),
    },
)

GATE_CASES = table(
    "gate_cases",
    "One row per case of a record.",
    {
        **pointer_keys(),
        **_case(),
        "task": column(TEXT, "Task of the case, as the record names it."),
        "is_output_equal": column(
            pa.bool_(), "Whether both sides gave equal output in every round; NULL: nobody says that it was compared."
        ),
        "correctness_text": column(pa.string(), "How outputs were compared, in the record's words."),
        **absent(),
    },
)

GATE_READINGS = table(
    "gate_readings",
    "One row per reading of a case: the clock lock, and what the record says of its status.",
    {
        **pointer_keys(),
        **_reading(),
        "lock_name": column(TEXT, "Clock lock: boost, base or none; NULL: not said.", rules=(one_of(*LOCKS),)),
        "role": column(TEXT, "What the record says that the reading is for.", rules=(one_of(*ROLES),)),
        "fallback_of": column(TEXT, "Reading that this one stands in for, as the record says."),
        "planned_rounds": _whole("Accepted rounds wanted in this reading."),
        "has_given_up": column(pa.bool_(), "Whether the record says that the reading was given up."),
        "lock_tool": column(TEXT, "Tool that set the lock, with its version."),
        "lock_command": column(pa.string(), "How the lock was set."),
        "lock_check": column(pa.string(), "How the lock was checked, in the record's words."),
        **_clocks("before", "before the lock"),
        **_clocks("locked", "under the lock: what every busy sample is compared with"),
        **_clocks("after_reset", "after the lock was reset"),
        **absent(),
    },
)

GATE_ROUNDS = table(
    "gate_rounds",
    "One row per attempt at a round, accepted or rejected, as recorded.",
    {
        **pointer_keys(),
        **_attempt(),
        "round": _whole("Number of the accepted round, from 1; NULL for a rejected attempt.", low=1),
        "before_round": _whole("Accepted round before which a rejected attempt was made.", low=1),
        "is_accepted": column(pa.bool_(), "Whether the harness accepted the round.", required=True),
        **absent(),
    },
)

GATE_REJECTIONS = table(
    "gate_rejections",
    "One row per reason for which an attempt was rejected.",
    {
        **pointer_keys(),
        **_attempt(),
        "code": column(
            TEXT, "Kind of the reason: " + ", ".join(REJECT_CODES) + ".", required=True, rules=(one_of(*REJECT_CODES),)
        ),
        **_side("Whom the reason is about:"),
        "reason_text": column(pa.string(), "The reason in the record's words."),
        "sm_clock_min_mhz": _whole("Lowest SM clock that the reason names.", "MHz"),
        "memory_clock_min_mhz": _whole("Lowest memory clock that the reason names.", "MHz"),
        "expected_sm_clock_mhz": _whole("SM clock that it should have been.", "MHz"),
        "expected_memory_clock_mhz": _whole("Memory clock that it should have been.", "MHz"),
        "foreign_cpu_cores": _number("Foreign CPU load that the reason names.", "cores"),
        "foreign_cpu_limit_cores": _number("Its limit.", "cores"),
        **absent(),
    },
)

GATE_WINDOWS = table(
    "gate_windows",
    "One row per run of one side (and scope) within an attempt: what the monitor saw, as recorded.",
    {
        **pointer_keys(),
        **_attempt(),
        **_side("Who ran:"),
        "slot": _whole("Place of the run within the attempt, from 1.", low=1),
        "started_at": column(UTC, "Begin of the run."),
        "ended_at": column(UTC, "End of the run."),
        "wall_s": _number("Wall time of the run.", "s"),
        "exit_code": column(pa.int32(), "Exit code of the program."),
        "program_cpu_s": _number("CPU time of the program.", "s"),
        "foreign_cpu_cores": _number("Average CPU load of everything else.", "cores"),
        "foreign_gpu_processes": _whole("Foreign processes on the GPU."),
        "samples": _whole("Samples of the monitor in the window."),
        "busy_samples": _whole("Samples in which the GPU was busy."),
        "dropped_lines": _whole("Lines of the monitor that could not be read."),
        "gap_max_ms": _number("Longest time between two samples.", "ms"),
        "sm_clock_min_mhz": _whole("Lowest SM clock of any sample.", "MHz"),
        "sm_clock_max_mhz": _whole("Highest SM clock of any sample.", "MHz"),
        "sm_clock_busy_min_mhz": _whole("Lowest SM clock of a busy sample.", "MHz"),
        "sm_clock_busy_median_mhz": _number("Median SM clock of the busy samples.", "MHz"),
        "sm_clock_busy_max_mhz": _whole("Highest SM clock of a busy sample.", "MHz"),
        "memory_clock_min_mhz": _whole("Lowest memory clock of any sample.", "MHz"),
        "memory_clock_max_mhz": _whole("Highest memory clock of any sample.", "MHz"),
        "memory_clock_busy_min_mhz": _whole("Lowest memory clock of a busy sample.", "MHz"),
        "memory_clock_busy_max_mhz": _whole("Highest memory clock of a busy sample.", "MHz"),
        "pstates": column(TEXT, "Performance states of the samples with their counts, such as P2:179."),
        "clocks_event_reasons": column(pa.uint64(), "Clock-event reasons of all busy samples, OR-ed."),
        "sw_power_cap_us": column(pa.int64(), "Rise of the counter of the power cap over the window.", unit="us"),
        "sw_thermal_slowdown_us": column(pa.int64(), "Rise of the counter of software thermal slowdown.", unit="us"),
        "hw_thermal_slowdown_us": column(pa.int64(), "Rise of the counter of hardware thermal slowdown.", unit="us"),
        "hw_power_brake_us": column(pa.int64(), "Rise of the counter of the hardware power brake.", unit="us"),
        "sync_boost_us": column(pa.int64(), "Rise of the counter of sync boost.", unit="us"),
        "power_draw_median_w": _number("Median power draw of the samples.", "W"),
        "power_draw_max_w": _number("Highest power draw of a sample.", "W"),
        "core_temp_max_c": column(pa.float64(), "Highest core temperature of a sample.", unit="C"),
        "is_lock_asserted": column(
            pa.bool_(), "Whether the record says that the lock held: an assertion, no evidence."
        ),
        "samples_sha256": column(TEXT, "SHA-256 of the monitor log (smi_csv) that holds the samples."),
        "samples_first_line": _whole("First line of the log that belongs to the window.", low=1),
        "samples_last_line": _whole("Last line of the log that belongs to the window.", low=1),
        **absent(),
    },
)

GATE_REGIONS = table(
    "gate_regions",
    "One row per timed region of a reading and scope.",
    {
        **pointer_keys(),
        **_reading(),
        "region": column(TEXT, "Timed region.", required=True),
        "scope": column(TEXT, "Scope of the candidate; NULL: none."),
        "gate_kind": column(
            TEXT, "compute, end_to_end, or none: shown and not gated; NULL: not said.", rules=(one_of(*GATE_KINDS),)
        ),
        "time_domain": column(TEXT, "Clock that timed it, such as host, cuda_event or process_wall."),
        "is_skipped": column(pa.bool_(), "Whether it was skipped."),
        "skip_reason": column(pa.string(), "Why it was skipped or failed, in the record's words."),
        "sample_file": column(pa.string(), "Binary side file that holds its samples, as the record names it."),
        "sample_file_count": _whole("Samples that the side file should hold."),
        **absent(),
    },
)

GATE_SAMPLES = table(
    "gate_samples",
    "One row per measured time.",
    {
        **pointer_keys(),
        "sample_index": column(
            pa.int32(), "Place in the list that capture_pointer names, from 0; NULL: no list.", rules=(at_least(0),)
        ),
        **_attempt(),
        "round": _whole("Accepted round that it belongs to; NULL: a rejected attempt, or no rounds.", low=1),
        **_side("Who was timed:"),
        "region": column(TEXT, "Timed region."),
        "value_ms": _number("Time.", "ms"),
        **absent(),
    },
)

GATE_ASSERTIONS = table(
    "gate_assertions",
    "One row per number or flag that a record states about itself: kept apart from what is computed.",
    {
        **pointer_keys(),
        **_reading(),
        "region": column(TEXT, "Timed region that it is about."),
        **_side("Whom it is about:"),
        "quantity": column(TEXT, "What is stated, in units of the name.", required=True),
        "value_number": column(pa.float64(), "The number stated."),
        "value_text": column(pa.string(), "The flag (true or false) or word stated."),
        **absent(),
    },
)

GATE_POLICIES = table(
    "gate_policies",
    "One row per captured gate policy; what it leaves out is the built-in default's.",
    {
        **pointer_keys(),
        "policy": column(TEXT, "Name of the policy.", required=True),
        "policy_sha256": column(TEXT, "SHA-256 of its canonical JSON.", required=True),
        "mode": column(TEXT, "strict or lenient.", rules=(one_of("strict", "lenient"),)),
        "alpha": column(pa.float64(), "Level of every test."),
        "margin_compute": column(pa.float64(), "Largest ratio that passes, compute regions."),
        "margin_end_to_end": column(pa.float64(), "Largest ratio that passes, end-to-end regions."),
        "margin_short": column(pa.float64(), "Largest ratio that passes, short compute regions."),
        "short_below_ms": column(
            pa.float64(), "A compute region is short when its baseline median is below.", unit="ms"
        ),
        "short_min_rounds": _whole("Rounds that a short region needs."),
        "min_rounds": _whole("Rounds that every region needs."),
        "sm_clock_tolerance_mhz": _whole("How far a busy sample may be off the locked SM clock.", "MHz"),
        "memory_clock_tolerance_mhz": _whole("How far a busy sample may be off the locked memory clock.", "MHz"),
        "busy_above_pct": column(pa.float64(), "A sample is busy when its GPU utilisation is above.", unit="%"),
        "min_busy_samples": _whole("Busy samples that a window needs."),
        "gap_max_periods": column(pa.float64(), "Longest gap between samples, in periods of the monitor."),
        "criteria": column(
            TEXT, "What must be known of a window, of gap, dropped_lines and counters, parted by blanks."
        ),
        "foreign_cpu_limit_cores": _number("Foreign CPU load above which a round does not count.", "cores"),
        "power_at_limit_w": column(pa.float64(), "A draw is at the limit when it is no further below.", unit="W"),
        "ladder": column(TEXT, "Locks in the order in which they are tried, parted by blanks."),
        **absent(),
    },
)

GATE_CLAIMS = table(
    "gate_claims",
    "One row per number that a decision states in prose about a perf gate.",
    {
        **pointer_keys(),
        "decision_id": column(TEXT, "The decision that states it.", required=True),
        **_case(),
        "region": column(TEXT, "Timed region that it is about."),
        "scope": column(TEXT, "Scope that it is about."),
        "lock_name": column(TEXT, "Clock lock of the reading.", rules=(one_of(*LOCKS),)),
        "quantity": column(TEXT, "What is stated.", required=True, rules=(one_of(*QUANTITIES),)),
        "value": column(pa.float64(), "The number stated.", required=True),
        "digits": _whole("Decimals that the statement gives: the value found is rounded to them."),
        "record_sha256": column(TEXT, "The record that it is about, where the statement names it."),
        "text": column(pa.string(), "The statement in words."),
        **absent(),
    },
)

GATE_TABLES = (
    GATE_RECORDS,
    GATE_CASES,
    GATE_READINGS,
    GATE_ROUNDS,
    GATE_REJECTIONS,
    GATE_WINDOWS,
    GATE_REGIONS,
    GATE_SAMPLES,
    GATE_ASSERTIONS,
    GATE_POLICIES,
    GATE_CLAIMS,
)
