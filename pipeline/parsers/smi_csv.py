"""`nvidia-smi --query-gpu=... --format=csv`: one sweep (inventory) or a loop (monitor log).

Rules:
- There is no quoting: a row has exactly as many comma-parted cells as its header, or it is refused.
- The first line whose cells are all field names is the header; a later one starts a new segment. Without a header the
  sidecar's command names the columns; without either the capture is quarantined (`columns_unknown`).
- A cell without a value is NULL with its reason; a line that is no row costs only itself.
- A last line without newline is refused when it is visibly cut; a last cell that may have lost digits is NULL.
- Fields without a column of their own go to gpu_extra as text; unknown ones are named in a note.

Clean blocks go to pyarrow whole. A block with any surprise (a row that does not fit, a blank line, a repeated header, a
cell that is neither value nor token) goes line by line, and costs only its bad lines.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pcsv

from pipeline.errors import CaptureError
from pipeline.parsed import MAX_REMARKS, Ledger, Parsed, Remarks, diagnostic, line_fault, to_utf8
from pipeline.parsers.smi_csv_cells import has_surprise, is_plain, tail_state
from pipeline.parsers.smi_csv_fields import Header, parse_command, parse_header
from pipeline.parsers.smi_csv_rows import Chunk, assemble, type_chunk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.parsed import CaptureFacts, Severity
    from pipeline.parsers.smi_csv_fields import Field

BLOCK_BYTES = 8 << 20
MAX_HEADERS = 1000
READ_BYTES = 2 << 20
"""Measured: the CSV reader is fastest with 2 MiB; a longer line is a surprise, and goes line by line."""
_ROW_LIKE = re.compile(
    rb"(?m)^[^\n]*(?:[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}|GPU-[0-9a-f]{8}-)[^\n]*,"
)
_TABLE_LINE = re.compile(r"[+|][-=+| ].*[+|]|[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8} [0-9]{4}", re.ASCII)


def detect(head: bytes) -> bool:
    """Whether the head of a capture looks like this kind: a header line, or rows with a time stamp or a GPU UUID."""
    lines = [line.decode("utf-8", "replace").strip("\r ") for line in head[:65536].split(b"\n")[:200]]
    first = next((line for line in lines if line), "")
    # Other tables have columns called name, index or count too: nvidia-smi parts its cells with comma and blank, and a
    # header of one field is told only in the first line.
    try:
        if any(", " in line and parse_header(line) for line in lines) or ("," not in first and parse_header(first)):
            return True
    except CaptureError:
        return True  # a header of nvidia-smi that parse() refuses with its reason
    return _ROW_LIKE.search(head[:65536]) is not None


@dataclass
class _State:
    """Progress through a capture: the header in force, what came of the lines so far, and the raw last row."""

    header: Header | None
    line: int = 0
    chunks: list[Chunk] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)
    ledger: Ledger = field(default_factory=Ledger)
    last_row: str | None = None
    pending: list[tuple[int, int, bytes]] = field(default_factory=list)
    segment: int = 1
    is_used: bool = False
    changes: int = 0


def parse(data: bytes, facts: CaptureFacts) -> Parsed:
    """Read a --query-gpu capture into gpu_readings and gpu_extra."""
    data = to_utf8(data)
    columns = parse_command(facts.command)
    state = _State(Header(columns) if columns else None)
    body = data.rfind(b"\n") + 1
    at = 0
    while at < body:
        # Until a header is in force lines are looked at one by one; from then on whole blocks are tried.
        at = _by_line(data, at, body, state) if state.header is None else _by_block(data, at, body, state)
    if body < len(data):
        _tail(data[body:], state)
    return _finish(state, facts)


def _by_line(data: bytes, at: int, body: int, state: _State) -> int:
    end = data.index(b"\n", at, body) + 1
    _line(data[at : end - 1], state)
    return end


def _blocks(data: bytes, at: int, body: int) -> Iterator[tuple[int, int]]:
    while at < body:
        end = body if body - at <= BLOCK_BYTES else data.rfind(b"\n", at, at + BLOCK_BYTES) + 1
        if end <= at:  # one line longer than a block
            end = data.index(b"\n", at, body) + 1
        yield at, end
        at = end


def _by_block(data: bytes, at: int, body: int, state: _State) -> int:
    """Read blocks until the end, or until a block changes the header: the blocks after it must be read anew.

    They are tried in waves that grow: a file of many headers does not have its end tried again and again.
    """
    header = state.header
    if header is None:
        raise AssertionError("blocks are read under a header")
    spans = _blocks(data, at, body)
    wave = 2
    with ThreadPoolExecutor(2) as pool:
        while tried := list(islice(spans, wave)):
            wave *= 2
            results = pool.map(lambda span: _clean(data, span, header), tried)
            for (start, end), chunk in zip(tried, results, strict=True):
                if chunk is None:
                    for line in data[start : end - 1].split(b"\n"):
                        _line(line, state)
                    _flush(state)
                    if state.header is not header:
                        return end
                else:
                    _accept(chunk, data[start : end - 1], state)
    return body


def _accept(chunk: Chunk, block: bytes, state: _State) -> None:
    chunk.first_line = state.line + 1
    chunk.segments = state.segment
    state.is_used = True
    state.line += chunk.row_count
    state.ledger.rows += chunk.row_count
    state.last_row = block[block.rfind(b"\n") + 1 :].decode()
    state.chunks.append(chunk)


def _clean(data: bytes, span: tuple[int, int], header: Header) -> Chunk | None:
    """Read a block whole, or give None at the first surprise."""
    start, end = span
    if data.find(b"\0", start, end) >= 0 or len(header.fields) == 1:
        return None  # a blank line among rows of one cell would pass for an empty cell
    if data.find(b"\r", start, end) >= 0 and data.count(b"\r\n", start, end) != data.count(b"\r", start, end):
        return None
    cells = _cells(pa.py_buffer(data).slice(start, end - start), header)
    # The reader passes over empty lines, which would shift the line numbers: then there are fewer rows than lines.
    if cells is None or len(cells[0]) != data.count(b"\n", start, end) or any(map(has_surprise, cells)):
        return None
    chunk = type_chunk(cells, header)
    return None if chunk.has_unparsable else chunk


def _cells(buffer: pa.Buffer, header: Header) -> list[pa.Array] | None:
    """Raw text columns of a buffer of rows, one contiguous array each, or None when a row does not fit."""
    names = [str(position) for position in range(len(header.fields))]
    kinds = {
        name: pa.string() if is_plain(known) else pa.dictionary(pa.int32(), pa.string())
        for name, known in zip(names, header.fields, strict=True)
    }
    try:
        table = pcsv.read_csv(
            pa.BufferReader(buffer),
            read_options=pcsv.ReadOptions(column_names=names, use_threads=False, block_size=READ_BYTES),
            parse_options=pcsv.ParseOptions(quote_char=False, escape_char=False, ignore_empty_lines=True),
            convert_options=pcsv.ConvertOptions(column_types=kinds, strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        return None
    return [column.combine_chunks() for column in table.columns]


def _line(line: bytes, state: _State) -> None:
    """Give one line its place: row, header, blank, structure or refused."""
    state.line += 1
    line = line.removesuffix(b"\r")
    fault = line_fault(line)
    if fault:
        _refuse(state, "error", *fault)
        return
    if b"\r" in line:
        _refuse(state, "error", "carriage_return", "found a carriage return within the line, expected none; not used")
        return
    text = line.decode()
    if not text.strip(" \t"):
        state.ledger.blank += 1
    elif fields := parse_header(text):
        _header(fields, state)
    elif state.header and len(state.header.fields) > 1 and text.count(",") == len(state.header.fields) - 1:
        _keep(line, state)
    else:
        _not_a_row(text, line, state)


def _header(fields: tuple[Field, ...], state: _State) -> None:
    """Start a segment, unless the one before has no row. Rows under equal headers stay together."""
    state.ledger.header += 1
    state.segment += state.is_used
    state.is_used = False
    if state.header and state.header.fields == fields:
        return
    _flush(state)
    state.header = Header(fields)
    state.changes += 1
    if state.changes > MAX_HEADERS:
        message = f"changes its columns more than {MAX_HEADERS} times, expected a log of few headers; split the file"
        raise CaptureError(message, code="too_many_headers", line=state.line)


def _keep(line: bytes, state: _State) -> None:
    state.pending.append((state.line, state.segment, line))
    state.is_used = True
    state.ledger.rows += 1
    state.last_row = line.decode()


def _not_a_row(text: str, line: bytes, state: _State) -> None:
    remark = diagnostic(text, state.line)
    if remark:
        state.remarks.extend([remark])
        state.ledger.refused += 1
    elif _TABLE_LINE.fullmatch(text.strip()):
        state.ledger.structure += 1  # the human table, printed before the rows
    elif state.header is None:
        _refuse(
            state,
            "error",
            "columns_unknown",
            f"row {text[:80]!r} has no header above it; put the command into the sidecar",
        )
    elif len(state.header.fields) == 1 and "," not in text:
        _keep(line, state)
    else:
        expected = len(state.header.fields)
        found = text.count(",") + 1
        message = f"found {found} cells in {text[:80]!r}, expected {expected} as in the header; the line is not used"
        _refuse(state, "error", "cell_count", message)


def _refuse(state: _State, severity: Severity, code: str, message: str) -> None:
    state.ledger.refused += 1
    # Without a header every line has the same fault: it is said once.
    state.remarks.add(severity, code, message, state.line, most=1 if code == "columns_unknown" else MAX_REMARKS)


def _flush(state: _State) -> None:
    """Turn the rows read line by line into a chunk of their own."""
    if not state.pending or state.header is None:
        return
    buffer = b"".join(line + b"\n" for *_, line in state.pending)
    cells = _cells(pa.py_buffer(buffer), state.header)
    if cells is None:  # cannot happen: every line was checked; but evidence is never lost to a surprise
        raise AssertionError(f"{len(state.pending)} checked rows were refused by the reader")
    chunk = type_chunk(cells, state.header)
    chunk.lines = [number for number, *_ in state.pending]
    chunk.segments = [segment for _, segment, _ in state.pending]
    state.chunks.append(chunk)
    state.pending = []


def _tail(line: bytes, state: _State) -> None:
    """Judge the last line when no newline ends it: a killed logger cuts it anywhere."""
    header, before = state.header, state.last_row
    text = line.decode("utf-8", "replace")
    cells = text.split(",")
    if header is None or len(cells) > len(header.fields) or parse_header(text) or not text.strip():
        _line(line, state)
        _flush(state)
        return
    last = cells[-1].strip(" \r")
    earlier = None if before is None else before.rsplit(",", 1)[-1].strip(" \r")
    verdict = "cut" if len(cells) < len(header.fields) else tail_state(last, earlier, header.fields[-1])
    if verdict == "unknown" and not line.rpartition(b",")[0].strip():
        verdict = "cut"  # nothing would be left of the row
    if verdict == "cut" and diagnostic(text, 1) is None:
        state.line += 1
        wanted = f"{len(header.fields)} whole cells and a newline"
        message = f"last line ends in {text[-60:]!r}, expected {wanted}; the tail was cut"
        _refuse(state, "warning", "truncated_row", message)
        return
    _line(line, state)
    if verdict == "unknown" and state.pending:
        # All cells but the last have a comma after them: they are whole. The last one was not recorded to its end.
        number, segment, kept = state.pending.pop()
        message = f"last cell {last!r} has no newline after it and may be cut; it is not used"
        state.remarks.add("warning", "truncated_cell", message, number, header.fields[-1].name)
        state.header = Header(header.fields[:-1])
        state.pending = [(number, segment, kept.rsplit(b",", 1)[0])]
    _flush(state)


def _finish(state: _State, facts: CaptureFacts) -> Parsed:
    _flush(state)
    state.ledger.total = state.line
    tables, remarks = assemble(state.chunks, facts)
    state.remarks.extend(remarks)
    quarantine = None
    if not state.chunks:
        failures = [issue.code for issue in state.remarks.issues if issue.severity == "error"]
        quarantine = "columns_unknown" if "columns_unknown" in failures else failures[0] if failures else "no_rows"
        if not failures:
            state.remarks.add("error", "no_rows", "no line is a row, expected one per GPU; capture it again", None)
    return Parsed(tables, state.remarks.all(), state.ledger, quarantine)
