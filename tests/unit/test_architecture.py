"""The shape of the code: imports go one way, few modules touch the outside, functions and modules stay small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"): path
    for top in ("pipeline", "schemas")
    for path in sorted((ROOT / top).rglob("*.py"))
}
# A module may import those of lower layers; within a layer only what is listed as siblings.
LAYERS = (
    ("schemas",),
    ("pipeline.errors", "pipeline.tokens", "pipeline.report_model", "pipeline.disk", "pipeline.sql"),
    ("pipeline.statistics",),
    ("pipeline.report_sections",),
    ("pipeline.report_constraints",),
    ("pipeline.parsed",),
    ("pipeline.json_document",),
    ("pipeline.parsers",),
    ("pipeline.renderers",),
    ("pipeline.captures", "pipeline.store", "pipeline.validate"),
    ("pipeline.parse_pool", "pipeline.segments", "pipeline.database", "pipeline.show", "pipeline.rows"),
    ("pipeline.rewrites", "pipeline.constraints"),
    ("pipeline.ingest", "pipeline.report", "pipeline.verify", "pipeline.catalog", "pipeline.rejudge"),
    ("pipeline.publish",),
    ("pipeline.cli",),
)


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def layer(module: str) -> int:
    places = [
        (len(prefix), number)
        for number, prefixes in enumerate(LAYERS)
        for prefix in prefixes
        if module == prefix or module.startswith(f"{prefix}.")
    ]
    return max(places)[1] if places else -1


@pytest.mark.parametrize("module", SOURCES)
def test_imports_go_down(module: str) -> None:
    if module == "pipeline":
        return
    assert layer(module) >= 0, f"{module} has no layer: decide where it belongs"
    for name in imports(SOURCES[module]):
        if name in SOURCES and name != "pipeline" and layer(name) >= layer(module):
            # Modules of one package (schemas, parsers, renderers) belong together.
            package = module.split(".")[:2] if layer(module) else ["schemas"]
            assert name.split(".")[: len(package)] == package, f"{module} imports {name}"


@pytest.mark.parametrize("module", [name for name in SOURCES if name.startswith("pipeline.parsers.")])
def test_parsers_do_not_import_each_other(module: str) -> None:
    from pipeline.parsers import KINDS

    stem = module.rsplit(".", 1)[-1]
    kind = next(kind for kind in KINDS if stem == kind or stem.startswith(f"{kind}_"))
    others = {name for name in imports(SOURCES[module]) if name.startswith("pipeline.parsers.")}
    assert all(name.split(".")[2].startswith(kind) for name in others if name in SOURCES)


@pytest.mark.parametrize(
    ("library", "users"),
    [
        ("click", {"pipeline.cli"}),
        ("duckdb", {"pipeline.database"}),
        ("jinja2", {"pipeline.renderers.html"}),
        ("multiprocessing", {"pipeline.parse_pool"}),
        ("subprocess", set()),
        ("socket", set()),
        ("urllib", set()),
        ("pickle", set()),
        ("shutil", set()),
    ],
)
def test_only_these_modules_import(library: str, users: set[str]) -> None:
    found = {
        module
        for module, path in SOURCES.items()
        if any(name == library or name.startswith(f"{library}.") for name in imports(path))
    }
    assert found == users


WRITES = {
    "write_text",
    "write_bytes",
    "mkdir",
    "unlink",
    "rename",
    "replace",
    "link",
    "fsync",
    "chmod",
    "touch",
    "rmdir",
}


@pytest.mark.parametrize("module", SOURCES)
def test_only_the_seam_writes_evidence(module: str) -> None:
    """`disk` holds the verbs, `store` calls them, `publish` and `cli` write for people; text has `replace` too."""
    if module in {"pipeline.disk", "pipeline.store", "pipeline.publish", "pipeline.cli"}:
        return
    for node in ast.walk(ast.parse(SOURCES[module].read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
            is_text = node.func.attr == "replace" and len(node.args) + len(node.keywords) != 1
            assert is_text or node.func.attr == "replace", f"{module}:{node.lineno} calls {node.func.attr}"


@pytest.mark.parametrize("module", SOURCES)
def test_small(module: str) -> None:
    text = SOURCES[module].read_text("utf-8")
    assert text.count("\n") <= 400, "split the module"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{module}.{node.name} is longer than 60 lines"


@pytest.mark.parametrize("module", SOURCES)
def test_only_cli_prints_and_exits(module: str) -> None:
    for node in ast.walk(ast.parse(SOURCES[module].read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"print", "exit", "quit"} or module == "pipeline.cli"


def test_every_sql_file_is_a_listed_view() -> None:
    from pipeline.sql import VIEWS

    folder = ROOT / "pipeline" / "sql"
    files = {
        path.relative_to(folder).with_suffix("").as_posix()
        for part in ("staging", "marts")
        for path in (folder / part).glob("*.sql")
    }
    assert files == set(VIEWS)


def test_every_view_has_cases() -> None:
    from pipeline.sql import VIEWS

    cases = {path.name for path in (ROOT / "tests" / "sql").iterdir() if path.is_dir()}
    assert {view.rsplit("/", 1)[-1] for view in VIEWS if view.startswith("marts/")} <= cases


def test_the_project_speaks_of_itself_alone() -> None:
    """No path of a machine is in the code or the documents."""
    for path in [*SOURCES.values(), ROOT / "README.md", ROOT / "pyproject.toml"]:
        text = path.read_text("utf-8")
        assert not [word for word in ("/work/", "/home/", "/root/", "index-url") if word in text], path
