"""Names of `--query-gpu` fields: the catalogue (reference/smi_fields.csv), header lines and command lines.

The header echoes canonical names, whatever alias was asked for, and keeps units even with `nounits`; hand-typed
headers may hold aliases. A `noheader` capture can only be read with the command that printed it.
"""

from __future__ import annotations

import csv
import functools
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import CaptureError

_CATALOGUE = Path(__file__).parent.parent / "reference" / "smi_fields.csv"
_CELL = re.compile(r"([A-Za-z][A-Za-z0-9_.]*)(?: \[([^\]]+)\])?", re.ASCII)
_QUERY = "--query-gpu"
_COMMON = frozenset({"name", "count", "serial"})


@dataclass(frozen=True)
class Field:
    """A queryable field: canonical name, unit, type of its values, and the gpu_readings column it fills."""

    name: str
    unit: str = ""
    type: str = "text"
    column: str | None = None
    is_known: bool = True


@dataclass(frozen=True)
class Header:
    """The columns of a segment, in order."""

    fields: tuple[Field, ...]


@functools.cache
def catalogue() -> dict[str, Field]:
    """Every known field by canonical name and alias, in lower case."""
    found: dict[str, Field] = {}
    with _CATALOGUE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            field = Field(row["field"], row["unit"], row["type"], row["column"] or None)
            for name in (row["field"], *row["aliases"].split()):
                found[name.lower()] = field
    return found


def field_named(name: str, unit: str = "") -> Field:
    """The catalogue's field, or an unknown one under the printed name."""
    known = catalogue().get(name.lower())
    if known is None:
        return Field(name, unit, is_known=False)
    # A known name with another unit is another quantity: its numbers must not pass for the known one's.
    return known if unit in ("", known.unit) else Field(f"{name} [{unit}]", unit, is_known=False)


def parse_header(text: str) -> tuple[Field, ...] | None:
    """Fields of a header line, or None when it is none: every cell a name, and half of the names known.

    Other tables have a column `name` or `count` too: such names alone count only beside names with dots.
    """
    cells = [cell.strip(" ") for cell in text.split(",")]
    matches = [_CELL.fullmatch(cell) for cell in cells]
    if not all(matches):
        return None
    names = [(match[1], match[2] or "") for match in matches if match]
    known = [name.lower() for name, _ in names if name.lower() in catalogue()]
    is_foreign = any("." not in name and name.lower() not in catalogue() for name, _ in names)
    if 2 * len(known) < len(names) or (is_foreign and _COMMON.issuperset(known)):
        return None
    if any(name.lower() == "pid" for name, _ in names):
        raise CaptureError(
            "is a list of processes (column pid), expected a --query-gpu capture; process lists are not evidence here",
            code="unsupported_query",
        )
    return tuple(field_named(name, unit) for name, unit in names)


def parse_command(command: str | None) -> tuple[Field, ...] | None:
    """Fields that a command line asks for with --query-gpu, in order; None when it does not say."""
    if not command:
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    for position, word in enumerate(words):
        if word.startswith(f"{_QUERY}="):
            asked = word.removeprefix(f"{_QUERY}=")
        elif word == _QUERY and position + 1 < len(words):
            asked = words[position + 1]
        else:
            continue
        return tuple(field_named(name.strip()) for name in asked.split(",") if name.strip()) or None
    return None
