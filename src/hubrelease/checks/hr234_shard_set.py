"""Shards do not form one whole set: a number is missing, two sets are mixed, there is no index, or model.safetensors lies beside
an index over other tensors.

A gap in the numbers of shards whose index is whole is a warning: the names are odd, the weights are all there.

Why it matters: loaders that glob take what is there and start with parts of the model at random values; transformers finds no
weights without an index, and takes model.safetensors alone where there is one.
Mend: Publish all shards of one save and their index.
Source: transformers 5.24.0 modeling_utils.py _get_resolved_checkpoint_files; sgl-project/sglang PR 32279.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import INDEX, inside
from hubrelease.errors import Problem
from hubrelease.release import Release
from hubrelease.shards import shard_groups, sibling
from hubrelease.strays import is_same_model, loaded_by_config, single_beside
from hubrelease.telling import few, named

MAX_NUMBERS = 200_000  # shards that names may promise, in all groups together
ALL_SHARDS = "publish all shards of one save, and their index"


def run(release: Release) -> Iterator[Problem]:
    yield from few(group_problems(release))
    yield from few(mixed_problems(release))
    yield from few(single_problems(release))


def group_problems(release: Release) -> Iterator[Problem]:
    """Gaps in the numbers of shards, and shards without an index. Leftovers beside another set are findings of their own."""
    indexed = {path for weights in release.containers.indexed_sets.values() for path in weights.files}
    unread = {index.folder for index in release.containers.indexes.values() if not index.weight_map}
    left = MAX_NUMBERS
    for (folder, prefix, total, _), files in sorted(shard_groups(release.containers.all).items()):
        own = not indexed.isdisjoint(files.values())
        if folder in unread or total > left or (not own and folder in release.containers.sets_by_folder):
            continue
        left -= total
        known = indexed | release.missing | release.result.entries.keys()
        absent = [path for path in absent_shards(files, total) if path not in known]
        if absent and 0 not in files:
            yield gap_problem(files, total, absent, own)
        index = inside(folder, INDEX)
        if not own and prefix == "model" and index not in release.missing and loaded_by_config(release, folder):
            yield CHECK.problem(files[min(files)], f"is a shard, but there is no {index}: transformers finds no weights", "add the index")


def absent_shards(files: dict[int, str], total: int) -> list[str]:
    first = files[min(files)]
    return [sibling(first, number) for number in range(1, total + 1) if number not in files]


def gap_problem(files: dict[int, str], total: int, absent: list[str], own: bool) -> Problem:
    are = "is" if len(absent) == 1 else "are"
    message = f"is one of {len(files)} shards here, named as {total}; neither here nor in an index {are} {named(absent)}"
    return CHECK.problem(files[min(files)], message, ALL_SHARDS, severity="warning" if own else "error")


def mixed_problems(release: Release) -> Iterator[Problem]:
    """Shards of two saves in one index."""
    for index in release.containers.indexes.values():
        paths = {inside(index.folder, file) for file in index.weight_map.values()}
        totals: dict[str, set[int]] = {}
        for _, prefix, total, _ in shard_groups(paths):
            totals.setdefault(prefix, set()).add(total)
        for prefix, found in totals.items():
            if len(found) > 1:
                message = f"names shards of {named(map(str, sorted(found)), 5)} parts under the one prefix {prefix!r}"
                yield CHECK.problem(index.file, message, "name the shards of one save alike", severity="warning")


def single_problems(release: Release) -> Iterator[Problem]:
    """model.safetensors beside an index over other tensors: transformers loads the one and never opens the others."""
    for weights in release.containers.indexed_sets.values():
        single = single_beside(release, weights)
        if single and weights.index and weights.tensors and not is_same_model(release, single, weights):
            message = f"lies beside {weights.index.file}, which does not name it: transformers loads this file alone, vLLM the others"
            yield CHECK.problem(single, message, "put its tensors into the index, or give it another name")


CHECK = Check("HR234", "shard-set", "incomplete or mixed set of shards", run)
