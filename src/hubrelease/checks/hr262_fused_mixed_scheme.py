"""Projections that runtimes put into one matrix (q/k/v, gate/up, …) are quantised in different ways, or only some of them.

Why it matters: vLLM and SGLang load such a set as one tensor in one format: they refuse it, or drop and mix its parts.
Mend: Quantise all projections of a set alike, or leave all of them alone.
Source: vllm-project/vllm PR 41457; sgl-project/sglang issue 33245; ROCm/ATOM PR 2292.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few, fused_groups, gathered
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.quantised and found.complete:
            for file, message, parents in gathered(mixed(found)):
                where = Where(file, tensor=parents[0])
                yield CHECK.problem(where, f"{few(parents)}: {message}", "quantise all projections of a set alike, or none", "warning")


def mixed(found: Quantised) -> Iterator[tuple[str, str, str]]:
    for parent, names in fused_groups(found.signatures):
        ways = {name.rpartition(".")[2]: found.signatures[name] for name in names}
        if len(set(ways.values())) > 1:
            yield found.config_file, "; ".join(f"{leaf} is {way}" for leaf, way in ways.items()), parent


CHECK = Check("HR262", "fused-mixed-scheme", "fused projections in different formats", run)
