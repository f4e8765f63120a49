"""Documents of our own in JSON: taken whole or refused whole, with every fault named by its JSON pointer.

Nothing is guessed: duplicate keys, NaN and unknown keys are refused, since a mistyped cap must not vanish. The elements
that the ledger counts are the scalar values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline import json_shape, json_text
from pipeline.parsed import Ledger, Parsed, Remarks
from schemas import TABLES, unstamped_schema
from schemas.columns import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.json_text import Place

    Rows = dict[str, list[dict[str, Any]]]
    """Rows by table."""


def parse(data: bytes, tables: tuple[str, ...], rows: Callable[[Any, Remarks], Rows]) -> Parsed:
    """Read a document and make its tables; one with a fault is refused whole, with every fault named."""
    remarks = Remarks()
    document, scalars = json_text.read(data, remarks)
    found = {} if remarks.issues else rows(document, remarks)
    if remarks.issues:
        refused = Ledger(total=scalars, refused=scalars, counted="elements")
        return Parsed({}, remarks.all(), refused, remarks.issues[0].code)
    made = {name: table(name, found.get(name, [])) for name in tables}
    return Parsed(made, [], Ledger(total=scalars, rows=scalars, counted="elements"))


def check(
    shape: json_shape.Object,
    document: Any,
    code: str,
    remarks: Remarks,
    more: Callable[[dict[str, Any], json_shape.Fault], None],
) -> bool:
    """Whether a document has its shape and holds together (`more`); its faults are remarked in document order.

    `more` must bear any document: it looks at what has the expected type, and passes over the rest.
    """
    found = Remarks()

    def fault(told: str | None, place: Place, what: str, expected: str) -> None:
        where = json_text.pointer(place)
        message = f"found {what} at {where or 'the top'}, expected {expected}; correct it"
        found.add("error", told or code, message, None, where)

    json_shape.check(shape, document, (), fault)
    if isinstance(document, dict):
        more(document, fault)
    position = _positions(document)
    found.issues.sort(key=lambda issue: position(issue.subject or ""))
    remarks.extend(found.all())
    return not found.issues


def _positions(document: Any) -> Callable[[str], list[int]]:
    """How a pointer is placed in the document; what is missing stands at the end of its object."""
    known: dict[int, dict[str, int]] = {}

    def position(pointer: str) -> list[int]:
        value, places = document, []
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict):
                if id(value) not in known:
                    known[id(value)] = {str(name): at for at, name in enumerate(value)}
                places.append(known[id(value)].get(key, len(value)))
                value = value.get(key)
            elif isinstance(value, (list, tuple)) and key.isdecimal() and int(key) < len(value):
                places.append(int(key))
                value = value[int(key)]
        return places

    return position


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as the declared table; what a row does not say is NULL, reason not_recorded."""
    schema = unstamped_schema(TABLES[name])
    arrays: dict[str, pa.Array] = {}
    for known in schema:
        kind = known.type.value_type if pa.types.is_dictionary(known.type) else known.type
        cells = [row.get(known.name) for row in rows]
        if pa.types.is_floating(kind):  # Arrow refuses an integer that a float holds inexactly
            cells = [None if cell is None else float(cell) for cell in cells]
        array = pa.array(cells, kind)
        arrays[known.name] = array if kind is known.type else array.dictionary_encode().cast(known.type)
    arrays["absent"] = _absent({key: made for key, made in arrays.items() if key not in ("absent", "capture_line")})
    return pa.Table.from_arrays([arrays[known.name] for known in schema], schema=schema)


def _absent(columns: dict[str, pa.Array]) -> pa.Array:
    """Rows that lack the same cells share one text: which they lack is a number, a bit for each column."""
    names = sorted(columns)
    length = len(columns[names[0]])
    bits = pa.repeat(pa.scalar(0, pa.int64()), length)
    for at, name in enumerate(names):
        bits = pc.add(bits, pc.multiply(columns[name].is_null().cast(pa.int64()), 1 << at))
    encoded = bits.dictionary_encode()
    texts = [
        " ".join(f"{name}=not_recorded" for at, name in enumerate(names) if lacking >> at & 1) or None
        for lacking in encoded.dictionary.to_pylist()
    ]
    return pa.array(texts, pa.string()).take(encoded.indices).dictionary_encode().cast(TEXT)
