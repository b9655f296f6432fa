"""A shard index can't be used: it is not strict JSON, has no weight_map, or names files that can't be files of the release.

Why it matters: loaders join its names to the folder's path; `..` or an absolute path makes them read, or fetch, other files.
Mend: Write the index again from the shards' headers; names of files only, no paths out of the folder.
Source: transformers 5.24.0 utils/hub.py get_checkpoint_shard_files (index["metadata"] and index["weight_map"] must be there).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hubrelease.checks import Check
from hubrelease.containers import MAX_INDEXES, Index
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.strict_yaml import pointer_to
from hubrelease.telling import few
from hubrelease.verify_release import path_fault, short

MEND = "write the index again from the shards' headers"
TRANSFORMERS = ("model.safetensors.index.json", "pytorch_model.bin.index.json")


def run(release: Release) -> Iterator[Problem]:
    if len(release.containers.index_files) > MAX_INDEXES:
        first = release.containers.index_files[MAX_INDEXES]
        yield CHECK.problem(first, f"is one of more than {MAX_INDEXES} indexes, and was not read", "publish one index a model")
    for index in release.containers.all_indexes.values():
        if index.file in release.partial or index.fault == "is a git-lfs pointer":
            continue
        value = release.json(index.file)
        rows = value.get("weight_map") if isinstance(value, dict) else None
        if isinstance(rows, dict):
            yield from few(row_problems(index, rows))
            yield from form_problems(index, value, rows)
        else:
            yield CHECK.problem(index.file, (index.fault or "has no weight_map")[:300], MEND)


def row_problems(index: Index, rows: Mapping[str, Any]) -> Iterator[Problem]:
    """Rows that name no file of the release."""
    for name, file in rows.items():
        if name not in index.weight_map:
            fault = path_fault(file) if isinstance(file, str) else "is not text"
            where = Where(index.file, pointer=pointer_to("weight_map", name)[:500], tensor=name[:500])
            yield CHECK.problem(where, f"maps {name[:200]!r} to {short(file)}, which {fault}", MEND)


def form_problems(index: Index, value: Mapping[str, Any], rows: Mapping[str, Any]) -> Iterator[Problem]:
    if not rows:
        yield CHECK.problem(Where(index.file, pointer="/weight_map"), "names no tensor", MEND)
    if index.file.endswith(TRANSFORMERS) and not isinstance(value.get("metadata"), dict):
        message = "has no metadata object, without which transformers stops with KeyError: 'metadata'"
        yield CHECK.problem(Where(index.file, pointer="/metadata"), message, "add metadata with total_size")


CHECK = Check("HR230", "index-invalid", "unusable shard index", run)
