"""Public API and console script of gpu-evidence.

`pipeline` and `schemas` are generic names that other distributions on PyPI use as well. This module has a name of its
own, and refuses to start when either package is not the one beside it: reading evidence with somebody else's code must
not happen silently.

    from pathlib import Path
    import gpu_evidence

    result = gpu_evidence.ingest(Path("evidence"), [Path("captures")])
    table = gpu_evidence.sql(Path("evidence"), "SELECT path, status FROM captures")
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import pyarrow as pa

    from pipeline.ingest import Result
    from pipeline.report_model import Report
    from pipeline.verify import Verification

__all__ = [
    "constraint_demands",
    "constraint_points",
    "ingest",
    "main",
    "profile",
    "report",
    "require_gpu_fault_profile",
    "sql",
    "verify",
]

_SHADOWED = 5


def _check_packages() -> str | None:
    """Say which package is shadowed by another of the same name, or None."""
    here = Path(__file__).resolve().parent
    for name in ("pipeline", "schemas"):
        spec = importlib.util.find_spec(name)
        found = None if spec is None or spec.origin is None else Path(spec.origin).resolve().parent
        if found != here / name:
            return f"package {name!r} is {found}, expected {here / name}: use an environment of its own"
    return None


def main() -> None:
    """Run the command line."""
    problem = _check_packages()
    if problem:
        sys.stderr.write(f"gpu-evidence: {problem} [package_shadowed]\n")
        raise SystemExit(_SHADOWED)
    from pipeline.cli import cli

    cli(prog_name="gpu-evidence")


def ingest(store: Path, paths: Sequence[Path], *, kind: str | None = None, jobs: int = 2) -> Result:
    """Bring the captures below `paths` into the store (made when missing). Raises `pipeline.errors.EvidenceError`."""
    from pipeline.ingest import ingest as run
    from pipeline.store import open_store

    return run(open_store(store, create=True), paths, kind=kind, jobs=jobs)


def sql(store: Path, query: str) -> pa.Table:
    """Run one reading SQL statement over the store's head, locked down; rows as an Arrow table."""
    from pipeline.database import connect
    from pipeline.store import open_store

    return connect(open_store(store)).query(query)


def report(store: Path, capture_ids: Sequence[str] | None = None) -> Report:
    """Build the acceptance report over the store, or over some of its captures alone."""
    from pipeline.database import connect
    from pipeline.report import build
    from pipeline.store import open_store

    return build(connect(open_store(store), capture_ids, materialise=True))


def verify(store: Path) -> Verification:
    """Re-hash every file of the store, parse every capture again, and compare."""
    from pipeline.store import open_store
    from pipeline.verify import verify as run

    return run(open_store(store))


def profile(product: str, driver_version: str, *, evidence: Sequence[Path] | None = None) -> dict[str, Any] | None:
    """Return the accepted contract profile of a product and exact driver version, or None: a fresh dict each time.

    Clocks in MHz, power in W, temperatures in C, as in `contract_profiles`. It follows from the captures bundled with
    the project, or from those below `evidence`.
    """
    from pipeline.constraints import profile as run

    return run(product, driver_version, evidence)


def constraint_demands(
    topology: Any, allocation: Any, incidents: Any = None, *, evidence: Sequence[Path] | None = None
) -> Any:
    """Project the power demand of every GPU (W) from the shared allocation; rows as in `clock_demands`.

    `topology` and `allocation` are those of a scenario (see the README), or flat records or Arrow tables of GPUs; the
    answer is Arrow for Arrow and a list of dicts otherwise. Raises `pipeline.errors.ScenarioError`.
    """
    from pipeline.constraints import constraint_demands as run

    return run(topology, allocation, incidents, evidence)


def constraint_points(
    topology: Any,
    allocation: Any,
    demands: Any,
    *,
    observed_at: str | None = None,
    evidence: Sequence[Path] | None = None,
) -> Any:
    """Evaluate the clock limiters of every GPU, in physical order; rows as in `clock_constraints`.

    `demands` cover every GPU exactly once, unavailable ones included; rows of `constraint_demands` are taken too. What
    is given is not changed. Raises `pipeline.errors.ScenarioError`.
    """
    from pipeline.constraints import constraint_points as run

    return run(topology, allocation, demands, evidence, observed_at)


def require_gpu_fault_profile(topology: Any, fault_worst_cases: Any, *, evidence: Sequence[Path] | None = None) -> Any:
    """Return the admissions to gpu_fault_profile, or raise `pipeline.errors.AdmissionError` for a GPU not admitted.

    The GPUs of the topology say their driver_version, is_hgx and core_temp_c; `fault_worst_cases` are a scenario's.
    """
    from pipeline.constraints import require_gpu_fault_profile as run

    return run(topology, fault_worst_cases, evidence)
