"""What the monitor of a dyng record kept of each run: clocks of the busy samples, or of all where none was busy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.parsers.perf_gate_read import Fault

if TYPE_CHECKING:
    from pipeline.parsers.perf_gate_read import Reader

    Row = dict[str, Any]


def windows(reader: Reader, shape: str, at: str, key: Row, attempts: dict[int, int]) -> list[Row]:
    """Rows of gate_windows of the accepted rounds of a case."""
    found = []
    for number in range(len(reader.list(f"{at}/monitor/rounds"))):
        place = f"{at}/monitor/rounds/{number}"
        row = key | {"attempt": attempts[reader.needed(f"{place}/round")]}
        for slot, (name, side, scope) in enumerate(_runs(reader, shape, place), start=1):
            who = {"side": side, "scope": scope, "slot": None if shape == "dyng_b" else slot}
            found.append(row | who | _window(reader, f"{place}/{name}"))
    return found


def _runs(reader: Reader, shape: str, place: str) -> list[tuple[str, str | None, str | None]]:
    """Where the runs of a round stand, and whose they are."""
    keys = [name for name in reader.object(place) if name != "round"]
    if shape == "dyng_b":
        # `original` is a scope of the port that took the place of the reference: whose window it is, nobody tells.
        return [(name, None if name == "original" else "candidate", name) for name in keys]
    runs: list[tuple[str, str | None, str | None]] = []
    if "original" in keys:
        runs.append(("original", "baseline", None))
    if shape == "dyng_c":
        return [*runs, ("port", "candidate", None)] if "port" in keys else runs
    return [*runs, *((reader.join("port", scope), "candidate", scope) for scope in reader.object(f"{place}/port"))]


def _window(reader: Reader, at: str) -> Row:
    gpu = f"{at}/gpu"
    busy = reader.whole(f"{gpu}/busy_samples")
    samples = reader.whole(f"{gpu}/samples")
    if busy is not None and samples is not None and busy > samples:
        raise Fault(f"{gpu}/busy_samples", busy, f"at most the {samples} samples")
    basis = "busy_" if reader.object(f"{gpu}/pstates_busy") else ""
    states = reader.object(f"{gpu}/pstates_busy") or reader.object(f"{gpu}/pstates")
    row: Row = {
        "capture_pointer": at,
        "wall_s": reader.number(f"{at}/wall_s"),
        "program_cpu_s": reader.number(f"{at}/program_cpu_s"),
        "foreign_cpu_cores": reader.number(f"{at}/foreign_cpu_cores"),
        "samples": samples,
        "busy_samples": busy,
        "pstates": " ".join(f"{name}:{count}" for name, count in sorted(states.items())) or None,
        "is_lock_asserted": reader.flag(f"{gpu}/clocks_locked"),
    }
    if reader.get(f"{gpu}/foreign_processes") is not None:
        row["foreign_gpu_processes"] = len(reader.list(f"{gpu}/foreign_processes"))
    for clock, name in (("sm_mhz", "sm_clock"), ("memory_mhz", "memory_clock")):
        low, middle, high = (reader.number(f"{gpu}/{clock}/{end}") for end in ("min", "median", "max"))
        if None not in (low, middle, high) and not low <= middle <= high:  # type: ignore[operator]
            raise Fault(f"{gpu}/{clock}", f"{low:g}, {middle:g}, {high:g}", "min, median and max in this order")
        row[f"{name}_{basis}min_mhz"] = reader.whole(f"{gpu}/{clock}/min")
        row[f"{name}_{basis}max_mhz"] = reader.whole(f"{gpu}/{clock}/max")
        if basis and name == "sm_clock":
            row["sm_clock_busy_median_mhz"] = middle
    return row
