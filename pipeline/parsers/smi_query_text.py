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

from pipeline.parsed import Issue, Ledger, diagnostic, line_fault, split_lines

SEPARATOR = " > "
_STEP = 4
_MAX_DEPTH = 16
_MAX_LABEL = 128
"""Longest label accepted; the longest that nvidia-smi prints has about 50 characters."""
_LISTS = frozenset({"processes", "supported clocks", "accounted processes"})
"""Sections that are a list of entries: an entry begins where the first label repeats."""
_BANNER = re.compile(r"=+ *NVSMI LOG *=+", re.ASCII)
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])", re.ASCII)


@dataclass(slots=True)
class Reading:
    """One labelled value as printed, with its place; `repeats` names the blocks that `block` is counted among."""

    document: int
    gpu: str | None
    section: str
    label: str
    text: str
    line: int
    block: int | None = None
    repeats: tuple[int, str] | None = None


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

    def settle(self, readings: list[Reading]) -> None:
        """Take the number off blocks that turned out to be the only one of a kind that need not repeat."""
        for reading in readings:
            key = reading.repeats
            if key is not None and self.counts[key] == 1 and key not in self.always:
                reading.block = None


@dataclass
class TextReader:
    """State while reading: which document, GPU, sections and block a line belongs to."""

    readings: list[Reading] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    failure: str | None = None
    _blocks: Blocks = field(default_factory=Blocks)
    _document: int = 0
    _gpu: str | None = None
    _gpus: int = 0
    _sections: list[str | None] = field(default_factory=list)
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
        for at, line in enumerate(lines):
            if indents[at] < 0:
                self.ledger.blank += 1
            else:
                self._line(line, at + 1, indents[at], has_children=deeper[at])
        self._blocks.settle(self.readings)

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
        remark = diagnostic(stripped, number) if value is None and not is_heading else None
        if remark is not None:
            self._remark(remark)
            return
        fault = self._misplaced(label, stripped, indent, is_readable=is_heading or value is not None)
        if fault is not None:
            self._refuse(indent, number, "unparsed_line", fault, damaged=stripped.startswith("GPU"))
            return
        self._place(label, indent // _STEP)
        if value is None:
            self.ledger.structure += 1
        else:
            self._row(label, value, number, indent // _STEP)
        if indent:
            self._sections.append(label)

    def _heading(self, stripped: str) -> bool:
        """Open a document or a GPU, where the line says so."""
        gpu = _GPU.fullmatch(stripped)
        if gpu is not None:
            self._open_gpu(gpu[1])
        elif _BANNER.fullmatch(stripped):
            self._document += 1
            self._open_gpu(None)
        else:
            return False
        return True

    def _open_gpu(self, bus_id: str | None) -> None:
        self._gpu = bus_id
        self._gpus += 1
        self._sections.clear()
        self._block = self._list = None

    def _misplaced(self, label: str, shown: str, indent: int, *, is_readable: bool) -> str | None:
        """Why a line cannot be read where it stands, or None."""
        found = f"found {shown[:80]!r}"
        if not label or len(label) > _MAX_LABEL:
            return f"{found}, expected a label of 1 to {_MAX_LABEL} characters before ' : '"
        if not is_readable:
            return f"{found}, expected 'Label : value' or a heading with indented lines below it"
        depth, off = divmod(indent, _STEP)
        if off or depth > _MAX_DEPTH:
            return f"{found} after {indent} blanks, expected a multiple of {_STEP}, {_STEP * _MAX_DEPTH} at most"
        # Column 0 is above every GPU, so depth 1 is the first level below a GPU heading.
        above = self._sections[: depth - 1] if depth else []
        if len(above) < depth - 1 or None in above:
            return f"{found}, expected a readable heading above it; its section is not known"
        return None

    def _place(self, label: str, depth: int) -> None:
        """Close the sections that the line is not in, and open a block where it begins one."""
        if depth == 0:
            self._open_gpu(None)
            return
        del self._sections[depth - 1 :]
        folded = label.casefold()
        if depth == 1:
            self._list = folded if folded in _LISTS else None
            self._entry_starts, self._entry = None, set()
            is_device = folded == "mig device"
            self._block = None if self._list else self._blocks.enter(self._gpus, folded, always=is_device)
        elif depth == 2 and self._list:  # noqa: PLR2004 - the second level, where the entries of a list stand
            self._open_entry(self._list, folded)

    def _open_entry(self, name: str, label: str) -> None:
        """Begin an entry of a list at its first label; at any repeated one, should the first be damaged."""
        self._entry_starts = self._entry_starts or label
        if label == self._entry_starts or label in self._entry:
            self._entry.clear()
            self._block = self._blocks.enter(self._gpus, name, always=True)
        self._entry.add(label)

    def _row(self, label: str, value: str, number: int, depth: int) -> None:
        self._document = max(self._document, 1)
        # A value at the first level is a block of its own only as the parent of deeper lines.
        block, repeats = self._block if self._block and depth > 1 else (None, None)
        section = SEPARATOR.join(name for name in self._sections if name is not None) if depth else ""
        self.readings.append(Reading(self._document, self._gpu, section, label, value, number, block, repeats))
        self.ledger.rows += 1

    def _remark(self, remark: Issue) -> None:
        self.issues.append(remark)
        self.ledger.refused += 1
        if remark.severity == "error" and self.failure is None:
            self.failure = remark.code

    def _refuse(self, indent: int, number: int, code: str, message: str, *, damaged: bool) -> None:
        self.issues.append(Issue("error", code, message, number))
        self.ledger.refused += 1
        if indent:
            del self._sections[max(indent // _STEP - 1, 0) :]
            self._sections.append(None)
        elif damaged:
            self._open_gpu(None)


def _indent(line: bytes) -> int:
    """Blanks before the text, -1 for a blank line."""
    return len(line) - len(line.lstrip(b" \t")) if line.strip() else -1


def _split(stripped: str) -> tuple[str, str | None]:
    """Label and value of a line; the value is None where there is no ` : `."""
    label, colon, value = f"{stripped} ".partition(" : ")
    return label.rstrip(), value.strip() if colon else None
