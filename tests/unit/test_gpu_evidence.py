"""The public module: the four functions, and a refusal to run on somebody else's packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gpu_evidence
from pipeline.errors import StoreError

if TYPE_CHECKING:
    from conftest import WriteCapture

ROOT = Path(__file__).parents[2]
LISTING = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-a2c6d813-9f40-4b57-8e21-7b35f0d9c46a)\n"


def test_from_captures_to_an_answer(write_capture: WriteCapture, tmp_path: Path) -> None:
    store = tmp_path / "evidence"
    result = gpu_evidence.ingest(store, [write_capture("list.txt", LISTING)], jobs=1)
    assert (result.ingested, result.refused) == (1, [])
    table = gpu_evidence.sql(store, "SELECT model FROM devices")
    assert table.to_pylist() == [{"model": "NVIDIA A100-SXM4-40GB"}]
    assert gpu_evidence.report(store, result.capture_ids).overall == "pass"
    assert gpu_evidence.verify(store).damage == []


def test_reading_makes_no_store(tmp_path: Path) -> None:
    for read in (gpu_evidence.verify, gpu_evidence.report, lambda store: gpu_evidence.sql(store, "SELECT 1")):
        with pytest.raises(StoreError, match="no_store"):
            read(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def _main(*path: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"}
    code = "import sys; sys.argv = ['gpu-evidence', '--version']; import gpu_evidence; gpu_evidence.main()"
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, cwd=ROOT / "tests"
    )


@pytest.mark.parametrize("name", ["pipeline", "schemas"])
@pytest.mark.parametrize("form", ["package", "module", "namespace"])
def test_shadowed_package_is_refused(tmp_path: Path, name: str, form: str) -> None:
    if form == "module":
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong code ran')")
    else:
        (tmp_path / name).mkdir()
        if form == "package":
            (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong code ran')")
    done = _main(tmp_path, ROOT)
    if form == "namespace":  # any real package further down the path goes before it
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 5
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"package {name!r}" in done.stderr
    assert "[package_shadowed]" in done.stderr


def test_own_packages_are_accepted() -> None:
    done = _main(ROOT)
    assert done.returncode == 0, done.stderr
    assert "gpu-evidence" in done.stdout
