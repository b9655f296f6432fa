"""activation_scheme is absent or does not fit the weights: blocks need dynamic scales, static ones need their tensors.

Why it matters: vLLM refuses a block FP8 config without the key or with a static scheme; stored input scales are never read.
Mend: Write `dynamic` for weights in blocks, and drop input scales that nobody reads.
Source: vLLM 0.32.0 layers/quantization/fp8.py; transformers 5.24.0 utils/quantization_config.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.quantisation.layout import INPUT
from hubrelease.quantisation.part_faults import KINDRED
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.scheme is None:
            continue
        for fault in found.scheme.faults:
            if fault.kind == CHECK.kind:
                yield CHECK.problem(Where(found.scheme.file, pointer=fault.pointer), fault.message, fault.mend, fault.severity)
        if found.scheme.method == "fp8":
            for file, message, names in gathered(unread(found)):
                yield CHECK.problem(
                    Where(file, tensor=names[0]), f"{few(names)}: {message}", "drop the tensors, or declare static", "warning"
                )


def unread(found: Quantised) -> Iterator[tuple[str, str, str]]:
    for name, layout in found.layouts.items():
        module = found.quantised[name]
        for leaf in sorted(module.parts.keys() & set(KINDRED[INPUT]) - layout.leaves):
            yield module.parts[leaf].file, "an input scale that nobody reads, since activation_scheme is dynamic", f"{name}.{leaf}"


CHECK = Check("HR266", "activation-scheme", "activation scheme that does not fit", run)
