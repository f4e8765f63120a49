"""Perf-gate records by the thousand: how long it takes to bring them in, and to derive and judge every gate.

    python tests/benchmarks/gate_records.py [RECORDS] [FEWER]

Each record has 21 rounds and 3 gated regions in two scopes. Judging asks for the verdict of every gate, over a store
that holds RECORDS records and over one that holds FEWER, so that the growth can be seen.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from pipeline.database import connect  # noqa: E402
from pipeline.ingest import ingest  # noqa: E402
from pipeline.store import open_store  # noqa: E402

ROUNDS = 21
TIMES = {"update": 218.0, "update_end_to_end": 12432.0}
GPU = {
    "samples": 245,
    "busy_samples": 180,
    "dropped_lines": 0,
    "gap_max_ms": 55.0,
    "sm_clock_min_mhz": 1170,
    "sm_clock_max_mhz": 1170,
    "sm_clock_busy_min_mhz": 1170,
    "sm_clock_busy_max_mhz": 1170,
    "memory_clock_busy_min_mhz": 7601,
    "memory_clock_busy_max_mhz": 7601,
    "counters_us": {
        "sw_power_cap": 0,
        "sw_thermal_slowdown": 0,
        "hw_thermal_slowdown": 0,
        "hw_power_brake": 0,
    },
}


def window(
    side: str, scope: str | None, regions: tuple[str, ...], factor: float, chance: random.Random
) -> dict[str, Any]:
    times = {name: round(TIMES[name] * factor * chance.gauss(1, 0.01), 4) for name in regions}
    body = {"wall_s": 12.5, "exit_code": 0, "foreign_cpu_cores": 1.2, "foreign_gpu_processes": 0}
    return {"side": side, "scope": scope, **body, "times_ms": times, "gpu": GPU}


def record(number: int, chance: random.Random) -> dict[str, Any]:
    both = ("update", "update_end_to_end")
    attempts = [
        {
            "round": at,
            "is_accepted": True,
            "windows": [
                window("baseline", None, both, 1.0, chance),
                window("candidate", "original", both, 0.99, chance),
                window("candidate", "resident", ("update",), 0.95, chance),
            ],
        }
        for at in range(1, ROUNDS + 1)
    ]
    clocks = {"locked": {"pstate": "P2", "sm_clock_mhz": 1170, "memory_clock_mhz": 7601}}
    reading = {"reading": "boost", "lock": "boost", "clocks": clocks, "attempts": attempts}
    return {
        "format": "gpu-evidence/gate_record/1",
        "record": f"benchmark {number}",
        "regions": [
            {"region": "update", "gate_kind": "compute"},
            {"region": "update_end_to_end", "gate_kind": "end_to_end"},
        ],
        "protocol": {"planned_rounds": ROUNDS, "order": "ABBA", "monitor": {"period_ms": 50}},
        "cases": [{"case": f"case {number % 100}", "is_output_equal": True, "readings": [reading]}],
    }


def measure(count: int, folder: Path) -> tuple[float, float, list[dict[str, Any]]]:
    chance = random.Random(count)
    for number in range(count):
        path = folder / "captures" / f"{number // 1000}" / f"{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record(number, chance)), "utf-8")
    store = open_store(folder / "evidence", create=True)
    begun = time.perf_counter()
    ingest(store, [folder / "captures"])
    brought = time.perf_counter()
    found = (
        connect(store)
        .rows("SELECT verdict, count(*) AS gates FROM gate_verdicts GROUP BY ALL ORDER BY ALL")
        .to_pylist()
    )
    return brought - begun, time.perf_counter() - brought, found


def main() -> None:
    counts = [int(argument) for argument in sys.argv[1:]] or [10_000, 1_000]
    print("| records | ingest s | derive and judge s | verdicts |\n|---|---|---|---|")
    for count in sorted(counts):
        with tempfile.TemporaryDirectory() as folder:
            brought, judged, found = measure(count, Path(folder))
        told = ", ".join(f"{row['gates']} {row['verdict']}" for row in found)
        print(f"| {count} | {brought:.1f} | {judged:.1f} | {told} |", flush=True)


if __name__ == "__main__":
    main()
