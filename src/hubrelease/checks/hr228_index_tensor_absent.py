"""A shard index maps a tensor to a file whose header has no such tensor, or leaves out a tensor that a named file holds.

A tensor that the index leaves out is a warning: transformers and vLLM load whole files, so it is read all the same.

Why it matters: the first is not found at load time; Hub clients return such metadata without complaint.
Mend: Write the index again from the shards' headers.
Source: huggingface/huggingface_hub issue 4725.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import Index, inside
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.telling import counted, few, named

MEND = "write the index again from the shards' headers"


def run(release: Release) -> Iterator[Problem]:
    for index in release.containers.indexes.values():
        yield from few(shard_problems(release, index))


def shard_problems(release: Release, index: Index) -> Iterator[Problem]:
    """One finding a shard and direction, however many tensors are concerned."""
    mapped: dict[str, list[str]] = {}
    for name, file in index.weight_map.items():
        mapped.setdefault(inside(index.folder, file), []).append(name)
    for path, names in sorted(mapped.items()):
        container = release.containers.all.get(path)
        if container is None or container.header is None:
            continue  # absent or unreadable: findings of their own
        held = release.containers.tensors_of(path).keys()
        if absent := sorted(name for name in names if name not in held):
            yield absent_problem(release, mapped, path, absent)
        if index.fault is None and (unnamed := [name for name in held if name not in index.weight_map]):
            message = f"holds {counted(len(unnamed), 'tensor')} that {index.file} does not name: {named(unnamed)}"
            yield CHECK.problem(Where(path, tensor=unnamed[0]), message, MEND, severity="warning")


def absent_problem(release: Release, mapped: dict[str, list[str]], path: str, absent: list[str]) -> Problem:
    elsewhere = [other for other in sorted(mapped) if other != path and absent[0] in release.containers.tensors_of(other)]
    where = f"; {absent[0]} lies in {elsewhere[0]}" if elsewhere else ""
    message = f"lacks {counted(len(absent), 'tensor')} that the index maps to it: {named(absent)}{where}"
    return CHECK.problem(Where(path, tensor=absent[0]), message, MEND)


CHECK = Check("HR228", "index-tensor-absent", "tensor not where the index says", run)
