"""Figures: value, unit, source, file and JSON pointer. What a card may say, and no fifth way (contract.md 3).

A figure comes from a receipt (measured), the payload (computed), the lock, or the spec (stated by the publisher, and
marked so). It is found by an RFC 6901 pointer and shown at a stated number of decimals, rounded half to even.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from hubrelease.errors import CheckFailed, Where, problem
from hubrelease.lock import Lock
from hubrelease.payload import Payload
from hubrelease.spec import Spec
from hubrelease.strict_yaml import list_index, pointer_steps


@dataclass(frozen=True, slots=True)
class Figure:
    """`value` as found, `shown` as the card prints it. `source` is receipt, payload, lock or spec; `file` where it stands."""

    value: object
    shown: str
    source: str
    file: str
    pointer: str

    @property
    def stated(self) -> bool:
        return self.source == "spec"


@dataclass(frozen=True)
class Facts:
    """Everything that figures may come from. `payload` is None where nothing was built yet."""

    spec: Spec
    lock: Lock
    receipts: Mapping[str, Any]
    payload: Payload | None

    def figure(self, asked: Mapping[str, Any], where: Where) -> Figure:
        """The figure that a cell of release.yaml asks for. CheckFailed (HR601) if it is not there or not finite."""
        source, file, document = self.origin(asked, where)
        pointer = asked["pointer"]
        value = resolve(document, pointer)
        if value is MISSING:
            raise refused(where, f"{file} has nothing at {pointer}", "correct the pointer, or the receipt")
        return Figure(value, show(value, asked, where, file), source, file, pointer)

    def origin(self, asked: Mapping[str, Any], where: Where) -> tuple[str, str, object]:
        given = [key for key in ("receipt", "payload", "lock", "spec") if key in asked]
        if len(given) != 1:
            raise refused(where, "a figure has exactly one of receipt, payload, lock, spec", "give one")
        name = asked[given[0]]
        if given[0] == "receipt":
            if name not in self.receipts:
                raise refused(where, f'"{name}" is no receipt of this release', f"known: {', '.join(self.receipts) or 'none'}")
            return "receipt", name, self.receipts[name]
        if given[0] == "lock":
            locked = self.lock.source(name)
            if locked is None:
                raise refused(where, f'the lock has no source "{name}"', "correct the name")
            facts = {
                "revision": locked.revision,
                "license": locked.license,
                "files": len(locked.files),
                "bytes": sum(f.size for f in locked.files),
            }
            return "lock", f"release.lock.json#{name}", facts
        if given[0] == "spec":
            return "spec", "release.yaml", self.spec.document
        if self.payload is None:
            message = f"payload:{name}{asked['pointer']} is known only after a build"
            unknown = problem("figure-fault", where, message, "build first, or give --tree DIR")
            raise CheckFailed(replace(unknown, undecided=True))
        return "payload", f"payload:{name}", self.payload.facts.get(name, {})


MISSING = object()
EXACT = Context(prec=6000, rounding=ROUND_HALF_EVEN)  # a receipt's number has 4,300 digits at most: Python reads no longer ones


def resolve(document: object, pointer: str) -> object:
    """What an RFC 6901 pointer names in a JSON value, or MISSING."""
    value: Any = document
    for step in pointer_steps(pointer):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and (index := list_index(step, len(value))) is not None:
            value = value[index]
        else:
            return MISSING
    return value


def show(value: object, asked: Mapping[str, Any], where: Where, file: str) -> str:
    """The figure as text: `as` percent × 100, bytes as MB or GB, thousands with commas, decimals half to even."""
    form = asked.get("as", "text" if isinstance(value, str) else "number")
    if idle := [key for key in IDLE.get(form, ()) if key in asked]:
        raise refused(where, f'"{idle[0]}" has no effect with `as: {form}`', f'remove "{idle[0]}"')
    unit = f" {asked['unit']}" if "unit" in asked else ""
    if form == "text":
        if not isinstance(value, str):
            raise refused(where, f"{file}{asked['pointer']} is {type(value).__name__}, not text", "leave out `as: text`")
        return value + unit
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))):
        raise refused(
            where,
            f"{file}{asked['pointer']} is {str(value)[:40]!r}, not a finite number",
            "correct the pointer, or the receipt",
        )
    number = Decimal(repr(value) if isinstance(value, float) else value)
    if form == "bytes":
        return byte_text(number, asked.get("decimals", 2))
    if form == "percent":
        return rounded(number.scaleb(2, EXACT), asked.get("decimals")) + (unit or "%")
    return rounded(number, asked.get("decimals")) + unit


IDLE = {"text": ("decimals",), "bytes": ("unit",)}


def rounded(number: Decimal, decimals: int | None) -> str:
    if decimals is not None:
        number = number.quantize(Decimal(1).scaleb(-decimals), context=EXACT)
    return f"{number:z,f}"  # z: no minus sign before a zero


def byte_text(number: Decimal, decimals: int = 2) -> str:
    """Bytes in the largest unit that does not show less than 1: 999,999 bytes are 1.00 MB, not 1,000.00 kB."""
    if number < 1000:
        return f"{number:,f} bytes"
    for unit, power in (("kB", 3), ("MB", 6)):
        shown = rounded(number.scaleb(-power, EXACT), decimals)
        if "," not in shown:
            return f"{shown} {unit}"
    return f"{rounded(number.scaleb(-9, EXACT), decimals)} GB"


def refused(where: Where, message: str, mend: str) -> CheckFailed:
    return CheckFailed(problem("figure-fault", where, message, mend))
