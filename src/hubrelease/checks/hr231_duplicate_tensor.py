"""Two files of one weight set hold a tensor of the same name.

The bytes are compared, up to a bound that --deep lifts. Equal copies are an error too: the shards are not those of their index.

Why it matters: the index names one of them, but runtimes read whole files, so the superseded copy can win.
Mend: Write the shard again without the copy that the index does not name.
Source: syv-ai/qwen38-27b-rtx3090 PR 123; 1CatAI/1Cat-vLLM PR 407; ggml-org/llama.cpp src/llama-model-loader.cpp (a tensor in two splits).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest

from hubrelease.checks import Check
from hubrelease.containers import Located, inside
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.shards import shard_groups
from hubrelease.telling import few, named

COMPARED_BYTES = 256 * 2**20  # of both copies together
Pairs = dict[tuple[str, str], list[str]]  # (superfluous file, other file) → names


def run(release: Release) -> Iterator[Problem]:
    budget = [2**62 if release.deep else COMPARED_BYTES]
    for files, keeper in file_groups(release):
        pairs = doubled(files, keeper)
        yield from few(as_problem(release, pair, names, keeper, budget) for pair, names in sorted(pairs.items()))


def file_groups(release: Release) -> Iterator[tuple[dict[str, list[str]], Mapping[str, str]]]:
    """({file: names of its tensors}, {tensor: the file that the index names}) of each set of files that a loader reads together."""
    containers = release.containers
    indexed: set[str] = set()
    for index in containers.indexes.values():
        keeper = {name: inside(index.folder, file) for name, file in index.weight_map.items()}
        files = sorted(set(keeper.values()))
        indexed |= set(files)
        yield {file: list(containers.tensors_of(file)) for file in files}, keeper
    for numbers in shard_groups(containers.all.keys() - indexed).values():
        yield {file: list(containers.tensors_of(file)) for file in numbers.values()}, {}
    for numbers in shard_groups(containers.ggufs).values():
        yield {file: [t.name for t in containers.ggufs[file].tensors] for file in numbers.values()}, {}


def doubled(files: Mapping[str, list[str]], keeper: Mapping[str, str]) -> Pairs:
    first: dict[str, str] = {}
    found: Pairs = {}
    for file, names in sorted(files.items()):
        for name in names:
            other = first.setdefault(name, file)
            if other != file:
                pair = (other, file) if keeper.get(name) == file else (file, other)
                found.setdefault(pair, []).append(name)
    return found


def as_problem(release: Release, pair: tuple[str, str], names: list[str], keeper: Mapping[str, str], budget: list[int]) -> Problem:
    file, other = pair
    mapped = ", to which the index maps it" if keeper.get(names[0]) == other else ""
    message = f"holds {named(names)}, as does {other}{mapped}; {comparison(release, pair, names, budget)}"
    return CHECK.problem(Where(file, tensor=names[0]), message, f"write {file} again without {'them' if len(names) > 1 else 'it'}")


def comparison(release: Release, pair: tuple[str, str], names: list[str], budget: list[int]) -> str:
    """What comparing the copies shows, in words."""
    first, second = (release.containers.tensors_of(file) for file in pair)
    differ = same = 0
    for name in names:
        if name not in first or name not in second or set(pair) & release.partial:
            continue
        verdict = differs(release, Located(pair[0], first[name]), Located(pair[1], second[name]), budget)
        differ += verdict is True
        same += verdict is False
    rest = len(names) - differ - same
    told = [f"the bytes of {differ} differ"] if differ else []
    told += [f"{same} have the same bytes"] if same else []
    told += [f"{rest} were not compared"] if rest else []
    if len(names) == 1:
        return "the bytes differ" if differ else "the bytes are the same" if same else "the bytes were not compared"
    return ", ".join(told)


def differs(release: Release, a: Located, b: Located, budget: list[int]) -> bool | None:
    """Have two tensors of one name other content? None where that would take too much reading."""
    if (a.tensor.dtype, a.tensor.shape) != (b.tensor.dtype, b.tensor.shape):
        return True
    if a.tensor.size * 2 > budget[0]:
        return None
    budget[0] -= a.tensor.size * 2
    chunks = zip_longest(release.containers.chunks(a), release.containers.chunks(b))
    return any(one != other for one, other in chunks)


CHECK = Check("HR231", "duplicate-tensor", "tensor in two files", run)
