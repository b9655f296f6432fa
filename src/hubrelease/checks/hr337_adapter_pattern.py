"""An adapter's target_modules is an expression that takes too long to match.

Why it matters: PEFT runs it against every module name when the adapter is loaded: the load hangs.
Mend: List the modules' names instead of an expression.
Source: CWE-1333; huggingface/peft tuners/tuners_utils.py match_target_against_key (0.21.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.patterns import PatternTooCostly
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for adapter in release.adapters:
        if isinstance(costly := adapter.untargeted, PatternTooCostly):
            where = Where(adapter.config_file, pointer="/target_modules")
            found = CHECK.problem(where, f"{costly}: which modules it targets was not decided", "list the modules' names")
            yield replace(found, undecided=True)


CHECK = Check("HR337", "pattern-too-costly", "expression that takes too long", run)
