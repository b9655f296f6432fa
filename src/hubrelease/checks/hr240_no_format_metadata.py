"""The header of a model's safetensors file has no `__metadata__.format`, or one that transformers does not know.

A warning: the format does not ask for it, and transformers 5 does not look. Only files that transformers loads are looked at: those
of a set beside a config.json with an architecture; adapters, and the modules of sentence-transformers, are loaded without it.

Why it matters: transformers up to 4.47 stops at a file without it, and up to 4.57 at one whose metadata has another format.
Mend: Write `__metadata__` with format pt (MLX writes mlx).
Source: safetensors/safetensors issue 549; ml-explore/mlx issue 743; transformers 4.40.0, 4.48.0, 4.57.0 modeling_utils.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import Container, WeightSet
from hubrelease.errors import Problem
from hubrelease.release import Release
from hubrelease.strays import loaded_by_config
from hubrelease.telling import few

KNOWN = ("pt", "tf", "flax", "mlx")


def run(release: Release) -> Iterator[Problem]:
    for weights in release.containers.sets:
        if loaded_by_config(release, weights.folder) and not is_mistral(weights):
            containers = (release.containers.all.get(file) for file in weights.files)
            yield from few(problem for container in containers if container for problem in format_problems(container))


def is_mistral(weights: WeightSet) -> bool:
    """Consolidated files are for mistral-inference and vLLM, not for transformers."""
    return weights.index is not None and weights.index.file.rpartition("/")[2].startswith("consolidated")


def format_problems(container: Container) -> Iterator[Problem]:
    if container.header is None:
        return
    value = container.header.metadata.get("format")
    if value is None:
        message = "has no __metadata__.format; transformers up to 4.47 can't load it"
        if container.header.metadata:
            message = "has __metadata__ without format; transformers up to 4.57 refuses it"
        yield CHECK.problem(container.file, message, "write format: pt into __metadata__", severity="warning")
    elif value not in KNOWN:
        message = f"has the __metadata__.format {value[:40]!r}; transformers up to 4.57 takes {', '.join(KNOWN)}"
        yield CHECK.problem(container.file, message, "write format: pt into __metadata__", severity="warning")


CHECK = Check("HR240", "no-format-metadata", "no format in the metadata", run)
