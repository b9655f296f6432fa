"""The checks, one file each: a rule on the bytes of a release. The folder is the list; docs come from the docstrings.

To add a check, write `hrNNN_fault.py` with a docstring (what; "Why it matters:"; "Mend:"; "Source:") and CHECK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from hubrelease.errors import Problem, Where
from hubrelease.family import members
from hubrelease.release import Release
from hubrelease.verify_release import Finding


@dataclass(frozen=True)
class Check:
    """One rule. `kind` is the stable slug of its findings. Findings on hashes, paths, secrets … can't be waived."""

    code: str
    kind: str
    title: str
    run: Callable[[Release], Iterator[Problem]]
    waivable: bool = True

    def problem(self, where: Where | str, message: str, mend: str, severity: str = "error") -> Problem:
        place = Where(where) if isinstance(where, str) else where
        return Problem(self.code, self.kind, place, message, mend, severity)


@cache
def checks() -> tuple[Check, ...]:
    """Every check, in order of code."""
    import hubrelease.checks as package

    return tuple(check for check in members(package, "CHECK") if isinstance(check, Check))


def from_files(code: str, kind: str, title: str) -> Check:
    """A check whose rule verify_release.py applies while it walks and hashes the files."""

    def run(release: Release) -> Iterator[Problem]:
        for found in release.result.findings:
            if found.kind == kind:
                yield as_problem(found)

    return Check(code, kind, title, run, waivable=False)


def as_problem(found: Finding) -> Problem:
    where = Where(found.file, None, found.pointer)
    return Problem(found.code, found.kind, where, found.message, found.mend, found.severity, found.undecided)
