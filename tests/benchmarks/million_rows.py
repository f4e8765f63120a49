"""Ingest of a monitor log of one million rows, against pandas, polars and DuckDB in the same run.

    python3 -m venv peers && peers/bin/pip install pandas polars duckdb pyarrow
    python tests/benchmarks/million_rows.py peers/bin/python [ROWS] [RUNS]

The peers have an environment of their own, since pandera imports pandas and polars wherever they are installed.
The log has 14 columns, 8 GPUs, a sweep about every 50 ms: about 170 MB. Ours is the whole ingest (hash, raw copy read
back, parse, stamp, validate, Parquet, fsync, commit) through the console script. The peers read the text, strip units,
convert, and write Parquet; they keep no bytes, hash nothing, check nothing and remember no line. Each runs in a process
of its own, in turn; medians of wall time, processor time and peak memory are printed with their ratios.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

COLUMNS = (
    "timestamp",
    "index",
    "name",
    "uuid",
    "pstate",
    "clocks.current.sm [MHz]",
    "clocks.current.memory [MHz]",
    "power.draw [W]",
    "temperature.gpu",
    "temperature.memory",
    "utilization.gpu [%]",
    "utilization.memory [%]",
    "memory.used [MiB]",
    "clocks_event_reasons.active",
)

PANDAS = """
import sys, pandas as pd
frame = pd.read_csv(sys.argv[1], skipinitialspace=True)
for name in frame.columns:
    if "[" in name:
        frame[name] = pd.to_numeric(frame[name].str.replace(r" [A-Za-z%]+$", "", regex=True), errors="coerce")
frame["timestamp"] = pd.to_datetime(frame["timestamp"], format="%Y/%m/%d %H:%M:%S.%f")
frame.to_parquet(sys.argv[2], compression="zstd")
"""

POLARS = """
import sys, polars as pl
frame = pl.read_csv(sys.argv[1], infer_schema=False)
frame = frame.rename({name: name.strip() for name in frame.columns}).with_columns(pl.all().str.strip_chars())
numbers = [name for name in frame.columns if "[" in name or name == "index" or name.startswith("temperature")]
frame = frame.with_columns(
    *(pl.col(name).str.strip_chars_end(" WMHz%iB").cast(pl.Float64, strict=False) for name in numbers),
    pl.col("timestamp").str.to_datetime("%Y/%m/%d %H:%M:%S%.3f"),
)
frame.write_parquet(sys.argv[2], compression="zstd")
"""

DUCKDB = """
import sys, duckdb
names = open(sys.argv[1]).readline().strip().split(", ")
def typed(name):
    quoted = '"' + name + '"'
    if name == "timestamp":
        return f"strptime({quoted}, '%Y/%m/%d %H:%M:%S.%g') AS {quoted}"
    if "[" in name or name == "index" or name.startswith("temperature"):
        return f"try_cast(regexp_extract({quoted}, '-?[0-9.]+') AS DOUBLE) AS {quoted}"
    return f"trim({quoted}) AS {quoted}"
columns = ", ".join(map(typed, names))
source = f"read_csv('{sys.argv[1]}', all_varchar = true, delim = ', ', header = true, quote = '')"
duckdb.connect().execute(f"COPY (SELECT {columns} FROM {source}) TO '{sys.argv[2]}' (FORMAT parquet, COMPRESSION zstd)")
"""


def write_log(path: Path, rows: int) -> None:
    """Write the log; the same rows every time."""
    made = random.Random(14)
    uuids = [f"GPU-5be0c1d2-77aa-4f10-9c3e-2f6b8d01e4{gpu:02x}" for gpu in range(8)]
    start = datetime(2026, 11, 2, 6)
    with path.open("w", encoding="ascii") as file:
        file.write(", ".join(COLUMNS) + "\n")
        for row in range(rows):
            gpu = row % 8
            at = start + timedelta(milliseconds=row // 8 * 53 + gpu * 2)
            file.write(
                f"{at:%Y/%m/%d %H:%M:%S}.{at.microsecond // 1000:03d}, {gpu}, NVIDIA H100 80GB HBM3, {uuids[gpu]}, P0, "
                f"{made.choice((1980, 1965, 1950))} MHz, 2619 MHz, {made.uniform(70, 700):.2f} W, "
                f"{made.randint(30, 70)}, {made.randint(40, 80)}, {made.randint(0, 100)} %, {made.randint(0, 60)} %, "
                f"{made.randint(100, 80000)} MiB, 0x0000000000000004\n"
            )


def measure(command: list[str]) -> tuple[float, float, float]:
    """Run a command to its end: wall seconds, processor seconds, peak MiB of its largest process."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[:3]} failed with status {status}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Measure all four in turn and print medians and ratios."""
    peers = sys.argv[1]
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory(prefix="million-rows-") as folder:
        log = Path(folder) / "log.csv"
        write_log(log, rows)
        print(f"{rows} rows, {log.stat().st_size / 1e6:.0f} MB, {os.cpu_count()} processors, {runs} runs each, in turn")
        script = str(Path(sys.executable).with_name("gpu-evidence"))
        store, out = Path(folder) / "evidence", str(Path(folder) / "out.parquet")
        commands = {
            "gpu-evidence": [script, "ingest", str(log), "--store", str(store)],
            "pandas": [peers, "-c", PANDAS, str(log), out],
            "polars": [peers, "-c", POLARS, str(log), out],
            "duckdb": [peers, "-c", DUCKDB, str(log), out],
        }
        figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                shutil.rmtree(store, ignore_errors=True)
                figures[name].append(measure(command))
        medians = {
            name: [statistics.median(column) for column in zip(*runs_, strict=True)] for name, runs_ in figures.items()
        }
        ours = medians["gpu-evidence"]
        print(f"{'':14}{'wall s':>8}{'cpu s':>8}{'peak MiB':>10}{'wall, ours/theirs':>20}")
        for name, (wall, cpu, peak) in medians.items():
            print(f"{name:14}{wall:8.2f}{cpu:8.2f}{peak:10.0f}{ours[0] / wall:20.2f}")


if __name__ == "__main__":
    main()
