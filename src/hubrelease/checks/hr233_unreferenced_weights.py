"""Weights lie in a file that no loader opens: neither the index nor a config nor the provenance names it.

Adapters, sets of their own in a folder of their own, and files that a config or code of the release names are left alone. A
file as large as the set itself is a warning: it may be another library's copy. So is a file in a folder of its own, which is
told of only where its tensors belong to modules of the main model.

Why it matters: transformers opens model.safetensors or what the index names; an MTP head, a vision tower or scales in another
file silently vanish.
Mend: Add the tensors to the index, or declare the file under weights.auxiliary with its purpose.
Source: NVIDIA/Model-Optimizer PR 2427; jundot/omlx issue 2062; vllm 0.32.0 filter_duplicate_safetensors_files.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import folder_of, inside
from hubrelease.errors import Problem
from hubrelease.release import Release
from hubrelease.strays import Stray, declared, is_aside, named_elsewhere, strays
from hubrelease.telling import counted, few, named

MEND = "add its tensors to the index, or declare it under weights.auxiliary with its purpose"


def run(release: Release) -> Iterator[Problem]:
    found = [stray for stray in strays(release) if not stray.duplicate]
    apart = list(files_apart(release))
    reached = named_elsewhere(release, [path for stray in found for path in stray.files] + apart) if found or apart else set()
    yield from few(stray_problem(release, stray) for stray in found if reached.isdisjoint(stray.files))
    yield from few(apart_problem(release, path) for path in apart if path not in reached)


def stray_problem(release: Release, stray: Stray) -> Problem:
    names = [name for path in stray.files for name in release.containers.tensors_of(path)]
    what = f"and {counted(len(stray.files) - 1, 'more file')} hold" if len(stray.files) > 1 else "holds"
    by = f"{stray.set.index.file} does not name" if stray.set.index else f"loaders of {stray.set.files[0]} do not open"
    severity = "warning" if stray.whole else "error"
    return CHECK.problem(stray.files[0], f"{what} {counted(stray.tensors, 'tensor')} ({named(names)}) that {by}", MEND, severity)


def files_apart(release: Release) -> Iterator[str]:
    """Files in folders without a config or a set of their own that hold tensors of the main model's modules."""
    main = release.containers.main
    if main is None or not main.tensors:
        return
    own = {name.rpartition(".")[0] for name in main.tensors}
    taken = declared(release) | set(main.files)
    for path in release.containers.all:
        folder = folder_of(path)
        if not folder or path in taken or folder in release.containers.sets_by_folder or has_config(release, folder):
            continue
        if is_aside(release, path):
            continue
        modules = {name.rpartition(".")[0] for name in release.containers.tensors_of(path)}
        if 2 * len(own & modules) >= len(modules) and len(own & modules) * 2 < len(own):
            yield path


def has_config(release: Release, folder: str) -> bool:
    return any(inside(folder, name) in release.files for name in ("config.json", "adapter_config.json", "model_index.json"))


def apart_problem(release: Release, path: str) -> Problem:
    names = list(release.containers.tensors_of(path))
    message = f"holds {counted(len(names), 'tensor')} of the model ({named(names)}) that no index names"
    return CHECK.problem(path, message, MEND, severity="warning")


CHECK = Check("HR233", "unreferenced-weights", "weights that no loader opens", run)
