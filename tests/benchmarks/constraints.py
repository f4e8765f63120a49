"""Clock constraints of one scenario with 10,000 and with 100,000 GPUs: ingest, and the view.

    python tests/benchmarks/constraints.py

The scenario stands beside the bundled contract, so that every GPU has a profile. The view is asked whole, three times;
its growth is the ratio of the medians. Nothing is kept.
"""

from __future__ import annotations

import json
import random
import statistics
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

SIZES = (10_000, 100_000)
RUNS = 3


def scenario(gpus: int) -> dict[str, Any]:
    """Nodes of eight GPUs, each with a demand of its own; about half of them limited."""
    chance = random.Random(gpus)
    names = [f"n{number // 8}-g{number % 8}" for number in range(gpus)]
    rows = [
        {
            "gpu_id": name,
            "model": "h100_sxm_80gb",
            "is_available": chance.random() > 0.02,
            "power_budget_w": chance.randint(400, 700),
            "core_temp_c": chance.randint(60, 95),
        }
        for name in names
    ]
    demands = [
        {
            "gpu_id": name,
            "driver_version": "595.91.07",
            "requested_sm_clock_mhz": 1980,
            "requested_memory_clock_mhz": 2619,
            "power_demand_w": chance.randint(100, 800),
            "thermal_cap": {"sm_clock_mhz": 1200, "memory_clock_mhz": 2619},
            "power_cap": {"sm_clock_mhz": 1500, "memory_clock_mhz": 2619},
        }
        for name in names
    ]
    nodes = [{"node_id": f"n{at // 8}", "gpus": rows[at : at + 8]} for at in range(0, gpus, 8)]
    return {
        "format": "gpu-evidence/scenario/1",
        "scenario": f"gpus-{gpus}",
        "topology": {"nodes": nodes},
        "demands": demands,
    }


def measure(gpus: int) -> float:
    """Median seconds of the view over a scenario."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "scenario.json").write_text(json.dumps(scenario(gpus)), "utf-8")
        store = open_store(top / "store", create=True)
        begun = time.perf_counter()
        ingest(
            store,
            [top / "scenario.json", *(ROOT / "captures" / name for name in ("dcgm-contract-3", "h100-sxm-595.91.07"))],
        )
        ingested = time.perf_counter()
        database = connect(store)
        opened = time.perf_counter()
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            found = database.rows("SELECT * FROM clock_constraints ORDER BY position")
            times.append(time.perf_counter() - start)
        states = database.rows("SELECT limiter_state, count(*) AS n FROM clock_constraints GROUP BY ALL ORDER BY ALL")
        if found.num_rows != gpus:
            raise SystemExit(f"{found.num_rows} rows for {gpus} GPUs")
        median = statistics.median(times)
        print(
            f"{gpus:7} GPUs: ingest {ingested - begun:6.2f} s, open {opened - ingested:5.2f} s, "
            f"clock_constraints {median:5.2f} s, {states.to_pylist()}"
        )
        return median


if __name__ == "__main__":
    few, many = (measure(gpus) for gpus in SIZES)
    print(f"ten times the GPUs take {many / few:.1f} times as long")
