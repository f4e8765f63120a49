"""Why a dyng record threw attempts away: lines of text alone, of three known kinds.

In shapes A and B a line that begins with `original:` may be about the reference or about the port in the scope of that
name. Two such lines of one kind in one entry are one of each, in the order of running; of a single one nobody knows.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from pipeline.parsers.perf_gate_read import Fault, shown

if TYPE_CHECKING:
    from pipeline.parsers.perf_gate_read import Reader

    Row = dict[str, Any]

_CPU = re.compile(r"foreign CPU load ([0-9.]{1,12}) cores > ([0-9.]{1,12})", re.ASCII)
_PROCESS = re.compile(r"foreign compute processes on GPU [0-9]+: ", re.ASCII)
_PAIR = r"\(([0-9]{1,6}), ([0-9]{1,6})\)"
_CLOCK = re.compile(r"GPU [0-9]+ busy at \(SM, memory\) MHz \[(.*)\], not at the locked " + _PAIR, re.ASCII | re.DOTALL)


def rejections(reader: Reader, shape: str, at: str, key: Row) -> list[Row]:
    """Rows of gate_rejections of a case: one for each line."""
    entries = []
    for number in range(len(reader.list(f"{at}/monitor/rejected"))):
        place = f"{at}/monitor/rejected/{number}"
        entries.append((reader.needed(f"{place}/before_round"), len(entries), place))
    rounds = sorted(
        reader.needed(f"{at}/monitor/rounds/{number}/round")
        for number in range(len(reader.list(f"{at}/monitor/rounds")))
    )
    found = []
    for rank, (before, _, place) in enumerate(sorted(entries)):
        attempt = 1 + rank + sum(round_ < before for round_ in rounds)
        found += [key | row | {"attempt": attempt} for row in _lines(reader, shape, place)]
    return found


def _lines(reader: Reader, shape: str, place: str) -> list[Row]:
    told = []
    for number, line in enumerate(reader.list(f"{place}/reasons")):
        if not isinstance(line, str):
            raise Fault(f"{place}/reasons/{number}", shown(line), "a text")
        prefix, _, rest = line.partition(": ")
        told.append((prefix, _reason(rest) | {"capture_pointer": f"{place}/reasons/{number}", "reason_text": line}))
    counts = Counter((prefix, row["code"]) for prefix, row in told)
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for prefix, row in told:
        kind = (prefix, row["code"])
        seen[kind] += 1
        found.append(row | _side(shape, prefix, seen[kind], counts[kind]))
    return found


def _reason(text: str) -> Row:
    if match := _CPU.fullmatch(text):
        try:
            cores, limit = float(match[1]), float(match[2])
        except ValueError:
            return {"code": "other"}
        return {"code": "foreign_cpu", "foreign_cpu_cores": cores, "foreign_cpu_limit_cores": limit}
    if _PROCESS.match(text):
        return {"code": "foreign_gpu_process"}
    if (match := _CLOCK.fullmatch(text)) and (pairs := re.findall(_PAIR, match[1])):
        return {
            "code": "off_lock",
            "sm_clock_min_mhz": min(int(sm) for sm, _ in pairs),
            "memory_clock_min_mhz": min(int(memory) for _, memory in pairs),
            "expected_sm_clock_mhz": int(match[2]),
            "expected_memory_clock_mhz": int(match[3]),
        }
    return {"code": "other"}


def _side(shape: str, prefix: str, number: int, count: int) -> Row:
    """Whom a line is about, as far as it is certain."""
    if shape == "dyng_c":
        sides = {"original": "baseline", "port": "candidate"}
        return {"side": sides.get(prefix), "scope": None}
    if prefix != "original":
        is_scope = re.fullmatch(r"[a-z_]{1,40}", prefix) is not None
        return {"side": "candidate" if is_scope else None, "scope": prefix if is_scope else None}
    if count == 2:  # noqa: PLR2004 - one for the reference, one for the port
        return {"side": "baseline", "scope": None} if number == 1 else {"side": "candidate", "scope": "original"}
    return {"side": None, "scope": None}
