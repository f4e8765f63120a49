"""Every error that a person can meet, each with its exit code.

A message names what was found, what was expected and what to do; `where` is the file (or object) and `line` its line.
Exit codes: 1 a required verdict failed, 2 usage, 3 a required verdict is indeterminate, 4 some evidence was refused,
5 store or environment damaged.
"""

from __future__ import annotations

from typing import Any

VERDICT_FAILED = 1
USAGE = 2
VERDICT_INDETERMINATE = 3
EVIDENCE_REFUSED = 4
DAMAGED = 5


class EvidenceError(Exception):
    """Base of all our errors: shown in one line, never as a traceback."""

    exit_code = DAMAGED

    def __init__(self, message: str, *, code: str, where: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.where = where
        self.line = line

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross from a parsing process to ours with everything that is known."""
        return _again, (type(self), self.message, self.code, self.where, self.line)

    def __str__(self) -> str:
        place = "" if self.where is None else f"{self.where}: " if self.line is None else f"{self.where}:{self.line}: "
        return f"{place}{self.message} [{self.code}]"


def _again(kind: type[EvidenceError], message: str, code: str, where: str | None, line: int | None) -> EvidenceError:
    return kind(message, code=code, where=where, line=line)


class UsageError(EvidenceError):
    """The caller asked for something that does not exist or cannot be done."""

    exit_code = USAGE


class CaptureError(EvidenceError):
    """A whole capture cannot be read as evidence: it is quarantined, its bytes are kept."""

    exit_code = EVIDENCE_REFUSED


class StoreError(EvidenceError):
    """The store is damaged, full or not ours."""

    exit_code = DAMAGED


class ScenarioError(EvidenceError):
    """A scenario says what cannot be, or what its contract profile does not allow: it is refused whole."""

    exit_code = EVIDENCE_REFUSED


class AdmissionError(EvidenceError):
    """A capability is required and a GPU is not admitted to it."""

    exit_code = VERDICT_FAILED


class AdmissionUnknownError(AdmissionError):
    """A capability is required and it is not known whether a GPU may be admitted to it."""

    exit_code = VERDICT_INDETERMINATE


class DatabaseError(EvidenceError):
    """A query was refused or failed."""

    exit_code = USAGE
