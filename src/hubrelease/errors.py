"""What can go wrong, as values: a Problem has a place, a code, a sentence and a mend; a ReleaseError carries several.

Problems are collected and shown all at once, never thrown one by one. This module imports nothing of ours but the
table of codes. Exit codes are those of the contract, section 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TypeVar

from hubrelease.codes import CODES

T = TypeVar("T")


class Exit(IntEnum):
    """Exit codes. Where several hold: BUG, USAGE, SIGNATURE, BAD, CONFLICT, OUTSIDE, GOOD in this order."""

    GOOD = 0
    BAD = 1
    USAGE = 2
    OUTSIDE = 3
    SIGNATURE = 4
    CONFLICT = 5
    BUG = 70


PRECEDENCE = (Exit.BUG, Exit.USAGE, Exit.SIGNATURE, Exit.BAD, Exit.CONFLICT, Exit.OUTSIDE, Exit.GOOD)


@dataclass(frozen=True, slots=True)
class Where:
    """A place: a file relative to the release or to release.yaml, a line (from 1), an RFC 6901 pointer, a tensor."""

    file: str
    line: int | None = None
    pointer: str | None = None
    tensor: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `undecided` says that it hinders a verdict rather than being one (exit code 3)."""

    code: str
    kind: str
    where: Where
    message: str
    mend: str
    severity: str = "error"
    undecided: bool = False
    waived: str | None = None  # the publisher's reason

    @property
    def exit(self) -> Exit:
        if self.severity != "error":
            return Exit.GOOD
        if self.code.startswith("HR7"):
            return Exit.SIGNATURE
        return Exit.OUTSIDE if self.undecided else Exit.BAD

    def as_warning(self) -> Problem:
        return replace(self, severity="warning")


def problem(kind: str, where: Where | str, message: str, mend: str, *, severity: str = "error") -> Problem:
    """A Problem of a kind listed in codes.py. `where` may be just a file."""
    place = Where(where) if isinstance(where, str) else where
    return Problem(CODES[kind].code, kind, place, message, mend, severity)


def worst(problems: Iterable[Problem]) -> Exit:
    """The exit code of several problems together."""
    return min((p.exit for p in problems), key=PRECEDENCE.index, default=Exit.GOOD)


class ReleaseError(Exception):
    """A foreseen end: some problems and an exit code. Anything else that is raised is a bug in hubrelease."""

    exit = Exit.BAD

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("; ".join(f"{p.where.file}: {p.code} {p.message}" for p in self.problems))


def attempted(call: Callable[[], T]) -> T | ReleaseError:
    """What `call` gives, or the foreseen end that it came to, where something is to be said besides."""
    try:
        return call()
    except ReleaseError as error:
        return error


class CheckFailed(ReleaseError):
    """The release, its lock or its sources have problems."""


class SpecError(ReleaseError):
    """release.yaml, or the command line, can't be understood."""

    exit = Exit.USAGE


class OutsideError(ReleaseError):
    """Network, Hub, disk, a missing extra or program: nothing can be said about the release."""

    exit = Exit.OUTSIDE


class SignatureError(ReleaseError):
    """Signature or identity."""

    exit = Exit.SIGNATURE


class ConflictError(ReleaseError):
    """The remote moved, or a tag exists with other content."""

    exit = Exit.CONFLICT
