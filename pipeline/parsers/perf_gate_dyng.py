"""The published dyng records, shapes A, B and C: told by structure, since two of them call themselves schema 1.

The reference is the baseline, the port is the candidate. In shape B the round key `original` holds a run of the port in
the scope of that name, and nothing of the reference: the side of that window stays unknown, and the baseline has none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pipeline.parsers.perf_gate_dyng_rejections import rejections
from pipeline.parsers.perf_gate_dyng_windows import windows
from pipeline.parsers.perf_gate_read import Fault, Reader, split_dirty

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts, Remarks

    Row = dict[str, Any]

_NUMBERS = {
    "original_ms": "baseline_ms",
    "port_ms": "candidate_ms",
    "original_spread": "baseline_spread",
    "port_spread": "candidate_spread",
    "ratio": "ratio",
    "gate": "margin",
    "port_stage_ms": "stage_ms",
    "port_device_ms": "device_ms",
}
_FLAGS = ("within_gate", "provisional", "noisy")
_SUMMARY = {
    "sm_mhz_min": "sm_clock_min_mhz",
    "busy_samples": "busy_samples",
    "rounds_with_busy_samples": "rounds_with_busy_samples",
}


def is_mine(document: Row) -> bool:
    """Whether a document has the keys that all three shapes share."""
    return {"algorithm", "reference", "port", "protocol", "results"} <= set(document)


def shape_of(document: Row) -> str:
    """dyng_a, dyng_b or dyng_c."""
    protocol = document.get("protocol")
    if document.get("algorithm") == "sssp" or (isinstance(protocol, dict) and "gpu_clocks" in protocol):
        return "dyng_c"
    results = document.get("results")
    for case in results.values() if isinstance(results, dict) else ():
        monitor = case.get("monitor") if isinstance(case, dict) else None
        rounds = monitor.get("rounds") if isinstance(monitor, dict) else None
        for entry in rounds if isinstance(rounds, list) else ():
            if isinstance(entry, dict):
                return "dyng_b" if "port" not in entry and "resident" in entry else "dyng_a"
    return "dyng_a"


def rows(document: Row, remarks: Remarks, _facts: CaptureFacts) -> dict[str, list[Row]]:
    """Rows of a record; none, and a remark, where it is not what the format says."""
    reader = Reader(document, remarks)
    try:
        return _record(reader, shape_of(document))
    except Fault as fault:
        remarks.add("error", "record_invalid", str(fault), None, fault.pointer)
        return {}


def _record(reader: Reader, shape: str) -> dict[str, list[Row]]:
    clocks = "/protocol/gpu_clocks" if shape == "dyng_c" else "/protocol/clocks"
    control = reader.one_of(f"{clocks}/control", ("boost", "base", "none"))
    found: dict[str, list[Row]] = {
        "gate_records": [_header(reader, shape)],
        **{f"gate_{name}": [] for name in ("cases", "readings", "rounds", "rejections", "windows")},
        **{f"gate_{name}": [] for name in ("regions", "samples", "assertions")},
    }
    for name in reader.object("/results"):
        _case(reader, shape, name, control, clocks, found)
    return found


def _header(reader: Reader, shape: str) -> Row:
    monitor = "/protocol/contamination_monitor" if shape == "dyng_c" else "/protocol/monitor"
    baseline, is_baseline_dirty = split_dirty(reader.text("/reference/commit"))
    candidate, is_candidate_dirty = split_dirty(reader.text("/port/commit"))
    order = reader.text("/protocol/order")
    return {
        "capture_pointer": "",
        "record_shape": shape,
        "created_at": reader.time("/date"),
        "algorithm": reader.text("/algorithm"),
        "backend": reader.text("/backend"),
        "order_design": "AB" if order and re.match("A, ?B", order) else None,
        "order_text": order,
        "planned_rounds": reader.whole("/protocol/runs"),
        "exclusive_lock": reader.text("/protocol/lock"),
        "monitor_text": reader.text(monitor),
        "cpu_model": reader.text("/host/cpu"),
        "logical_cpus": reader.whole("/host/logical_cpus"),
        "kernel": reader.text("/host/kernel"),
        "gpu_index": reader.whole("/protocol/gpu"),
        "baseline_name": reader.text("/reference/name"),
        "baseline_commit": baseline,
        "is_baseline_dirty": is_baseline_dirty,
        "candidate_name": reader.text("/port/binary"),
        "candidate_commit": candidate,
        "is_candidate_dirty": is_candidate_dirty,
    }


def _case(reader: Reader, shape: str, name: str, control: str, clocks: str, found: dict[str, list[Row]]) -> None:
    at = reader.join("/results", name)
    key = {"case_id": name, "reading_id": control}
    outputs = reader.text("/protocol/outputs")
    checked = reader.flag(f"{at}/golden_checked")
    said = True if outputs and "compared every round" in outputs else None
    found["gate_cases"].append(
        {
            "capture_pointer": at,
            "case_id": name,
            "task": reader.text(f"{at}/task"),
            # A harness that compares outputs in every round stops at the first that differs.
            "is_output_equal": said if checked is None else checked,
            "correctness_text": outputs,
        }
    )
    found["gate_readings"].append(key | _lock(reader, clocks, control, at))
    attempts = _rounds(reader, at, key, found)
    found["gate_rejections"] += rejections(reader, shape, at, key)
    found["gate_windows"] += windows(reader, shape, at, key, attempts)
    for number in range(len(reader.list(f"{at}/regions"))):
        _region(reader, f"{at}/regions/{number}", key, attempts, found)
    _assertions(reader, at, key, found["gate_assertions"])


def _lock(reader: Reader, clocks: str, control: str, at: str) -> Row:
    row: Row = {
        "capture_pointer": at,
        "lock_name": control,
        "role": "ungated_default" if control == "none" else None,
        "lock_tool": reader.text(f"{clocks}/tool"),
        "lock_command": reader.text(f"{clocks}/how"),
        "lock_check": reader.text(f"{clocks}/check"),
    }
    for when in ("before", "locked", "after_reset"):
        row[f"{when}_pstate"] = reader.text(f"{clocks}/{when}/pstate")
        row[f"{when}_sm_clock_mhz"] = reader.whole(f"{clocks}/{when}/sm_mhz")
        row[f"{when}_memory_clock_mhz"] = reader.whole(f"{clocks}/{when}/memory_mhz")
    return row


def _rounds(reader: Reader, at: str, key: Row, found: dict[str, list[Row]]) -> dict[int, int]:
    """All attempts in the order of running; the attempt of each accepted round is given back."""
    runs: list[tuple[int, int, Row]] = []
    for number in range(len(reader.list(f"{at}/monitor/rejected"))):
        place = f"{at}/monitor/rejected/{number}"
        before = reader.needed(f"{place}/before_round")
        runs.append((before, 0, {"capture_pointer": place, "before_round": before, "is_accepted": False}))
    for number in range(len(reader.list(f"{at}/monitor/rounds"))):
        place = f"{at}/monitor/rounds/{number}"
        round_ = reader.needed(f"{place}/round")
        runs.append((round_, 1, {"capture_pointer": place, "round": round_, "is_accepted": True}))
    attempts: dict[int, int] = {}
    for attempt, (_, _, row) in enumerate(sorted(runs, key=lambda run: run[:2]), start=1):
        found["gate_rounds"].append(key | row | {"attempt": attempt})
        if row["is_accepted"]:
            if row["round"] in attempts:
                raise Fault(row["capture_pointer"], f"round {row['round']} a second time", "each round once")
            attempts[row["round"]] = attempt
    return attempts


def _region(reader: Reader, at: str, key: Row, attempts: dict[int, int], found: dict[str, list[Row]]) -> None:
    told = reader.text(f"{at}/region")
    if told is None:
        raise Fault(f"{at}/region", "nothing", "the name of a region")
    match = re.fullmatch(r"(.+)\[([^\]]+)\]", told)
    key = key | {"region": match[1] if match else told, "scope": match[2] if match else None}
    kind = reader.one_of(f"{at}/gate_kind", ("compute", "end_to_end", "none"), is_needed=False)
    found["gate_regions"].append(key | {"capture_pointer": at, "gate_kind": kind})
    for side, name in (("baseline", "original_samples"), ("candidate", "port_samples")):
        found["gate_samples"] += _samples(reader, f"{at}/{name}", key | {"side": side}, attempts)
    for name, quantity in _NUMBERS.items():
        _state(reader, f"{at}/{name}", key, quantity, found["gate_assertions"])
    for name in _FLAGS:
        if (flag := reader.flag(f"{at}/{name}")) is not None:
            stated = {"capture_pointer": f"{at}/{name}", "quantity": name, "value_text": str(flag).lower()}
            found["gate_assertions"].append(key | stated)


def _samples(reader: Reader, at: str, key: Row, attempts: dict[int, int]) -> list[Row]:
    made = []
    values = reader.numbers(at)
    for index, value in enumerate(values):
        row = key | {"capture_pointer": at, "sample_index": index, "round": index + 1, "value_ms": value}
        row["attempt"] = attempts.get(index + 1)
        if value is None:
            row["why"] = {"value_ms": "not_available"}
        made.append(row)
    if beyond := [index for index in range(len(values)) if index + 1 not in attempts]:
        message = (
            f"found samples from place {beyond[0]} on without a round of the monitor at {at}; they count for nothing"
        )
        reader.remarks.add("warning", "samples_without_round", message, None, at)
    return made


def _assertions(reader: Reader, at: str, key: Row, found: list[Row]) -> None:
    _state(reader, f"{at}/rounds", key, "rounds_accepted", found)
    for place, quantity in (("complete", "complete"), ("monitor/clocks_locked_in_every_round",) * 2):
        if (flag := reader.flag(f"{at}/{place}")) is not None:
            name = quantity.removeprefix("monitor/")
            found.append(key | {"capture_pointer": f"{at}/{place}", "quantity": name, "value_text": str(flag).lower()})
    summary = f"{at}/monitor/gpu_summary"
    for who in reader.object(summary):
        match = re.fullmatch(r"port\[(.+)\]", who)
        side = {"side": "candidate" if who.startswith("port") else "baseline", "scope": match[1] if match else None}
        for name, quantity in _SUMMARY.items():
            _state(reader, f"{reader.join(summary, who)}/{name}", key | side, quantity, found)
    stages = f"{at}/port_stages_median_ms"
    for scope, values in reader.object(stages).items():
        for name in values if isinstance(values, dict) else ():
            place = reader.join(reader.join(stages, scope), name)
            _state(reader, place, key | {"side": "candidate", "scope": scope}, f"stage_ms/{name}", found)


def _state(reader: Reader, at: str, key: Row, quantity: str, found: list[Row]) -> None:
    """A number that the record states; a bare NaN says that there is none."""
    value = reader.number(at)
    if value is not None:
        found.append(key | {"capture_pointer": at, "quantity": quantity, "value_number": value})
    elif at in reader.remarks.not_numbers:
        stated = {"capture_pointer": at, "quantity": quantity, "why": {"value_number": "not_available"}}
        found.append(key | stated)
