"""The quantisation block says something that its readers refuse: impossible arguments, formats that disagree, no groups.

Why it matters: Loading stops while the config is read, before any weight is looked at.
Mend: Write the block again with the tool that made the weights.
Source: compressed-tensors 0.20.1 quantization/quant_args.py; transformers 5.24.0 utils/quantization_config.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        for fault in found.scheme.faults if found.scheme else ():
            if fault.kind == CHECK.kind:
                where = Where(found.scheme.file if found.scheme else found.config_file, pointer=fault.pointer)
                yield CHECK.problem(where, fault.message, fault.mend, fault.severity)
        for entry, why in found.declaration.excluded.faults.items() if found.declaration else ():
            where = Where(found.declaration.scheme.file if found.declaration else found.config_file, pointer=entry.pointer)
            yield CHECK.problem(where, f"the pattern {entry.text[:100]!r} {why}", "write a regular expression, or the module's full name")


CHECK = Check("HR281", "quant-config-invalid", "quantisation config that readers refuse", run)
