"""The definitions of a header, in one pass: `DCGM_FI_` names, and the values of the other macros that they may use."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.parsers.dcgm_header_guards import Guards
from pipeline.parsers.dcgm_header_values import resolve, terms

if TYPE_CHECKING:
    from pipeline.parsed import Remarks
    from pipeline.parsers.dcgm_header_text import Logical
    from pipeline.parsers.dcgm_header_values import Terms

_PREFIX = "DCGM_FI_"
_DEFINE = re.compile(r"#\s*define\s+([A-Za-z_][0-9A-Za-z_]*)(\(?)(.*)", re.DOTALL)
_UNDEF = re.compile(r"#\s*undef\s+(DCGM_FI_[0-9A-Za-z_]+)")


@dataclass
class Define:
    """A definition of a `DCGM_FI_` name and what stands around it."""

    name: str
    value: str
    terms: Terms | None
    place: Logical
    is_guarded: bool
    is_cut: bool


@dataclass
class Reader:
    """One pass over the logical lines; `values` are those of all macros, also of other families."""

    remarks: Remarks
    refused: set[int]
    cut_line: int | None
    guards: Guards = field(default_factory=Guards)
    defines: dict[str, Define] = field(default_factory=dict)
    repeats: list[Define] = field(default_factory=list)
    values: dict[str, Terms | None] = field(default_factory=dict)
    conflicting: set[str] = field(default_factory=set)
    """Names that are defined with several values."""

    def read(self, place: Logical) -> None:
        """Take one line with code; all but definitions, conditions and #undef is structure."""
        if not place.code.startswith("#"):
            return
        if (match := _DEFINE.fullmatch(place.code)) is not None:
            if place.line not in self.refused:
                self.define(place, match[1], match[2], match[3])
        elif (undef := _UNDEF.match(place.code)) is not None:
            message = f"found #undef {undef[1]}, which is not followed: its definition stays; check which one is meant"
            self.remarks.add("warning", "undef_ignored", message, place.line, undef[1])
        else:
            self.guards.read(place.code)

    def define(self, place: Logical, name: str, opening: str, rest: str) -> None:
        """Take a definition; those of other families only serve to resolve names."""
        value = " ".join(rest.split())
        if not name.startswith(_PREFIX) or name == _PREFIX:
            self.define_other(name, None if opening else terms(value))
        elif opening or not value or not rest[0].isspace():
            # A character that no name can have makes the name before it another one than is meant.
            found = f"{name}(...)" if opening else f"{name}{rest[:20]}" if value else f"{name} without a value"
            message = f"found {found}, expected a name, a blank and a field id; take the header again"
            self.refuse(place.line, "unparsed_line", message, name)
        else:
            # A comment after the value, or a closing parenthesis, shows that the value is all there.
            is_cut = place.last == self.cut_line and not place.after and not value.endswith(")")
            split = None if is_cut else terms(value)
            define = Define(name, value, split, place, self.guards.is_old, is_cut)
            if name in self.defines:
                self.repeats.append(define)
            else:
                self.defines[name] = define
                self.values[name] = split

    def define_other(self, name: str, split: Terms | None) -> None:
        """Keep the value of a macro that is no field."""
        if self.values.setdefault(name, split) != split:
            self.conflicting.add(name)

    def refuse(self, line: int, code: str, message: str, subject: str | None = None) -> None:
        """Refuse a line with its reason."""
        self.refused.add(line)
        self.remarks.add("error", code, message, line, subject)

    def judge_repeats(self) -> None:
        """Note names that are defined again alike, and refuse definitions that say something else."""
        if not self.repeats:
            return
        # A name with a blank in it cannot be one of the header's own.
        again = {f"{other.place.line} {other.name}": other.terms for other in self.repeats}
        found = resolve({**self.values, **again}, frozenset(self.conflicting))
        for other in self.repeats:
            first, line = self.defines[other.name], other.place.line
            meant = found[f"{line} {other.name}"]
            if other.is_cut:
                self.refuse(
                    line, "truncated_row", "the file ends within a definition; take the header again", other.name
                )
            elif other.value == first.value or (isinstance(meant, int) and meant == found[other.name]):
                message = (
                    f"{other.name} is defined again with the same value; it stands first on line {first.place.line}"
                )
                self.remarks.add("note", "repeated_field", message, line, other.name)
            else:
                self.conflicting.add(other.name)
                message = (
                    f"{other.name} is {first.value[:80]!r} on line {first.place.line} and {other.value[:80]!r} on line "
                    f"{line}, expected one value; its id stays unknown until one of the two lines is removed"
                )
                self.refuse(line, "conflicting_values", message, other.name)

    def numbers(self) -> dict[str, int | str]:
        """The number of every name, or the reason that it has none; names with several values have none."""
        self.judge_repeats()
        return resolve(self.values, frozenset(self.conflicting))
