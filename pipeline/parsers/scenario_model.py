"""The shape of a scenario document. Unknown keys are refused: a mistyped cap must not vanish."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pydantic

_Text = Annotated[str, pydantic.Field(strict=True, min_length=1)]
_Flag = Annotated[bool, pydantic.Field(strict=True)]
_Number = Annotated[float, pydantic.Field(strict=True, ge=0, allow_inf_nan=False)]
_Share = Annotated[float, pydantic.Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Cap(_Part):
    """A clock cap: both clocks; that one is missing is said by the checks."""

    sm_clock_mhz: _Number | None = None
    memory_clock_mhz: _Number | None = None


class _Request(_Part):
    driver_version: _Text
    requested_sm_clock_mhz: _Number
    requested_memory_clock_mhz: _Number
    thermal_cap: Cap | None = None
    power_cap: Cap | None = None


class Constraints(_Request):
    """operating.constraints of a pool: the projection of its GPUs' demand from the allocation."""

    idle_power_w: _Number
    full_demand_power_w: _Number
    power_fault_demand_w: _Number | None = None


class Demand(_Request):
    """An explicit demand of one GPU."""

    gpu_id: _Text
    power_demand_w: _Number
    idle_power_w: _Number | None = None


class Operating(_Part):
    """Operating model of a pool, with or without constraints."""

    idle_power_w: _Number | None = None
    full_demand_power_w: _Number | None = None
    constraints: Constraints | None = None


class Pool(_Part):
    """A pool of GPUs."""

    pool: _Text
    operating: Operating | None = None


class Gpu(_Part):
    """A GPU in its place."""

    gpu_id: _Text
    model: _Text
    is_available: _Flag
    pool: _Text | None = None
    driver_version: _Text | None = None
    is_hgx: _Flag | None = None
    power_budget_w: _Number | None = None
    core_temp_c: _Number | None = None
    loss: _Share = 0.0
    loss_cause: Literal["cooling", "congestion"] | None = None


class Node(_Part):
    """A node and its GPUs in physical order."""

    node_id: _Text
    driver_version: _Text | None = None
    is_hgx: _Flag | None = None
    gpus: list[Gpu]


class Topology(_Part):
    """Nodes in physical order, and pools."""

    nodes: list[Node]
    pools: list[Pool] | None = None


class Share(_Part):
    """Share of a GPU that is allocated."""

    gpu_id: _Text
    share: _Share


class Allocation(_Part):
    """Shares of all GPUs, and where they come from."""

    provenance: _Text | None = None
    gpus: list[Share]


class _Targeted(_Part):
    gpu_id: _Text | None = None
    node_id: _Text | None = None

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

    fault: _Text
    core_temp_c: _Number


class Scenario(_Part):
    """The document."""

    format: Literal["gpu-evidence/scenario/1"]
    scenario: _Text
    text: _Text | None = None
    observed_at: pydantic.AwareDatetime | None = None
    requires: list[Literal["thermal_envelope", "gpu_fault_profile"]] = []
    topology: Topology
    allocation: Allocation | None = None
    demands: list[Demand] | None = None
    incidents: list[Incident] = []
    fault_worst_cases: list[WorstCase] = []

    @pydantic.field_validator("observed_at", mode="before")
    @classmethod
    def _spelled_out(cls, value: Any) -> Any:
        """A bare number could be seconds or milliseconds: not guessed."""
        if value is None or (isinstance(value, str) and "T" in value.upper()):
            return value
        raise ValueError("an ISO 8601 time with its zone")
