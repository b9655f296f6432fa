"""An entry of the exclusion list matches a quantised module by accident: as the end or a part of a longer name.

Why it matters: transformers takes an entry also as the end of a name and vLLM's ModelOpt reader as any part of it; the module is
then made a plain layer there, and its codes and scales find no place.
Mend: Write the full names of the modules that are left alone.
Source: transformers 5.24.0 quantizers/quantizers_utils.py; vLLM 0.32.0 layers/quantization/modelopt.py is_layer_excluded.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import few, gathered
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        applied = found.declaration
        if applied is None or not applied.scheme.thorough:
            continue
        excluded = applied.excluded
        hits = {name: entry for name, entry in excluded.accidental.items() if name in found.quantised and name not in excluded.plain}
        pointers = {repr(entry.text[:120]): entry.pointer for entry in hits.values() if entry.pointer}
        rows = ((repr(entry.text[:120]), "", name) for name, entry in hits.items() if entry.pointer)
        for text, _, names in gathered(rows):
            message = f"{text} matches {few(names)} by accident, which is quantised: some readers then leave it alone"
            where = Where(applied.scheme.file, pointer=pointers[text], tensor=names[0])
            yield CHECK.problem(where, message, "write the full names of the modules that are left alone", "warning")


CHECK = Check("HR253", "exclusion-by-accident", "exclusion that matches a quantised module by accident", run)
