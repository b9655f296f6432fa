"""A module that the config says is left alone (ignore list, target, layer map) is stored quantised.

Why it matters: A reader makes a plain layer for it, finds no plain weight, and stops or serves random numbers.
Mend: Store the module in its original dtype, or take it out of the list.
Source: vllm-project/compressed-tensors issue 712.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.scheme is not None:
            yield from problems(found)


def problems(found: Quantised) -> Iterator[Problem]:
    assert found.scheme is not None
    declared = {name: found.declared[name] for name in found.quantised}
    rows = [(found.quantised[name], d.entry) for name, d in declared.items() if d.state == "excluded" and d.entry]
    pointers = {f"{entry.text[:120]!r}": entry.pointer for _, entry in rows}
    for rule, _, names in gathered((f"{entry.text[:120]!r}", module.file, module.name) for module, entry in rows):
        message = f"{few(names)}: quantised in {found.quantised[names[0]].file}, but left alone by {rule}"
        where = Where(found.scheme.file, pointer=pointers[rule] or None, tensor=names[0])
        yield CHECK.problem(where, message, "store the module in its original dtype, or take it out of the list")


CHECK = Check("HR250", "ignored-but-quantised", "quantised module that the config excludes", run)
