"""A pattern of a config (an ignore entry, a target) takes too long to match, so nothing can be said of the modules that it names.

Why it matters: The same pattern hangs every reader that takes it; a release must not hold a verifier or a server up.
Mend: Write full module names, or a pattern without nested repetition.
Source: contract, section 2 (what can't be decided is never reported as good).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.costly is not None and found.scheme is not None:
            message = f"the pattern {found.costly.pattern[:100]!r} was stopped after its time was spent"
            mend = "write full module names, or a pattern without nested repetition"
            yield replace(CHECK.problem(Where(found.scheme.file, pointer=found.scheme.pointer), message, mend), undecided=True)


CHECK = Check("HR289", "pattern-too-costly", "pattern that takes too long", run)
