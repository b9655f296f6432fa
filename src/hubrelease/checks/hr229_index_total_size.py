"""`total_size` of an index is not the sum of its tensors' bytes, or `total_parameters` not the number of their elements.

A warning: no loader fails on it. `total_parameters` counts the unquantised model and no buffers, so it is compared only
where all tensors are of floating point and nothing is declared quantised, and within one percent.

Why it matters: loaders and schedulers plan memory by it; it is also the first sign of an index that is not of these shards.
Mend: Write the sum of the tensors' bytes, headers left out.
Source: ml-explore/mlx-examples PR 413; huggingface_hub 2.4 serialization/_base.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import Container, Index, Located, WeightSet, inside
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.verify_release import short

FLOATS = frozenset(("F64", "F32", "F16", "BF16"))
MEND = "write the sum of the tensors' bytes, headers left out"


def run(release: Release) -> Iterator[Problem]:
    for weights in release.containers.indexed_sets.values():
        index = weights.index
        if index and index.fault is None and is_whole(release, index, weights):
            yield from size_problems(release, index, weights)
            yield from parameter_problems(release, index, list(weights.tensors.values()))


def is_whole(release: Release, index: Index, weights: WeightSet) -> bool:
    """Can the sums be made? What is missing or unreadable is a finding of its own."""
    sound = all((c := release.containers.all.get(file)) and c.header and not hard_faults(c) for file in weights.files)
    return bool(sound and index.weight_map and len(weights.tensors) == len(index.weight_map))


def hard_faults(container: Container) -> bool:
    return any(not fault.remark for fault in container.faults)


def size_problems(release: Release, index: Index, weights: WeightSet) -> Iterator[Problem]:
    if "total_size" not in index.metadata:
        return
    stated = index.metadata["total_size"]
    where = Where(index.file, pointer="/metadata/total_size")
    sizes = sum(located.tensor.size for located in weights.tensors.values())
    if isinstance(stated, bool) or not isinstance(stated, (int, float)):
        message = f"total_size is {short(stated)}, not a number; the tensors have {sizes} bytes"
        yield CHECK.problem(where, message, MEND, severity="warning")
        return
    containers = [release.containers.all[file] for file in weights.files]
    held = sum(t.size for c in containers if c.header for t in c.header.tensors)
    if stated in (sizes, held) or stated == sizes - bool_bytes(weights) * 7 / 8:
        return
    files = sum(c.size for c in containers)
    why = ": the sizes of the files, headers included" if stated == files else ""
    yield CHECK.problem(where, f"total_size is {short(stated)}{why}; the tensors have {sizes} bytes", MEND, severity="warning")


def bool_bytes(weights: WeightSet) -> int:
    """Older versions of transformers count a bool as one bit."""
    return sum(located.tensor.size for located in weights.tensors.values() if located.tensor.dtype == "BOOL")


def parameter_problems(release: Release, index: Index, tensors: list[Located]) -> Iterator[Problem]:
    stated = index.metadata.get("total_parameters")
    config = release.config(inside(index.folder, "config.json"))
    quantised = {"quantization_config", "quantization", "compression_config"} & config.keys()
    if stated is None or quantised or not all(located.tensor.dtype in FLOATS for located in tensors):
        return
    elements = sum(located.tensor.elements for located in tensors)
    where = Where(index.file, pointer="/metadata/total_parameters")
    if isinstance(stated, bool) or not isinstance(stated, (int, float)) or abs(stated - elements) * 100 > elements:
        message = f"total_parameters is {short(stated)}; the tensors have {elements} elements"
        yield CHECK.problem(where, message, "write the number of the model's parameters", severity="warning")


CHECK = Check("HR229", "index-total-size", "wrong total in an index", run)
