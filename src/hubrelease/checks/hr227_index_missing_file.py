"""A shard index names a file that is not in the release.

A left-over index of another framework beside whole safetensors weights is a warning: no loader gets to it.

Why it matters: Some loaders drop such rows and serve random weights without an error; others stop.
Mend: Add the file, or write the index again over the files that are there.
Source: sgl-project/sglang PR 32279.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import INDEX_SUFFIX, Index, inside
from hubrelease.errors import Problem
from hubrelease.release import Release
from hubrelease.telling import counted, few


def run(release: Release) -> Iterator[Problem]:
    for index in release.containers.all_indexes.values():
        yield from few(missing_files(release, index))


def missing_files(release: Release, index: Index) -> Iterator[Problem]:
    severity = "error" if index.file.endswith(INDEX_SUFFIX) or not has_set(release, index.folder) else "warning"
    for file, count in sorted(Counter(index.weight_map.values()).items()):
        path = inside(index.folder, file)
        if path in release.files or path in release.missing or path in release.result.entries:
            continue  # here, not downloaded yet, or a link: a finding of its own
        message = f"names {path} ({counted(count, 'tensor')}), which is not in the release"
        yield CHECK.problem(index.file, message, "add the file, or write the index again", severity=severity)


def has_set(release: Release, folder: str) -> bool:
    return any(weights.folder == folder and weights.tensors for weights in release.containers.sets)


CHECK = Check("HR227", "index-missing-file", "index names a file that is not there", run)
