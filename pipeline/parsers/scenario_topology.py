"""GPUs, nodes and pools of a scenario by name, as far as the document can be read.

What has not the expected type is passed over (its shape is refused elsewhere), and the list that it stands in is not
whole: nothing can then be said to be missing in it or unknown to it, since unknown is never no.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipeline.json_text import pointer, shown

if TYPE_CHECKING:
    from pipeline.json_shape import Fault
    from pipeline.json_text import Place

POOLS = (((), "topology"), "pools")
NODES = (((), "topology"), "nodes")


@dataclass
class Named:
    """Entries of lists by their name, the first of each, with their places; and whether all could be read."""

    key: str
    entries: dict[str, tuple[Place, dict[str, Any]]] = field(default_factory=dict)
    is_whole: bool = True

    def take(self, value: Any, place: Place, repeated: str, fault: Fault) -> list[str]:
        """Take the entries of a list, and return their names; one whose name is taken is told."""
        taken = []
        self.is_whole &= isinstance(value, (list, tuple))
        for at, entry in enumerate(as_list(value)):
            name = entry.get(self.key) if isinstance(entry, dict) else None
            if not isinstance(name, str):
                self.is_whole = False
            elif name in self.entries:
                found = f"{self.key} {shown(name)} again, after {pointer(self.entries[name][0])}"
                fault(repeated, ((place, at), self.key), found, "it once")
            else:
                self.entries[name] = ((place, at), entry)
                taken.append(name)
        return taken

    def has(self, name: Any) -> bool:
        """Whether there is an entry of this name."""
        return isinstance(name, str) and name in self.entries


@dataclass
class Topology:
    """What the checks ask of a topology. `pools` is whole and empty where none are listed."""

    gpus: Named = field(default_factory=lambda: Named("gpu_id"))
    nodes: Named = field(default_factory=lambda: Named("node_id"))
    pools: Named = field(default_factory=lambda: Named("pool"))
    members: dict[str, list[str]] = field(default_factory=dict)
    """Names of the GPUs of each node."""
    drivers: dict[str, Any] = field(default_factory=dict)
    """Driver of each GPU, its own or that of its node, where it is said."""
    constraints: dict[str, dict[str, Any]] = field(default_factory=dict)
    """operating.constraints of the pool of each GPU that has them."""


def as_list(value: Any) -> list[Any] | tuple[Any, ...]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, (list, tuple)) else ()


def part(value: Any, *keys: str) -> Any:
    """The value below these keys, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def constraints_of(pool: Any) -> dict[str, Any] | None:
    """operating.constraints of a pool, where it has them."""
    found = part(pool, "operating", "constraints")
    return found if isinstance(found, dict) else None


def read(document: dict[str, Any], fault: Fault) -> Topology:
    """Read the topology, and tell what is in it twice."""
    known = Topology()
    _read_nodes(part(document, "topology", "nodes"), known, fault)
    pools = part(document, "topology", "pools")
    if pools is None:  # without a list of pools their names are free
        return known
    known.pools.take(pools, POOLS, "pool_repeated", fault)
    for name, (place, gpu) in known.gpus.entries.items():
        pool = gpu.get("pool")
        if known.pools.has(pool):
            if (found := constraints_of(known.pools.entries[pool][1])) is not None:
                known.constraints[name] = found
        elif isinstance(pool, str) and known.pools.is_whole:
            fault("pool_unknown", (place, "pool"), f"pool {shown(pool)} of GPU {shown(name)}", "one of /topology/pools")
    return known


def _read_nodes(nodes: Any, known: Topology, fault: Fault) -> None:
    known.nodes.take(nodes, NODES, "node_repeated", fault)
    known.gpus.is_whole = isinstance(nodes, (list, tuple))
    for at, node in enumerate(as_list(nodes)):
        taken = known.gpus.take(part(node, "gpus"), ((NODES, at), "gpus"), "gpu_repeated", fault)
        for name in taken:
            own = known.gpus.entries[name][1].get("driver_version")
            known.drivers[name] = part(node, "driver_version") if own is None else own
        if isinstance(part(node, "node_id"), str):
            known.members.setdefault(node["node_id"], []).extend(taken)
    if known.gpus.is_whole and not known.gpus.entries:
        fault(None, NODES, "no GPU at all", "at least one")
