"""conversion_manifest.json: what became of every tensor of the base, and the totals that a card may quote (contract.md 3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from hubrelease import __version__, canonical
from hubrelease.conversion.plan import Output
from hubrelease.formats import Sums
from hubrelease.weights import Tensor

MANIFEST = "conversion_manifest.json"
Row = dict[str, Any]


def carried(output: Output, file: str, source_file: str, sha256: str) -> Row:
    """A tensor whose bytes are the source's own."""
    relation = "identical" if output.name == output.source.name else "renamed"
    return {**head(output, file, relation), "sha256": sha256, "source": origin(output.source, source_file, sha256)}


def made(output: Output, file: str, source_file: str, sha256: str, source_sha256: str, sums: Sums | None) -> Row:
    """A tensor that quantising made: the codes carry the error of the round trip, its scales point to the same source."""
    relation = "scale" if sums is None else "quantized"
    error = {"error": errors_of(sums)} if sums is not None else {}
    return {**head(output, file, relation), "sha256": sha256, "source": origin(output.source, source_file, source_sha256), **error}


def dropped(tensor: Tensor, source_file: str, sha256: str, reason: str) -> Row:
    return {"name": tensor.name, "relation": "dropped", "reason": reason, "source": origin(tensor, source_file, sha256)}


def head(output: Output, file: str, relation: str) -> Row:
    return {"name": output.name, "file": file, "relation": relation, "dtype": output.dtype, "shape": list(output.shape)}


def origin(tensor: Tensor, file: str, sha256: str) -> Row:
    return {"file": file, "tensor": tensor.name, "dtype": tensor.dtype, "shape": list(tensor.shape), "sha256": sha256}


def errors_of(sums: Sums) -> Row:
    """relativeFrobenius = norm of (dequantised - source) over the norm of the source; maxScaleUnits in units of the step."""
    return {"relativeFrobenius": rounded(sums.relative), "maxScaleUnits": rounded(sums.largest)}


def rounded(value: float) -> float:
    """Six significant digits. The sums behind it are exact, so every path and machine gives the same."""
    return float(f"{value:.6g}")


def manifest(form: str, arithmetic: str, rows: Iterable[Row], kept: Mapping[str, str]) -> bytes:
    """The bytes of conversion_manifest.json."""
    tensors = sorted(rows, key=lambda row: (row["name"], row["relation"]))
    value = {"schemaVersion": 1, "format": form, "arithmetic": arithmetic, "hubrelease": __version__, "tensors": tensors,
             "kept": dict(sorted(kept.items())), "totals": totals(tensors)}  # fmt: skip
    return canonical.dumps(value)


def totals(rows: Iterable[Row]) -> dict[str, Any]:
    """parameters (elements of the base that are kept), quantizedParameters and their share, bits per parameter, tensors by relation."""
    counts: dict[str, int] = {}
    parameters = quantised = size = 0
    for row in rows:
        counts[row["relation"]] = counts.get(row["relation"], 0) + 1
        if row["relation"] == "dropped":
            continue
        size += math.prod(row["shape"]) * bits(row["dtype"])
        if row["relation"] != "scale":
            elements = math.prod(row["source"]["shape"])
            parameters += elements
            quantised += elements if row["relation"] == "quantized" else 0
    share = quantised / parameters if parameters else 0.0
    return {
        "parameters": parameters,
        "quantizedParameters": quantised,
        "quantizedShare": rounded(share),
        "unquantizedShare": rounded(1 - share),
        "bitsPerParameter": rounded(size / parameters) if parameters else 0.0,
        "bytes": size // 8,
        "tensors": dict(sorted(counts.items())),
    }


def bits(dtype: str) -> int:
    from hubrelease.weights import BITS

    return BITS[dtype]
