"""What the files of a release say of themselves: counts, bytes, tensors, dtypes. Headers and sizes only, no tensor is read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from hubrelease import manifest, weights
from hubrelease.manifest import Entry
from hubrelease.verify_release import Folder, in_payload, strict_json

CONVERSION, MAX_MANIFEST_BYTES = "conversion_manifest.json", 512 * 2**20
MAX_REASONS = 12


@dataclass(frozen=True)
class Payload:
    """Facts about a tree, as JSON values with stable pointers; `digest` is the payload digest."""

    digest: str
    facts: Mapping[str, Any]


def measure(root: Path, entries: Iterable[Entry]) -> Payload:
    """The Payload of a tree whose files are known. Raises ContainerFault for a safetensors file that can't be read."""
    rows = [e for e in entries if in_payload(e.path)]
    files = {"count": len(rows), "bytes": sum(e.size for e in rows)}
    facts = {"files": files, "weights": weight_facts(root, rows), **conversion_facts(root, rows)}
    return Payload(manifest.payload_digest(rows), facts)


def conversion_facts(root: Path, entries: Iterable[Entry]) -> dict[str, Any]:
    """`conversion`: the totals of conversion_manifest.json, where there is one."""
    if not any(e.path == CONVERSION for e in entries):
        return {}
    try:
        value = strict_json(Folder(root).read(CONVERSION, MAX_MANIFEST_BYTES))
        facts = {**value["totals"], "format": value["format"], "arithmetic": value["arithmetic"]}
        return {"conversion": {**facts, "kept": kept_by_reason(value["kept"], value["tensors"])}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def kept_by_reason(kept: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Modules that could have been quantised and were not: reason, number of modules, parameters; the most parameters first.

    Reasons that name a module are many and small: beyond MAX_REASONS they are counted together.
    """
    elements = {row["name"]: prod(row["shape"]) for row in rows if row["relation"] in ("identical", "renamed")}
    modules: Counter[str] = Counter(kept.values())
    parameters: Counter[str] = Counter()
    for module, reason in kept.items():
        parameters[reason] += elements.get(f"{module}.weight", 0)
    order = sorted(modules, key=lambda reason: (-parameters[reason], reason))
    found = [{"reason": reason, "modules": modules[reason], "parameters": parameters[reason]} for reason in order[:MAX_REASONS]]
    if rest := order[MAX_REASONS:]:
        found.append({"reason": "other reasons", "modules": sum(modules[r] for r in rest), "parameters": sum(parameters[r] for r in rest)})
    return found


def weight_facts(root: Path, entries: Iterable[Entry]) -> dict[str, Any]:
    """`files`, `bytes`, `tensors`, `parameters` (elements), `dtypes` {dtype: {tensors, parameters, bytes}} of the weights."""
    rows = [e for e in entries if e.role == "weights"]
    shards = [e for e in rows if e.path.endswith(".safetensors")]
    tensors: Counter[str] = Counter()
    parameters: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for shard in shards:
        for tensor in header_of(root / shard.path).tensors:
            tensors[tensor.dtype] += 1
            parameters[tensor.dtype] += tensor.elements
            size[tensor.dtype] += tensor.size
    by_dtype = {d: {"tensors": tensors[d], "parameters": parameters[d], "bytes": size[d]} for d in sorted(tensors)}
    return {
        "files": len([e for e in rows if not e.path.endswith(".json")]),
        "bytes": sum(e.size for e in rows if not e.path.endswith(".json")),
        "tensors": sum(tensors.values()),
        "parameters": sum(parameters.values()),
        "dtypes": by_dtype,
    }


def header_of(path: Path) -> weights.Header:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return weights.read_header(fd)
    finally:
        os.close(fd)
