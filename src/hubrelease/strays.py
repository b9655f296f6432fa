"""Safetensors files that lie beside the weights a loader takes: a second set of the same weights, or weights nobody loads.

transformers opens model.safetensors, or the files that the index names, and nothing else; vLLM drops what no index row
names. Loaders that glob *.safetensors read everything. So a file beside the set is either lost or mixed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hubrelease.containers import INDEX, SINGLE, WeightSet, folder_of, inside
from hubrelease.release import Release
from hubrelease.shards import shard_name
from hubrelease.verify_release import names_in

WEIGHTS = frozenset(("weight", "weight_packed", "qweight", "kernel"))  # last steps of the names of matrices
ASIDE = ("adapter_", "pytorch_lora", "lora", "learned_embeds", "open_clip", "diffusion_pytorch_model")
NAMING = ("params.json", "modules.json")
READ_BYTES, READ_IN_ALL = 2**20, 32 * 2**20  # of configs and code that may name a file


@dataclass(frozen=True)
class Stray:
    """Files beside `set` that belong together (a group of shards, or one file). `duplicate`: they hold the same modules' weights."""

    set: WeightSet
    files: tuple[str, ...]
    tensors: int
    elements: int
    duplicate: bool
    whole: bool  # as large as the set itself: another model, or the same under other names


def strays(release: Release) -> Iterator[Stray]:
    """Every group of files beside a model's weight set that is not there for a reason that shows."""
    beside, spared = by_folder(release.containers.all), declared(release)
    second = by_folder(path for path in release.containers.indexed_sets if not path.endswith(f"/{INDEX}") and path != INDEX)
    indexed = {file for weights in release.containers.indexed_sets.values() for file in weights.files}
    for weights in release.containers.sets:
        if not loaded_by_config(release, weights.folder) or (weights.index and weights.index.fault) or not weights.tensors:
            continue
        taken = spared | indexed | set(weights.files)
        for files in grouped(path for path in beside.get(weights.folder, ()) if path not in taken and not is_aside(release, path)):
            yield classed(release, weights, files)
        for path in second.get(weights.folder, ()):
            files = tuple(file for file in release.containers.indexed_sets[path].files if not is_aside(release, file))
            other = weights.index is None or weights.index.file != path
            if other and files and spared.isdisjoint(files) and (stray := classed(release, weights, files)).duplicate:
                yield stray


def by_folder(paths: Iterable[str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(folder_of(path), []).append(path)
    return found


def loaded_by_config(release: Release, folder: str) -> bool:
    """Does transformers, or a runtime that follows it, load this folder?"""
    config = release.config(inside(folder, "config.json"))
    return isinstance(config.get("architectures"), list) or isinstance(config.get("model_type"), str)


def is_aside(release: Release, path: str) -> bool:
    """An adapter, a file that another library picks by its name (diffusers' variants, open_clip), or one that can't be read anyway."""
    if path.rpartition("/")[2].startswith(ASIDE) or "model_index.json" in release.files:
        return True
    tensors = release.containers.tensors_of(path)
    return not tensors or all("lora_" in name for name in tensors)


def declared(release: Release) -> frozenset[str]:
    """Paths under spec.weights.auxiliary: files outside the index, on purpose."""
    weights = release.spec.get("weights")
    rows = weights.get("auxiliary") if isinstance(weights, dict) else None
    paths = [row.get("path") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return frozenset(path for path in paths if isinstance(path, str))


def grouped(paths: Iterable[str]) -> list[tuple[str, ...]]:
    groups: dict[object, list[str]] = {}
    for path in paths:
        found = shard_name(path)
        groups.setdefault(found.key if found else path, []).append(path)
    return [tuple(sorted(files)) for files in groups.values()]


def classed(release: Release, weights: WeightSet, files: tuple[str, ...]) -> Stray:
    held = [tensor for path in files for tensor in release.containers.tensors_of(path).values()]
    elements = sum(tensor.elements for tensor in held)
    own = modules(weights.tensors)
    duplicate = 2 * len(own & modules(tensor.name for tensor in held)) >= len(own) > 0
    whole = 2 * elements >= sum(located.tensor.elements for located in weights.tensors.values())
    consolidated = files[0].rpartition("/")[2].startswith("consolidated")  # Mistral's own names for the same tensors
    return Stray(weights, files, len(held), elements, duplicate or (consolidated and whole), whole)


def modules(names: Iterable[str]) -> set[str]:
    """The modules whose matrix is among `names`, whatever the format calls it."""
    split = (name.rpartition(".") for name in names)
    return {module for module, _, last in split if last in WEIGHTS}


def named_elsewhere(release: Release, paths: Iterable[str]) -> set[str]:
    """Those of `paths` whose name stands in a config or in code of the release: something there loads them."""
    by_name: dict[bytes, set[str]] = {}
    for path in paths:
        by_name.setdefault(path.rpartition("/")[2].encode("utf-8", "surrogateescape"), set()).add(path)
    found: set[str] = set()
    left = READ_IN_ALL
    for path in sorted(release.files):
        if by_name and left > 0 and may_load(path) and (data := release.read(path, READ_BYTES)):
            left -= len(data)
            for name in names_in(data, set(by_name)):
                found |= by_name[name]
    return found


def may_load(path: str) -> bool:
    """Code, and configs; not listings of files, nor what converted the weights."""
    name = path.rpartition("/")[2]
    if path.startswith(("conversion/", "benchmarks/", "tests/", "docs/")) or path == "runtime/verify_release.py":
        return False
    return name.endswith(".py") or (name.endswith((".json", ".yaml", ".yml")) and ("config" in name or name in NAMING))


def single_beside(release: Release, weights: WeightSet) -> str | None:
    """model.safetensors beside the standard index, which names other files; None where there is none."""
    single = inside(weights.folder, SINGLE)
    standard = weights.index is not None and weights.index.file == inside(weights.folder, INDEX)
    return single if standard and single in release.containers.all and single not in weights.files else None


def is_same_model(release: Release, path: str, weights: WeightSet) -> bool:
    """Does one file hold the matrices of half of the modules of `weights`?"""
    own = modules(weights.tensors)
    return 2 * len(own & modules(release.containers.tensors_of(path))) >= max(len(own), 1)
