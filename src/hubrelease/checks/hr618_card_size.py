"""The card's text gives a size, or a number of shards, parameters, tensors or quantised weights that the files do not have.

Why it matters: people plan disks and downloads by it; and a wrong count says that the card was written for another build.
Mend: Take the figures from the headers, or let the card be rendered from the payload.
Source: contract, section 3: what the payload has is computed from its headers. A warning, but for the
sentence that hubrelease's own template writes; sizes may be off by a tenth (a file's by a quarter), in decimal or binary units.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.facts import byte_text
from hubrelease.release import Release
from hubrelease.size_claims import SizeClaim, bytes_of, size_claims

MEND = "take the figure from the files, or render the card again"
FLOATS = frozenset(("F64", "F32", "F16", "BF16"))
PACKED = (".weight_packed", ".qweight")
EIGHT_BITS = frozenset(("F8_E4M3", "F8_E5M2", "I8", "U8", "F4"))


def run(release: Release) -> Iterator[Problem]:
    if release.card is None or release.missing or release.partial:
        return
    for claim in size_claims(release.card):
        found = fault_of(release, claim)
        if found:
            severity = "error" if claim.kind.startswith("own ") else "warning"
            yield CHECK.problem(Where(FILE, claim.line), found, MEND, severity)


def fault_of(release: Release, claim: SizeClaim) -> str | None:
    if claim.kind == "file":
        return file_fault(release, claim)
    if claim.kind == "size":
        return size_fault(release, claim)
    if claim.kind.startswith("own "):
        return own_fault(release, claim)
    counts = {kind: count for kind, count in COUNTS.items() if kind == claim.kind}
    found = next((count(release) for count in counts.values()), set())
    said = int(claim.value.replace(",", ""))
    if not found or said in found:
        return None
    return f"the text says {claim.value} {claim.kind}, and the files have {' or '.join(f'{n:,}' for n in sorted(found))}"


def own_fault(release: Release, claim: SizeClaim) -> str | None:
    """Against all weights of the release, as the template counts them."""
    weights = [path for path, entry in release.result.entries.items() if entry.kind == "file" and path in weight_files(release)]
    tensors = [t for path in weights if (c := release.containers.all.get(path)) and c.header for t in c.header.tensors]
    if not weights or any(c.header is None for path in weights if (c := release.containers.all.get(path))):
        return None
    size = sum(release.result.entries[path].size for path in weights)
    kind = claim.kind.removeprefix("own ")
    counted = {"tensors": f"{len(tensors):,}", "parameters": f"{sum(t.elements for t in tensors):,}", "files": f"{len(weights):,}"}
    found = {**counted, "size": byte_text(Decimal(size))}[kind]
    return None if found == claim.value else f"the text says {claim.value} for the {kind} of the weights, and the files have {found}"


def weight_files(release: Release) -> set[str]:
    roles = {subject.name: subject.role for subject in release.result.provenance.subjects}
    return {path for path in release.files if roles.get(path) == "weights" and not path.endswith(".json")}


def file_fault(release: Release, claim: SizeClaim) -> str | None:
    entry = release.result.entries.get(claim.subject)
    if entry is None or entry.kind != "file" or is_near(claim.value, entry.size, Decimal("0.25")):
        return None
    return f"{claim.subject[:80]} is given as {claim.value}, and has {byte_text(Decimal(entry.size))}"


def size_fault(release: Release, claim: SizeClaim) -> str | None:
    sizes = {path: entry.size for path, entry in release.result.entries.items() if entry.kind == "file"}
    weights = sum(size for path, size in sizes.items() if path.endswith((".safetensors", ".gguf", ".bin", ".pt", ".pth", ".onnx")))
    main = release.containers.main
    inside = sum(sizes.get(path, 0) for path in main.files) if main else weights
    known = {size for size in (weights, inside, sum(sizes.values())) if size}
    if not weights or any(is_near(claim.value, size, Decimal("0.1")) for size in known):
        return None
    return f"the text says {claim.value}, and the weights have {byte_text(Decimal(weights))}"


def is_near(text: str, size: int, tolerance: Decimal) -> bool:
    return any(abs(said - size) <= tolerance * max(said, Decimal(size)) for said in bytes_of(text))


def shard_counts(release: Release) -> set[int]:
    main = release.containers.main
    return {len(main.files)} if main and main.index else set()


def tensor_counts(release: Release) -> set[int]:
    main = release.containers.main
    everything = sum(len(c.header.tensors) for c in release.containers.all.values() if c.header)
    return {len(main.tensors), everything} if main else set()


def parameter_counts(release: Release) -> set[int]:
    """Elements of an unquantised model; a packed one can't be counted by its elements."""
    main = release.containers.main
    if main is None or not main.tensors or any(located.tensor.dtype not in FLOATS for located in main.tensors.values()):
        return set()
    stated = main.index.metadata.get("total_parameters") if main.index else None
    total = sum(located.tensor.elements for located in main.tensors.values())
    everything = sum(t.elements for c in release.containers.all.values() if c.header for t in c.header.tensors)
    return {total, everything, *([stated] if type(stated) is int else [])}


def quantised_counts(release: Release) -> set[int]:
    main = release.containers.main
    names = [(name, located.tensor.dtype) for name, located in main.tensors.items()] if main else []
    count = sum(name.endswith(PACKED) or (name.endswith(".weight") and dtype in EIGHT_BITS) for name, dtype in names)
    return {count} if count else set()


COUNTS = {"shards": shard_counts, "tensors": tensor_counts, "parameters": parameter_counts, "quantised": quantised_counts}
CHECK = Check("HR618", "card-size", "size or count that the files do not have", run)
