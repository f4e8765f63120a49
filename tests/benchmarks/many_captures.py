"""Ingest of 2,000 small captures, and the same again, when nothing has changed.

python tests/benchmarks/many_captures.py [CAPTURES]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Write the captures, ingest them twice through the console script, and print both times."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with tempfile.TemporaryDirectory(prefix="many-captures-") as folder:
        captures = Path(folder) / "captures"
        captures.mkdir()
        for number in range(count):
            uuid = f"GPU-5be0c1d2-77aa-4f10-9c3e-{number:012x}"
            (captures / f"{number:05d}.txt").write_text(f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {uuid})\n", "ascii")
        script = str(Path(sys.executable).with_name("gpu-evidence"))
        for what in ("first", "again, unchanged"):
            began = time.perf_counter()
            subprocess.run([script, "ingest", str(captures), "--store", f"{folder}/evidence"], check=True)
            print(f"{what}: {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
