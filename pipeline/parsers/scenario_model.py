"""The shape of a scenario document. Unknown keys are refused: a mistyped cap must not vanish."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pydantic

from pipeline.json_document import Number, Part, Text

_Flag = Annotated[bool, pydantic.Field(strict=True)]
_Share = Annotated[float, pydantic.Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class Cap(Part):
    """A clock cap: both clocks; that one is missing is said by the checks."""

    sm_clock_mhz: Number | None = None
    memory_clock_mhz: Number | None = None


class _Request(Part):
    driver_version: Text
    requested_sm_clock_mhz: Number
    requested_memory_clock_mhz: Number
    thermal_cap: Cap | None = None
    power_cap: Cap | None = None


class Constraints(_Request):
    """operating.constraints of a pool: the projection of its GPUs' demand from the allocation."""

    idle_power_w: Number
    full_demand_power_w: Number
    power_fault_demand_w: Number | None = None


class Demand(_Request):
    """An explicit demand of one GPU."""

    gpu_id: Text
    power_demand_w: Number
    idle_power_w: Number | None = None


class Operating(Part):
    """Operating model of a pool, with or without constraints."""

    idle_power_w: Number | None = None
    full_demand_power_w: Number | None = None
    constraints: Constraints | None = None


class Pool(Part):
    """A pool of GPUs."""

    pool: Text
    operating: Operating | None = None


class Gpu(Part):
    """A GPU in its place."""

    gpu_id: Text
    model: Text
    is_available: _Flag
    pool: Text | None = None
    driver_version: Text | None = None
    is_hgx: _Flag | None = None
    power_budget_w: Number | None = None
    core_temp_c: Number | None = None
    loss: _Share = 0.0
    loss_cause: Literal["cooling", "congestion"] | None = None


class Node(Part):
    """A node and its GPUs in physical order."""

    node_id: Text
    driver_version: Text | None = None
    is_hgx: _Flag | None = None
    gpus: list[Gpu]


class Topology(Part):
    """Nodes in physical order, and pools."""

    nodes: list[Node]
    pools: list[Pool] | None = None


class Share(Part):
    """Share of a GPU that is allocated."""

    gpu_id: Text
    share: _Share


class Allocation(Part):
    """Shares of all GPUs, and where they come from."""

    provenance: Text | None = None
    gpus: list[Share]


class _Targeted(Part):
    gpu_id: Text | None = None
    node_id: Text | None = None

    @pydantic.model_validator(mode="after")
    def _one_target(self) -> _Targeted:
        if (self.gpu_id is None) == (self.node_id is None):
            raise ValueError("exactly one of gpu_id and node_id")
        return self


class Incident(_Targeted):
    """A power constraint on a GPU or a node."""

    incident: Literal["gpu_power_constraint"]
    intensity: _Share


class WorstCase(_Targeted):
    """Core temperature in the worst case of a fault."""

    fault: Text
    core_temp_c: Number


class Scenario(Part):
    """The document."""

    format: Literal["gpu-evidence/scenario/1"]
    scenario: Text
    text: Text | None = None
    observed_at: pydantic.AwareDatetime | None = None
    requires: tuple[Literal["thermal_envelope", "gpu_fault_profile"], ...] = ()
    topology: Topology
    allocation: Allocation | None = None
    demands: list[Demand] | None = None
    incidents: tuple[Incident, ...] = ()
    fault_worst_cases: tuple[WorstCase, ...] = ()

    @pydantic.field_validator("observed_at", mode="before")
    @classmethod
    def _spelled_out(cls, value: Any) -> Any:
        """A bare number could be seconds or milliseconds: not guessed."""
        if value is None or (isinstance(value, str) and "T" in value.upper()):
            return value
        raise ValueError("an ISO 8601 time with its zone")
