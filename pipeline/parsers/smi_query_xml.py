"""Reader of the XML form of `nvidia-smi -q -x`: elements in, labelled readings out.

Rules. Each element is counted: one without child elements is a row, one with them is structure. A loop prints whole
documents one after the other, so the capture is cut after each closing root and every piece is parsed alone; lines
between documents are sentences of nvidia-smi or refused. No entity may be declared and no external DTD is loaded; the
version of the DTD that the DOCTYPE names is a row above the first GPU. A document that is malformed or cut short keeps
the rows read so far, and what is left of it is refused with one error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from pipeline.errors import CaptureError
from pipeline.parsed import Issue, Ledger, Remarks, diagnostic
from pipeline.parsers.smi_query_text import SEPARATOR, Blocks, Reading

_ROOT = "nvidia_smi_log"
_MAX_DEPTH = 64
_MAX_PATH = 512
"""Characters in the names from below the GPU down to an element; the longest real path has about 100."""
_LISTS = frozenset({"mig_devices", "processes", "supported_clocks", "accounted_processes"})
"""Elements whose children are the blocks; any other block below a GPU is a child of the GPU itself."""
_START = re.compile(rb"<\?xml|<!DOCTYPE|<nvidia_smi_log")
_CUT = re.compile(rb"</nvidia_smi_log[ \t\r\n]{0,8}>|(?=<\?xml version)")
"""Where a document ends: after its root, or, should it be cut short, where the next one begins."""
_DTD = re.compile(r"nvsmi_device_(v[0-9]{1,3})\.dtd", re.ASCII)
_GPU_DEPTH = 2
_STRAY = frozenset({"unparsed_line", "unparsed_text"})
"""Codes that say nothing of why a capture has no rows."""


class _StoppedError(Exception):
    """The document is XML, but cannot be read any further: code and message."""


@dataclass(slots=True)
class _Element:
    name: str
    line: int
    path: str
    """Section of the elements below: names joined, '' for the root and for a GPU."""
    block: tuple[int, tuple[int, str]] | None = None
    text: str = ""
    """Of an element with children, only the first of it: nothing should stand between them."""
    has_children: bool = False


@dataclass
class XmlReader:
    """State while reading: which document and GPU the open elements belong to."""

    readings: list[Reading] = field(default_factory=list)
    remarks: Remarks = field(default_factory=Remarks)
    ledger: Ledger = field(default_factory=lambda: Ledger(counted="elements"))
    blocks: Blocks = field(default_factory=Blocks)
    _document: int = 0
    _gpu: str | None = None
    _gpus: int = 0
    _open: list[_Element] = field(default_factory=list)

    def read(self, data: bytes) -> None:
        """Read the whole capture; every element is a row, structure or refused."""
        start, line = 0, 1
        for end in [*(match.end() for match in _CUT.finditer(data)), len(data)]:
            piece = data[start:end]
            begin = _START.search(piece)
            head = piece if begin is None else piece[: begin.start()]
            self._between(head, line)
            line += head.count(b"\n")
            if begin is not None:
                self._parse(piece[begin.start() :], line)
                line += piece.count(b"\n", begin.start())
            start = end

    def _between(self, text: bytes, line: int) -> None:
        """Account for the lines outside every document."""
        for number, raw in enumerate(text.split(b"\n"), line):
            shown = raw.decode(errors="replace").strip()
            if shown:
                message = f"found {shown[:80]!r} outside a document, expected <{_ROOT}>"
                self._refuse(diagnostic(shown, number) or Issue("error", "unparsed_line", message, number))

    def _parse(self, document: bytes, line: int) -> None:
        self._document += 1
        self._gpu = None
        self._gpus += 1
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.buffer_size = 1 << 16
        # Numbers count from the document's own first line; the capture's line is wanted.
        before = line - 1
        parser.StartDoctypeDeclHandler = lambda _name, system, _public, _internal: self._doctype(
            system, before + parser.CurrentLineNumber
        )
        parser.StartElementHandler = lambda name, attributes: self._start(
            name, attributes, before + parser.CurrentLineNumber
        )
        parser.EndElementHandler = lambda _name: self._end()
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = lambda name, *_rest: _refuse_entity(name, before + parser.CurrentLineNumber)
        parser.SkippedEntityHandler = lambda name, _is_param: _refuse_entity(name, before + parser.CurrentLineNumber)
        try:
            parser.Parse(document, True)
        except expat.ExpatError as error:
            self._stop("xml_malformed", expat.ErrorString(error.code), before + error.lineno)
        except _StoppedError as stopped:
            code, why = stopped.args
            self._stop(code, why, before + parser.CurrentLineNumber)

    def _doctype(self, system: str | None, line: int) -> None:
        version = _DTD.fullmatch(system or "")
        if version is not None:
            self.ledger.total += 1
            self.ledger.rows += 1
            name = "nvsmi_device_dtd"
            self.readings.append(Reading(line, self._document, None, "", name, name, version[1]))

    def _start(self, name: str, attributes: dict[str, str], line: int) -> None:
        depth = len(self._open)
        if depth >= _MAX_DEPTH or len(name) + (len(self._open[-1].path) if depth else 0) > _MAX_PATH:
            found = f"element {name[:80]!r} at depth {depth + 1}"
            raise _StoppedError("xml_too_deep", f"{found}, at most {_MAX_DEPTH} and {_MAX_PATH} characters of names")
        if depth == 0 and name != _ROOT:
            raise _StoppedError("xml_malformed", f"root element {name[:80]!r}, expected {_ROOT!r}")
        self.ledger.total += 1
        element = _Element(name, line, "")
        if depth == 1 and name == "gpu":
            self._gpu, self._gpus = attributes.get("id"), self._gpus + 1
        elif depth:
            above = self._open[-1]
            element.path = f"{above.path}{SEPARATOR}{name}" if above.path else name
            element.block = self._block(above, name, depth)
        if depth and not self._open[-1].has_children:
            self._open[-1].has_children = True
            self._open[-1].text = self._open[-1].text.strip()
        self._open.append(element)

    def _block(self, above: _Element, name: str, depth: int) -> tuple[int, tuple[int, str]] | None:
        """Block that an element is in: one it opens, or that of the element above."""
        if depth == _GPU_DEPTH and above.name == "gpu" and name not in _LISTS:
            return self.blocks.enter(self._gpus, name, always=False)
        if depth == _GPU_DEPTH + 1 and above.name in _LISTS:
            return self.blocks.enter(self._gpus, above.name, always=True)
        return above.block

    def _text(self, text: str) -> None:
        if self._open:
            element = self._open[-1]
            if not element.has_children or not element.text:
                element.text = (element.text + text) if not element.has_children else text.strip()

    def _end(self) -> None:
        element = self._open.pop()
        text = element.text.strip()
        depth = len(self._open)
        is_container = element.has_children or not element.path
        if not is_container:
            section = self._open[-1].path
            # A value directly below the GPU is no block: only a container is.
            block = element.block if element.block and depth > _GPU_DEPTH else (None, None)
            place = (element.line, self._document, self._gpu, section, element.name, element.path)
            self.readings.append(Reading(*place, text, *block))
            self.ledger.rows += 1
        else:
            self.ledger.structure += 1
            if text:
                message = f"found {text[:80]!r} between the elements of <{element.name}>, expected nothing"
                self._refuse(Issue("error", "unparsed_text", message, element.line, element.name))
        if depth == 1:
            self._gpu = None

    def _stop(self, code: str, why: str, line: int) -> None:
        """Account for the open elements of a document that cannot be read to its end, and refuse its rest."""
        at = f" in <{self._open[-1].name}>" if self._open else ""
        message = f"{why}{at}, expected a whole document; rows up to here are kept, re-capture the file"
        self.ledger.structure += len(self._open)
        if self._open and not self._open[-1].has_children:
            # The element being read is what is refused, and _refuse counts it.
            self.ledger.structure -= 1
            self.ledger.total -= 1
        self._open.clear()
        self._refuse(Issue("error", code, message, line))

    def _refuse(self, issue: Issue) -> None:
        self.remarks.add(issue.severity, issue.code, issue.message, issue.line, issue.subject)
        self.ledger.total += 1
        self.ledger.refused += 1
        if issue.severity == "error" and issue.code not in _STRAY:
            self.remarks.failure = self.remarks.failure or issue.code


def _refuse_entity(name: str, line: int) -> None:
    raise CaptureError(
        f"XML entity {name[:80]!r}, expected none: nvidia-smi declares no entities; re-capture the file",
        code="xml_entity_refused",
        line=line,
    )
