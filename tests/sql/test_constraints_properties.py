"""Whole random scenarios, and all that can be removed from evidence: what the marts of clock constraints must hold to.

`expected_*` is a second evaluation in plain Python, written from the published rules and not from the SQL. Figures are
drawn so that sums and products are exact in binary: equality is equality.
"""

# ruff: noqa: S311, S608 - random scenarios are no secrets; queries are put together from names of our own

from __future__ import annotations

import functools
import json
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pipeline import captures as files
from pipeline import database, json_document, parse_pool, segments
from pipeline.constraints import BUNDLED
from pipeline.parsed import Ledger, Remarks
from pipeline.parsers import scenario
from schemas import TABLES, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]
Key = tuple[str, int]

PRODUCT, DRIVER, OTHER = "h100_sxm_80gb", "595.91.07", "590.48.01"
SLOWDOWN, REFERENCE, SHUTDOWN = 89, 87, 95
MAXIMA, BUDGETS = (1980, 2619), (200, 700)
NAMES = {PRODUCT: PRODUCT, "NVIDIA H100 80GB HBM3": PRODUCT}
"""Names of the one supported product: its id, and what nvidia-smi reports."""
NEVER_HGX = {"NVIDIA L40S", "l40s_48gb"}
TEMPS = (0, 30, 86.9, 87, 87.1, 88.9, 89, 89.1, 94.9, 95, 95.1)
PROFILE = ("h100-sxm-595.91.07", "dcgm-contract-3")


# -- a database over evidence and scenarios ----------------------------------------------------------------------------


def captured(*folders: str) -> dict[str, pa.Table]:
    """What the bundled captures in these folders say."""
    found = files.find(tuple(BUNDLED / name for name in folders))
    captures = [files.load(shown, file) for shown, file in found]
    items = [segments.Item.of(capture, parse_pool.parse_capture(capture)) for capture in captures]
    return dict(segments.tables(items))


def stamped(documents: dict[str, Row]) -> dict[str, pa.Table]:
    """Tables of scenarios, each under a capture of its own; none of them may be refused when it is read."""
    items = []
    for name, document in documents.items():
        remarks = Remarks()
        rows = scenario.rows(document, remarks)
        assert not remarks.issues, (remarks.issues[0], json.dumps(document))
        tables = {table: json_document.table(table, rows[table]) for table in scenario.TABLES}
        items.append(segments.Item({"capture_id": name, "capture_sha256": name}, tables, [], Ledger()))
    return segments.joined(items)


def over(tables: dict[str, pa.Table]) -> database.Database:
    filled = {name: tables.get(name, arrow_schema(schema).empty_table()) for name, schema in TABLES.items()}
    return database.over({name: ds.dataset(table) for name, table in filled.items()})


@functools.cache
def supported() -> database.Database:
    """A database in which the published profile is accepted, made once: scenarios are put into it."""
    return over(captured(*PROFILE))


def put(documents: dict[str, Row]) -> database.Database:
    tables = stamped(documents)
    for name in scenario.TABLES:
        empty = arrow_schema(TABLES[name]).empty_table()
        supported().connection.register(f"_{name}", ds.dataset(tables.get(name, empty)))
    return supported()


def told(asked: database.Database, view: str, where: str = "true") -> dict[Key, Row]:
    rows = asked.rows(f"SELECT * FROM {view} WHERE {where}").to_pylist()
    found = {(row["capture_id"], row["position"]): row for row in rows}
    assert len(found) == len(rows), "one row per GPU"
    return found


# -- random scenarios --------------------------------------------------------------------------------------------------


def cap(random: Random, request: tuple[float, float]) -> Row:
    """A cap of which each clock is equal to the request, or below."""
    below = [random.choice([clock, clock, max(clock - 1, 0), clock // 2, 0]) for clock in request]
    return {"sm_clock_mhz": below[0], "memory_clock_mhz": below[1]}


def request(random: Random, *, breaking: bool) -> Row:
    clocks: tuple[float, float] = (random.choice([0, 1200, 1979, 1980]), random.choice([0, 1593, 2619]))
    if breaking and random.random() < 0.05:
        clocks = random.choice([(1980.5, 2619), (1980, 2620)])
    found: Row = {
        "driver_version": random.choice([DRIVER] * 5 + [OTHER]),
        "requested_sm_clock_mhz": clocks[0],
        "requested_memory_clock_mhz": clocks[1],
    }
    return found | {name: cap(random, clocks) for name in ("thermal_cap", "power_cap") if random.random() < 0.8}


def pools(random: Random, *, constrained: bool, breaking: bool) -> list[Row]:
    """A pool with constraints (unless left out), one with an operating model alone, and one with nothing."""
    idle, full = random.choice([60, 100]), random.choice([500, 700, 900])
    model = {
        name: value for name, value in (("idle_power_w", idle), ("full_demand_power_w", full)) if random.random() < 0.9
    }
    powers = {"idle_power_w": idle, "full_demand_power_w": full}
    powers |= {"power_fault_demand_w": random.choice([full, full + 200])} if random.random() < 0.8 else {}
    made: list[Row] = [{"pool": "model", "operating": model}, {"pool": "plain"}]
    if constrained:
        made.append({"pool": "bound", "operating": {"constraints": request(random, breaking=breaking) | powers}})
    return made


def maybe(random: Random, chance: float, **values: Any) -> Row:
    return values if random.random() < chance else {}


def card(random: Random, name: str, pool: str | None, driver: str | None, *, breaking: bool) -> Row:
    """A GPU, whose budget is out of the range of the profile now and then."""
    budgets = [199, 200.0, 500, 500, 700, 701] if breaking and random.random() < 0.1 else [200, 500, 500, 699, 700]
    return {
        "gpu_id": name,
        "model": random.choice([PRODUCT, PRODUCT, PRODUCT, "NVIDIA H100 80GB HBM3", "NVIDIA L40S", "no such card"]),
        "is_available": random.random() < 0.85,
        **({"pool": pool} if pool else {}),
        **({"driver_version": driver} if driver else {}),
        **maybe(random, 0.7, is_hgx=random.random() < 0.8),
        **maybe(random, 0.9, power_budget_w=random.choice(budgets)),
        **maybe(random, 0.9, core_temp_c=random.choice(TEMPS)),
        **maybe(
            random, 0.4, loss=random.choice([0, 0.25, 0.5, 1]), loss_cause=random.choice(["cooling", "congestion"])
        ),
    }


def draw(seed: int) -> Row:
    """A scenario that the parser takes: of pools with constraints, of explicit demands, of both or of neither."""
    random = Random(seed)
    breaking, has_demands = random.random() < 0.3, random.random() < 0.85
    listed = pools(random, constrained=has_demands, breaking=breaking)
    bound = listed[-1]["operating"]["constraints"] if has_demands else None
    nodes: list[Row] = []
    demands: list[Row] = []
    for number in range(random.randint(1, 4)):
        on_node, is_whole = random.choice([None, DRIVER]), has_demands and random.random() < 0.4
        cards: list[Row] = []
        for slot in range(random.randint(1, 5)):
            name = f"n{number}-g{slot}"
            pool = "bound" if is_whole else random.choice([*(each["pool"] for each in listed), None])
            own = request(random, breaking=breaking) if has_demands and pool != "bound" else None
            wanted = bound if pool == "bound" else own
            driver = random.choice([None, DRIVER]) if wanted is None else wanted["driver_version"]
            # A demand's driver is that of the topology, where it says one: the GPU's own, or else that of its node.
            says = driver if on_node not in (None, driver) or random.random() < 0.5 else None
            cards.append(card(random, name, pool, says, breaking=breaking))
            if own is not None:
                power = random.choice([0, 199, 200, 201, 499, 500, 501, 699, 700, 701, 900])
                demands.append({"gpu_id": name, **own, "power_demand_w": power} | maybe(random, 0.6, idle_power_w=60))
        node: Row = {"node_id": f"n{number}", "gpus": cards, **maybe(random, 0.4, is_hgx=True)}
        nodes.append(node | ({"driver_version": on_node} if on_node else {}))
    names = [each["gpu_id"] for node in nodes for each in node["gpus"]]
    document: Row = {
        "format": scenario.FORMAT,
        "scenario": f"s{seed}",
        "topology": {"nodes": nodes, "pools": listed},
        "allocation": {"gpus": [{"gpu_id": name, "share": random.choice([0, 0.25, 0.5, 1, 1])} for name in names]},
        "fault_worst_cases": worst_cases(random, nodes),
    }
    if has_demands:
        document |= {"incidents": incidents(random, nodes, bound)}
    return document | ({"demands": demands} if demands else {})


def incidents(random: Random, nodes: list[Row], bound: Row | None) -> list[Row]:
    """Power constraints on GPUs whose demand is projected, and on nodes that hold no others."""
    found: list[Row] = []
    for node in nodes if bound and "power_fault_demand_w" in bound else []:
        projected = [each["gpu_id"] for each in node["gpus"] if each.get("pool") == "bound"]
        targets = [{"gpu_id": name} for name in projected if random.random() < 0.5]
        targets += [{"node_id": node["node_id"]}] if len(projected) == len(node["gpus"]) else []
        found += [
            {"incident": "gpu_power_constraint", "intensity": random.choice([0, 0.5, 1]), **target}
            for target in targets
            for _ in range(random.choice([1, 1, 2]))
        ]
    return found


def worst_cases(random: Random, nodes: list[Row]) -> list[Row]:
    targets = [{"node_id": node["node_id"]} for node in nodes if random.random() < 0.3]
    targets += [{"gpu_id": each["gpu_id"]} for node in nodes for each in node["gpus"] if random.random() < 0.7]
    return [{"fault": "pump_loss", "core_temp_c": random.choice(TEMPS[1:]), **target} for target in targets]


# -- the second evaluation ---------------------------------------------------------------------------------------------


def every(*conditions: bool | None) -> bool | None:
    """Whether all hold: one that does not settles it, else one that is not known leaves it open."""
    if False in conditions:
        return False
    return None if None in conditions else True


def resolved(document: Row) -> list[Row]:
    """The GPUs in physical order, each with its node, its demand, its pool's model and what hits it."""
    shares = {row["gpu_id"]: row["share"] for row in document["allocation"]["gpus"]}
    operating = {row["pool"]: row.get("operating", {}) for row in document["topology"]["pools"]}
    explicit = {row["gpu_id"]: row for row in document.get("demands", [])}
    found = []
    for node in document["topology"]["nodes"]:
        for gpu in node["gpus"]:

            def hits(given: list[Row], name: str, node: Row = node, gpu: Row = gpu) -> list[float]:
                targets = ({"gpu_id": gpu["gpu_id"]}, {"node_id": node["node_id"]})
                return [row[name] for row in given if any(target.items() <= row.items() for target in targets)]

            model = operating.get(gpu.get("pool"), {})
            found.append(
                {
                    **gpu,
                    "share": shares[gpu["gpu_id"]],
                    "driver": gpu.get("driver_version", node.get("driver_version")),
                    "hgx": False if gpu["model"] in NEVER_HGX else gpu.get("is_hgx", node.get("is_hgx")),
                    "explicit": explicit.get(gpu["gpu_id"]),
                    "shared": model.get("constraints"),
                    "operating": model,
                    "intensity": max(hits(document.get("incidents", []), "intensity"), default=0),
                    "worst": max(hits(document["fault_worst_cases"], "core_temp_c"), default=None),
                }
            )
    return found


def expected_demand(gpu: Row) -> float | None:
    if gpu["explicit"]:
        return float(gpu["explicit"]["power_demand_w"])
    if not gpu["shared"]:
        return None
    idle, full = gpu["shared"]["idle_power_w"], gpu["shared"]["full_demand_power_w"]
    if gpu["intensity"]:
        full += gpu["intensity"] * (gpu["shared"]["power_fault_demand_w"] - full)
    return float(idle + gpu["share"] * (full - idle))


def expected_draw(gpu: Row) -> float | None:
    wanted = gpu["explicit"] or gpu["shared"] or {}
    idle = wanted.get("idle_power_w", gpu["operating"].get("idle_power_w"))
    full, demand = gpu["operating"].get("full_demand_power_w"), expected_demand(gpu)
    if not wanted and None not in (idle, full):
        demand = idle + gpu["share"] * (full - idle)
    budget, loss = gpu.get("power_budget_w"), gpu.get("loss", 0)
    if not gpu["is_available"] or budget is None or demand is None or (loss and idle is None):
        return None
    return float(min(budget, idle + (demand - idle) * (1 - loss) if loss else demand))


def breaks_profile(gpu: Row) -> bool:
    wanted = gpu["explicit"] or gpu["shared"]
    if not wanted or (NAMES.get(gpu["model"]), wanted["driver_version"]) != (PRODUCT, DRIVER):
        return False
    low, high = BUDGETS
    too_fast = wanted["requested_sm_clock_mhz"] > MAXIMA[0] or wanted["requested_memory_clock_mhz"] > MAXIMA[1]
    return too_fast or not low <= gpu.get("power_budget_w", low) <= high


def expected_point(gpu: Row, *, refused: bool) -> Row:
    """The limiters of a GPU and its clocks."""
    wanted = gpu["explicit"] or gpu["shared"] or {}
    has_profile = (NAMES.get(gpu["model"]), wanted.get("driver_version")) == (PRODUCT, DRIVER)
    silent = {"limiter_state": "not_evaluated", "achieved_sm_clock_mhz": None, "achieved_memory_clock_mhz": None}
    if refused or not has_profile or not gpu["is_available"]:
        return {"has_profile": has_profile, "is_thermal_limited": False, "is_power_limited": False, **silent}
    clocks = ("sm_clock_mhz", "memory_clock_mhz")
    achieved = {name: wanted[f"requested_{name}"] for name in clocks}
    core, budget, demand = gpu.get("core_temp_c"), gpu.get("power_budget_w"), expected_demand(gpu)
    assert demand is not None
    causes = {
        "thermal_cap": None if core is None else core > SLOWDOWN,
        "power_cap": None if budget is None else demand > budget,
    }
    acts = {}
    for name, cause in causes.items():
        lower = wanted.get(name, {})
        acts[name] = every(cause, any(lower[clock] < wanted[f"requested_{clock}"] for clock in lower))
        if acts[name]:
            achieved = {clock: min(achieved[clock], lower[clock]) for clock in clocks}
    flags = {"has_profile": True, "is_thermal_limited": acts["thermal_cap"], "is_power_limited": acts["power_cap"]}
    if None in acts.values() or budget is None:
        return flags | silent
    state = "active" if True in acts.values() else "inactive"
    return flags | {"limiter_state": state} | {f"achieved_{clock}": value for clock, value in achieved.items()}


def expected_verdicts(gpu: Row) -> dict[str, str]:
    """Whether a GPU is admitted to each of the two capabilities."""
    driver = (gpu["explicit"] or gpu["shared"] or {}).get("driver_version", gpu["driver"])
    core, worst = gpu.get("core_temp_c"), gpu["worst"]
    cool = core if core is None else core <= REFERENCE
    inside = worst if worst is None else worst <= REFERENCE
    below = worst if worst is None else worst < SHUTDOWN
    if (NAMES.get(gpu["model"]), driver) != (PRODUCT, DRIVER):
        cool = inside = below = None  # without a profile there is no bound to hold them against
    words = {True: "pass", False: "fail", None: "indeterminate"}
    return {
        "thermal_envelope": words[every(cool, inside)],
        "gpu_fault_profile": words[every(gpu["hgx"], cool, below)],
    }


@given(st.lists(st.integers(0, 2**32), min_size=5, max_size=10, unique=True))
# A smaller seed is no simpler scenario: shrinking would only take time.
@settings(max_examples=10, deadline=None, phases=[Phase.reuse, Phase.generate])
def test_whole_scenarios_agree_with_plain_python(seeds: list[int]) -> None:
    documents = {f"c{seed}": draw(seed) for seed in seeds}
    asked = put(documents)
    gpus = {name: resolved(document) for name, document in documents.items()}
    refused = {(name, gpu["gpu_id"]) for name, cards in gpus.items() for gpu in cards if breaks_profile(gpu)}
    rows = asked.rows("SELECT capture_id, gpu_id FROM scenario_refusals").to_pylist()
    assert {(row["capture_id"], row["gpu_id"]) for row in rows} == refused
    demands, points, limits = (told(asked, view) for view in ("clock_demands", "operating_points", "clock_constraints"))
    admitted = {
        capability: told(asked, "fault_admissions", f"capability = '{capability}'")
        for capability in ("thermal_envelope", "gpu_fault_profile")
    }
    order = {(name, position + 1): gpu for name, cards in gpus.items() for position, gpu in enumerate(cards)}
    for found in (demands, points, limits, *admitted.values()):
        assert {key: row["gpu_id"] for key, row in found.items()} == {key: gpu["gpu_id"] for key, gpu in order.items()}
    for key, gpu in order.items():
        assert demands[key]["power_demand_w"] == expected_demand(gpu), (key, gpu)
        assert points[key]["power_draw_w"] == expected_draw(gpu), (key, gpu)
        is_refused = any(key[0] == name for name, _ in refused)
        wanted = expected_point(gpu, refused=is_refused)
        assert {name: limits[key][name] for name in wanted} == wanted, (key, gpu)
        verdicts = dict.fromkeys(admitted, "indeterminate") if is_refused else expected_verdicts(gpu)
        assert {name: rows[key]["verdict"] for name, rows in admitted.items()} == verdicts, (key, gpu)


# -- scenarios without constraints -------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["operating_points", "fault_admissions"])
def test_constraints_elsewhere_change_nothing(view: str) -> None:
    """A declaration from before constraints reads the same with and without other scenarios and captures beside it."""
    legacy = json.loads((BUNDLED / "scenarios" / "legacy.json").read_text("utf-8"))
    others = {f"c{seed}": draw(seed) for seed in range(10)}
    more = captured(*PROFILE, "rtx-3070-616.56", "rtx-a5000", "a100-mig-simulated", "dcgm-4.6.1")
    query = f"SELECT * FROM {view} WHERE capture_id = 'legacy' ORDER BY ALL"
    alone = over(captured(*PROFILE) | stamped({"legacy": legacy})).rows(query)
    beside = over(more | stamped(others | {"legacy": legacy})).rows(query)
    assert len(alone) == (2 if view == "operating_points" else 4)
    assert beside.equals(alone)
