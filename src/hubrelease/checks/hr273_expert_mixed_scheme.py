"""The routed experts of one layer are not all quantised in one way.

Why it matters: Runtimes keep all experts of a layer in one tensor and take the format of the first: the others are read wrong.
Mend: Quantise all routed experts of a layer alike, or none.
Source: vLLM 0.32.0 layers/quantization/modelopt.py ModelOptMixedPrecisionConfig.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, gathered
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.scheme is not None and found.scheme.thorough and found.complete:
            for file, message, layers in gathered(mixed(found)):
                yield CHECK.problem(
                    Where(file, tensor=layers[0]), f"{few(layers)}: {message}", "quantise all experts of a layer alike, or none"
                )


def mixed(found: Quantised) -> Iterator[tuple[str, str, str]]:
    layers: dict[str, dict[str, str]] = {}
    for name, way in found.signatures.items():
        layer, experts, rest = name.rpartition(".experts.")
        if experts and rest[:1].isdigit():
            layers.setdefault(f"{layer}.experts", {}).setdefault(way, name)
    for layer, ways in layers.items():
        if len(ways) > 1:
            yield found.config_file, "experts " + ", others ".join(f"{way} ({name})" for way, name in sorted(ways.items())), layer


CHECK = Check("HR273", "expert-mixed-scheme", "experts of one layer in different formats", run)
