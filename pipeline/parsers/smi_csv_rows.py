"""From typed columns to the rows of gpu_readings and gpu_extra: reasons, sweeps, times, remarks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.parsed import Issue
from pipeline.parsers.smi_csv_cells import Column, interpret
from pipeline.tokens import REASONS
from schemas.columns import LOCAL, TEXT, UTC, unstamped_schema
from schemas.gpu_readings import GPU_EXTRA, GPU_READINGS

if TYPE_CHECKING:
    from pipeline.parsed import CaptureFacts
    from pipeline.parsers.smi_csv_fields import Field, Header

_READINGS = unstamped_schema(GPU_READINGS)
_EXTRA = unstamped_schema(GPU_EXTRA)
_ANY_TIME = pa.array([datetime(2026, 1, 1)], LOCAL)  # noqa: DTZ001 - local times have no zone
_DEVICE_KEYS = ("gpu_uuid", "pci_bus_id", "gpu_index")


@dataclass(frozen=True)
class Extra:
    """Raw cells of a field without a column of its own; `rows` are their positions, None: every row."""

    field: Field
    cells: pa.Array
    rows: pa.Array | None = None


@dataclass
class Chunk:
    """Rows under one header: typed columns by gpu_readings name, raw extra columns, and their lines."""

    header: Header
    row_count: int
    columns: dict[str, Column]
    extra: list[Extra]
    odd: list[tuple[Field, str, str, int]] = field(default_factory=list)
    repeated: list[tuple[str, int]] = field(default_factory=list)
    first_line: int = 1
    lines: list[int] | None = None
    segments: int | list[int] = 1

    @property
    def has_unparsable(self) -> bool:
        """Whether a cell is neither a value nor a token."""
        return any(reason == "unparsable" for _, _, reason, _ in self.odd)

    def line_numbers(self) -> pa.Array:
        """Line of each row."""
        return _count_from(self.first_line, self.row_count) if self.lines is None else pa.array(self.lines, pa.int32())

    def segment_numbers(self) -> pa.Array:
        """Segment of each row: a header that is only repeated starts one, and keeps the chunk."""
        if isinstance(self.segments, int):
            return pa.repeat(pa.scalar(self.segments, pa.int32()), self.row_count)
        return pa.array(self.segments, pa.int32())


def _count_from(first: int, n: int) -> pa.Array:
    """first, first + 1, ...: as a sum in Arrow, fifty times as fast as from a Python range."""
    return pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int32()), n), start=pa.scalar(first - 1, pa.int32()))


def type_chunk(cells: list[pa.Array], header: Header) -> Chunk:
    """Type the raw columns. A field asked for twice is used once; a second column that differs goes to gpu_extra."""
    chunk = Chunk(header, len(cells[0]), {}, [])
    first: dict[str, pa.Array] = {}
    for known, raw in zip(header.fields, cells, strict=True):
        if known.column is None:
            chunk.extra.append(Extra(known, raw))
        elif known.column in first:
            differing = _differing(first[known.column], raw)
            if len(differing):
                chunk.extra.append(Extra(known, _encoded(raw).take(differing), differing))
                chunk.repeated.append((known.name, differing[0].as_py()))
        else:
            first[known.column] = raw
            typed = interpret(raw, known)
            chunk.columns[known.column] = typed
            if typed.odd:
                rows = _first_rows(raw)
                chunk.odd += [(known, text, reason, rows[text]) for text, reason in typed.odd]
    return chunk


def _encoded(raw: pa.Array) -> pa.Array:
    return raw if pa.types.is_dictionary(raw.type) else raw.dictionary_encode()


def _plain(raw: pa.Array) -> pa.Array:
    return raw.cast(pa.string()) if pa.types.is_dictionary(raw.type) else raw


def _differing(first: pa.Array, second: pa.Array) -> pa.Array:
    return pc.indices_nonzero(pc.not_equal(_plain(first), _plain(second)))


def _first_rows(raw: pa.Array) -> dict[str, int]:
    """Where each distinct text comes first, all in one pass."""
    encoded = _encoded(pc.ascii_trim(_plain(raw), " "))
    places = pa.Table.from_arrays([encoded.indices, _count_from(0, len(raw))], names=["code", "row"])
    least = places.group_by("code").aggregate([("row", "min")]).to_pydict()
    texts = encoded.dictionary.to_pylist()
    return {texts[code]: row for code, row in zip(least["code"], least["row_min"], strict=True)}


def assemble(chunks: list[Chunk], facts: CaptureFacts) -> tuple[dict[str, pa.Table], list[Issue]]:
    """Join chunks into the tables, in the order of the capture, and say what is remarkable about them."""
    if not chunks:
        return {}, []
    readings = pa.concat_tables([_readings(chunk, facts) for chunk in chunks]).unify_dictionaries()
    position = readings.schema.get_field_index("sweep")
    sweeps = _sweeps(readings)
    if sweeps is not None:
        readings = readings.set_column(position, _READINGS.field("sweep"), sweeps)
    extras = [_extra(chunk, extra) for chunk in chunks for extra in chunk.extra]
    tables = {"gpu_readings": readings}
    if extras:
        tables["gpu_extra"] = pa.concat_tables(extras).unify_dictionaries()
    remarks = _remarks(chunks)
    if facts.timezone is not None and _to_utc(_ANY_TIME, facts.timezone) is None:
        message = f"no time became UTC: expected an IANA zone or an offset, found {facts.timezone!r} in the sidecar"
        remarks.append(Issue("warning", "timezone_unusable", message, None, "timezone"))
    return tables, remarks


def _readings(chunk: Chunk, facts: CaptureFacts) -> pa.Table:
    n = chunk.row_count
    nulls: dict[pa.DataType, pa.Array] = {}
    made: dict[str, pa.Array] = {
        "capture_line": chunk.line_numbers(),
        "segment": chunk.segment_numbers(),
    }
    made |= {name: column.values for name, column in chunk.columns.items()}
    if "observed_local" in made:
        utc = _to_utc(made["observed_local"], facts.timezone)
        if utc is not None:
            made["observed_at"] = utc
    made["absent"] = _absent(chunk, made)
    arrays = []
    for known in _READINGS:
        array = made.get(known.name)
        if array is None:
            # One array of NULLs per type serves every column that was not recorded.
            array = nulls.setdefault(known.type, pa.nulls(n, known.type))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=_READINGS)


def _absent(chunk: Chunk, made: dict[str, pa.Array]) -> pa.Array:
    """Why cells are NULL, as one dictionary: the few distinct combinations of reasons are spelled once each."""
    inapplicable = {"capture_line", "segment", "absent", "sweep"}
    unrecorded = [known.name for known in _READINGS if known.name not in made and known.name not in inapplicable]
    codes = pa.repeat(pa.scalar(0, pa.int32()), chunk.row_count)
    combinations: list[tuple[tuple[str, int], ...]] = [()]
    width = len(REASONS) + 1
    for name, reasons in _reasons(chunk, made).items():
        encoded = pc.add(pc.multiply(codes, width), pc.fill_null(pc.add(reasons, 1), 0)).dictionary_encode()
        combinations = [
            combinations[value // width] + (((name, value % width - 1),) if value % width else ())
            for value in encoded.dictionary.to_pylist()
        ]
        codes = encoded.indices
    always = [f"{name}=not_recorded" for name in unrecorded]
    texts = [
        " ".join(sorted([*always, *(f"{name}={REASONS[code]}" for name, code in pairs)])) for pairs in combinations
    ]
    spelled = pa.array([text or None for text in texts], pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(spelled.indices.take(codes), spelled.dictionary)


def _reasons(chunk: Chunk, made: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """Per column with NULLs, the index into REASONS of each row that has one."""
    found = {name: column.reasons for name, column in chunk.columns.items() if column.reasons is not None}
    unrecorded = pa.scalar(REASONS.index("not_recorded"), pa.int32())
    if "observed_at" in made and made["observed_at"].null_count:
        # The reason of the local time, or: the offset that tells the two o'clocks of a night apart was not recorded.
        why = pc.if_else(pc.is_null(made["observed_at"]), unrecorded, pa.scalar(None, pa.int32()))
        local = found.get("observed_local")
        found["observed_at"] = why if local is None else pc.coalesce(local, why)
    nameless = _nameless([made[name] for name in _DEVICE_KEYS if name in made], chunk.row_count)
    if pc.any(nameless).as_py():
        found["sweep"] = pc.if_else(nameless, unrecorded, pa.scalar(None, pa.int32()))
    return found


def _nameless(keys: list[Any], n: int) -> Any:
    """Which rows name no GPU: the device is unknown, not GPU 0."""
    missing = pa.repeat(pa.scalar(True, pa.bool_()), n)
    for column in keys:
        missing = pc.and_(missing, pc.is_null(column))
    return missing


def _to_utc(local: pa.Array, timezone: str | None) -> pa.Array | None:
    """UTC where the zone is known; a local time that a change of clocks repeats or skips stays unknown."""
    if timezone is None:
        return None
    try:
        early, late = (
            pc.assume_timezone(local, timezone, ambiguous=choice, nonexistent=choice).cast(UTC)
            for choice in ("earliest", "latest")
        )
    except pa.ArrowInvalid:
        return None
    return pc.if_else(pc.equal(early, late), early, pa.scalar(None, UTC))


def _sweeps(readings: pa.Table) -> pa.Array | None:
    """Number the sweeps: a new one starts when a GPU of the current one comes again. NULL where a row names no GPU."""
    n = len(readings)
    nameless = _nameless([readings[name].combine_chunks() for name in _DEVICE_KEYS], n)
    if pc.all(nameless).as_py():
        return None
    codes = _gpu_codes(readings)
    period = len(pc.unique(codes))
    is_periodic = n <= period or pc.all(pc.equal(codes.slice(period), codes.slice(0, n - period))).as_py()
    if is_periodic and not pc.any(nameless).as_py() and len(pc.unique(codes.slice(0, period))) == min(period, n):
        return pc.add(pc.divide(_count_from(0, n).cast(pa.int64()), period), 1)
    return pa.array(_count_sweeps(codes.to_pylist(), nameless.to_pylist()), pa.int64())


def _gpu_codes(readings: pa.Table) -> pa.Array:
    """One number per row for what names its GPU; masked UUIDs are equal, so that bus id and index count as well."""
    codes: pa.Array | None = None
    for name in _DEVICE_KEYS:
        column = readings[name]
        encoded = (column if pa.types.is_dictionary(column.type) else column.dictionary_encode()).combine_chunks()
        indices = pc.fill_null(pc.add(encoded.indices.cast(pa.int64()), 1), 0)
        codes = indices if codes is None else pc.add(pc.multiply(codes, len(encoded.dictionary) + 1), indices)
        codes = codes.dictionary_encode().indices.cast(pa.int64())
    return codes


def _count_sweeps(codes: list[int], nameless: list[bool]) -> list[int | None]:
    seen: set[int] = set()
    sweep = 1
    sweeps: list[int | None] = []
    for code, is_nameless in zip(codes, nameless, strict=True):
        if is_nameless:
            sweeps.append(None)
            continue
        if code in seen:
            sweep += 1
            seen.clear()
        seen.add(code)
        sweeps.append(sweep)
    return sweeps


def _extra(chunk: Chunk, extra: Extra) -> pa.Table:
    known, raw = extra.field, extra.cells
    n = len(raw)
    trimmed = pc.ascii_trim(raw.dictionary, " ").dictionary_encode()
    text = pa.DictionaryArray.from_arrays(trimmed.indices.take(raw.indices), trimmed.dictionary)
    name = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), n), pa.array([known.name], pa.string()))
    lines = chunk.line_numbers() if extra.rows is None else chunk.line_numbers().take(extra.rows)
    arrays = [lines, name, pa.repeat(pa.scalar(known.is_known, pa.bool_()), n), text, pa.nulls(n, TEXT)]
    return pa.Table.from_arrays(arrays, schema=_EXTRA)


def _remarks(chunks: list[Chunk]) -> list[Issue]:
    """One remark per unknown field, repeated field, and odd text of a field, at the line where it comes first."""
    found: dict[tuple[str, ...], Issue] = {}
    for chunk in chunks:
        lines: Any = chunk.lines or range(chunk.first_line, chunk.first_line + chunk.row_count)
        for known in (extra.field for extra in chunk.extra):
            if not known.is_known:
                message = f"field {known.name!r} is not in reference/smi_fields.csv; its cells are kept in gpu_extra"
                found.setdefault(("unknown", known.name), Issue("note", "unknown_field", message, None, known.name))
        for name, row in chunk.repeated:
            message = f"field {name!r} is printed twice and differs; the first is used, the second kept in gpu_extra"
            found.setdefault(("repeated", name), Issue("warning", "repeated_field", message, lines[row], name))
        for known, text, reason, row in chunk.odd:
            code = "unparsable_cell" if reason == "unparsable" else "unknown_token"
            message = f"found {text[:80]!r}, expected {_grammar(known)}; the cell is NULL ({reason})"
            found.setdefault((code, known.name, text), Issue("warning", code, message, lines[row], known.name))
    return list(found.values())


def _grammar(known: Field) -> str:
    unit = f", with or without ' {known.unit}'" if known.unit else ""
    return f"a value of type {known.type}{unit}, or a token such as [N/A]"
