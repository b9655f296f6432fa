"""conversion_manifest.json does not describe the tensors of the release.

Why it matters: it is what says, tensor by tensor, what was converted and what is the base's own; figures are computed from it.
Mend: Convert again, or build the release again.
Source: contract, section 3.

Names, files, dtypes and shapes are compared; hashes are only with the data (`verify --rederive`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hubrelease.checks import Check
from hubrelease.containers import Located
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.strict_yaml import pointer_to

FILE = "conversion_manifest.json"
RELATIONS = ("identical", "renamed", "quantized", "scale", "dropped")
MEND = "convert again, or build the release again"
MOST = 20


def run(release: Release) -> Iterator[Problem]:
    if FILE not in release.files:
        return
    value = release.json(FILE)
    rows = value.get("tensors") if isinstance(value, dict) else None
    if not isinstance(rows, list):
        yield CHECK.problem(Where(FILE, pointer="/tensors"), "is no list of tensors", MEND)
        return
    weights = release.containers.main
    here = weights.tensors if weights is not None else {}
    told = 0
    for number, row in enumerate(rows):
        if (found := fault(release, row, here)) and told < MOST:
            told += 1
            pointer, message, tensor = found
            yield CHECK.problem(Where(FILE, pointer=pointer_to("tensors", number) + pointer, tensor=tensor), message, MEND)
    yield from unlisted(rows, here)


def fault(release: Release, row: Any, here: Mapping[str, Located]) -> tuple[str, str, str | None] | None:
    """(pointer in the row, what is wrong, tensor) of a row, or None."""
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        return "", "is no row of a tensor", None
    name, relation = row["name"], row.get("relation")
    if relation not in RELATIONS:
        return "/relation", f"is {str(relation)[:40]!r}, not one of {', '.join(RELATIONS)}", name
    found = here.get(name)
    if relation == "dropped":
        return (
            None
            if isinstance(row.get("reason"), str) and row["reason"].strip()
            else ("/reason", f"{name} was dropped without a reason", name)
        )
    if found is None:
        absent = release.missing or not release.containers.main
        return None if absent else ("/name", f"{name} is in no file of the weights", name)
    for key, real in (("file", found.file), ("dtype", found.tensor.dtype), ("shape", list(found.tensor.shape))):
        if row.get(key) != real:
            return f"/{key}", f"{name} is listed with {key} {str(row.get(key))[:80]}, and is {real}", name
    return None


def unlisted(rows: list[Any], here: Mapping[str, Located]) -> Iterator[Problem]:
    names = {row.get("name") for row in rows if isinstance(row, dict) and isinstance(row.get("name"), str)}
    absent = [name for name in here if name not in names]
    if absent:
        more = f", and {len(absent) - 1} more" if len(absent) > 1 else ""
        yield CHECK.problem(Where(FILE, pointer="/tensors", tensor=absent[0]), f"does not list {absent[0]}{more}", MEND)


CHECK = Check("HR440", "conversion-manifest", "conversion manifest of other tensors", run)
