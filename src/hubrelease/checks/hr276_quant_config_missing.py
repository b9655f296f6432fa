"""The weights are quantised, and no config says so.

Why it matters: Readers take the codes for weights in the model's dtype, or report every scale as a tensor that they do not expect.
Mend: Add the quantization_config that the tool wrote.
Source: transformers 5.24.0 modeling_utils.py (a checkpoint is quantised only if its config says so).
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import few
from hubrelease.quantisation.modules import SCALE_LEAVES
from hubrelease.release import Release

SURE = SCALE_LEAVES | {"qzeros", "SCB", "weight.absmax"}


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.declared_at_all or "architectures" not in found.config or f"{found.prefix}params.json" in release.files:
            continue
        names = [name for name, module in found.quantised.items() if module.parts.keys() & SURE]
        if names:
            message = f"declares no quantisation, but {len(names)} modules are quantised: {few(names)}"
            yield CHECK.problem(Where(found.config_file, tensor=names[0]), message, "add the quantization_config that the tool wrote")


CHECK = Check("HR276", "quant-config-missing", "quantised weights without a quantisation config", run)
