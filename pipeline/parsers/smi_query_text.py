"""Reader of the text form of `nvidia-smi -q`: lines in, labelled readings out.

Rules. A banner starts a document, `GPU <bus id>` at column 0 opens a GPU. Depth is indentation in steps of four blanks;
the column of the colon differs between releases, so a line is split at its first ` : `. A line with a value can be the
parent of deeper lines. A line without a value is a heading when a deeper line follows it, otherwise it is refused.
What stands below a refused line is refused too, because its section is not known; below a damaged GPU heading the GPU
is not known, and stays NULL. Nothing is repaired.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pipeline.parsed import Ledger, Remarks, diagnostic, line_fault, split_lines

SEPARATOR = " > "
Severity = Literal["note", "warning", "error"]
_STEP = 4
_MAX_DEPTH = 16
_SHORTEST_SENTENCE = 16
"""No sentence that nvidia-smi prints in place of data is shorter; spares looking for one in every broken line."""
_MAX_LABEL = 128
"""Longest label accepted; the longest that nvidia-smi prints has about 50 characters."""
_LISTS = frozenset({"processes", "supported clocks", "accounted processes"})
"""Sections that are a list of entries: an entry begins where the first label repeats."""
_BANNER = re.compile(r"=+ *NVSMI LOG *=+", re.ASCII)
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])", re.ASCII)


class Reading(NamedTuple):
    """One labelled value as printed, with its place; `key` names the blocks that `block` is counted among."""

    line: int
    document: int
    gpu: str | None
    section: str
    label: str
    path: str
    """Section and label, joined."""
    text: str
    block: int | None = None
    key: tuple[int, str] | None = None


@dataclass
class Blocks:
    """Numbers equal blocks of one GPU, and says afterwards which numbers mean something."""

    counts: dict[tuple[int, str], int] = field(default_factory=dict)
    always: set[tuple[int, str]] = field(default_factory=set)

    def enter(self, gpu: int, name: str, *, always: bool) -> tuple[int, tuple[int, str]]:
        """Open a block: its number, and the key it is counted under."""
        key = (gpu, name)
        self.counts[key] = number = self.counts.get(key, 0) + 1
        if always:
            self.always.add(key)
        return number, key

    def number(self, reading: Reading) -> int | None:
        """Block of a reading, once all are read: None where it is the only one of a kind that need not repeat."""
        key = reading.key
        return None if key is not None and self.counts[key] == 1 and key not in self.always else reading.block


@dataclass
class TextReader:
    """State while reading: which document, GPU, sections and block a line belongs to."""

    readings: list[Reading] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)
    ledger: Ledger = field(default_factory=Ledger)
    blocks: Blocks = field(default_factory=Blocks)
    _document: int = 0
    _gpu: str | None = None
    _gpus: int = 0
    _paths: list[str | None] = field(default_factory=list)
    """Of the open lines, outermost first: sections and label joined; None below a refused line."""
    _block: tuple[int, tuple[int, str]] | None = None
    _list: str | None = None
    _entry_starts: str | None = None
    _entry: set[str] = field(default_factory=set)

    def read(self, data: bytes) -> None:
        """Read the whole capture; every line is a row, blank, structure or refused."""
        lines = split_lines(data)
        indents = [_indent(line) for line in lines]
        following, deeper = -1, [False] * len(lines)
        for at in range(len(lines) - 1, -1, -1):
            if indents[at] >= 0:
                deeper[at] = following > indents[at]
                following = indents[at]
        self.ledger.total = len(lines)
        is_cut = bool(data) and not data.endswith(b"\n")
        for at, line in enumerate(lines):
            if indents[at] < 0:
                self.ledger.blank += 1
            elif is_cut and at == len(lines) - 1:
                # nvidia-smi ends every line: without its newline a value may have lost its end, and is no fact.
                message = f"last line ends in {line[-60:]!r} without newline, expected a whole line; not used"
                self.remarks.add("warning", "truncated_row", message, at + 1)
                self.ledger.refused += 1
            else:
                self._line(line, at + 1, indents[at], has_children=deeper[at])

    def _line(self, raw: bytes, number: int, indent: int, *, has_children: bool) -> None:
        damage = line_fault(raw)
        if damage is not None:
            self._refuse(indent, number, *damage, damaged=True)
            return
        stripped = raw.decode().strip()
        if indent == 0 and self._heading(stripped):
            self.ledger.structure += 1
            return
        label, value = _split(stripped)
        is_heading = value is None and has_children and indent > 0
        if value is None and not is_heading and len(stripped) >= _SHORTEST_SENTENCE and self._remark(stripped, number):
            return
        fault = self._misplaced(label, indent, is_readable=is_heading or value is not None)
        if fault is not None:
            message = f"found {stripped[:80]!r}, expected {fault}"
            self._refuse(indent, number, "unparsed_line", message, damaged=stripped.startswith("GPU"))
            return
        section, path = self._place(label, indent // _STEP)
        if value is None:
            self.ledger.structure += 1
        else:
            self._document = max(self._document, 1)
            # A value at the first level is a block of its own only as the parent of deeper lines.
            block = self._block if self._block and indent > _STEP else (None, None)
            self.readings.append(Reading(number, self._document, self._gpu, section, label, path, value, *block))
            self.ledger.rows += 1

    def _heading(self, stripped: str) -> bool:
        """Open a document or a GPU, where the line says so."""
        gpu = _GPU.fullmatch(stripped)
        is_banner = gpu is None and stripped.endswith("=") and _BANNER.fullmatch(stripped) is not None
        if gpu is not None or is_banner:
            self._document += is_banner
            self._open_gpu(gpu[1] if gpu else None)
        return gpu is not None or is_banner

    def _open_gpu(self, bus_id: str | None) -> None:
        self._gpu = bus_id
        self._gpus += 1
        self._paths.clear()
        self._block = self._list = None

    def _misplaced(self, label: str, indent: int, *, is_readable: bool) -> str | None:
        """Say what would have to stand in place of a line that cannot be read, or None."""
        if not label or len(label) > _MAX_LABEL:
            return f"a label of 1 to {_MAX_LABEL} characters before ' : '"
        if not is_readable:
            return "'Label : value', or a heading with indented lines below it"
        depth, off = divmod(indent, _STEP)
        if off or depth > _MAX_DEPTH:
            return f"{_STEP} blanks a level and {_MAX_DEPTH} levels at most, not {indent} blanks"
        # Column 0 is above every GPU, so depth 1 is the first level below a GPU heading.
        if depth > 1 and (len(self._paths) < depth - 1 or self._paths[depth - 2] is None):
            return "a readable heading above it; its section is not known"
        return None

    def _place(self, label: str, depth: int) -> tuple[str, str]:
        """Close what the line is not in, open the block that begins with it; its section and path."""
        if depth == 0:
            self._open_gpu(None)
            return "", label
        del self._paths[depth - 1 :]
        section = self._paths[-1] or "" if self._paths else ""
        path = f"{section}{SEPARATOR}{label}" if section else label
        self._paths.append(path)
        folded = label.casefold()
        if depth == 1:
            self._list = folded if folded in _LISTS else None
            self._entry_starts, self._entry = None, set()
            is_device = folded == "mig device"
            self._block = None if self._list else self.blocks.enter(self._gpus, folded, always=is_device)
        elif depth == 2 and self._list:  # noqa: PLR2004 - the second level, where the entries of a list stand
            self._open_entry(self._list, folded)
        return section, path

    def _open_entry(self, name: str, label: str) -> None:
        """Begin an entry of a list at its first label; at any repeated one, should the first be damaged."""
        self._entry_starts = self._entry_starts or label
        if label == self._entry_starts or label in self._entry:
            self._entry.clear()
            self._block = self.blocks.enter(self._gpus, name, always=True)
        self._entry.add(label)

    def _remark(self, text: str, number: int) -> bool:
        """Keep a sentence that nvidia-smi prints in place of data."""
        issue = diagnostic(text, number)
        if issue is None:
            return False
        self.remarks.add(issue.severity, issue.code, issue.message, number)
        self.ledger.refused += 1
        if issue.severity == "error":
            self.remarks.failure = self.remarks.failure or issue.code
        return True

    def _refuse(self, indent: int, number: int, code: str, message: str, *, damaged: bool) -> None:
        self.remarks.add("error", code, message, number)
        self.ledger.refused += 1
        if indent:
            self._paths[max(indent // _STEP - 1, 0) :] = [None]
        elif damaged:
            # It may have been the heading of another GPU: better no GPU than the wrong one.
            self._open_gpu(None)


def _indent(line: bytes) -> int:
    """Blanks before the text, -1 for a blank line."""
    return len(line) - len(line.lstrip(b" \t")) if line.strip() else -1


def _split(stripped: str) -> tuple[str, str | None]:
    """Label and value of a line; the value is None where there is no ` : `."""
    label, colon, value = stripped.partition(" : ")
    if colon:
        return label.rstrip(), value.lstrip()
    return (stripped[:-2].rstrip(), "") if stripped.endswith(" :") else (stripped, None)
