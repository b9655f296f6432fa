"""The dtype that config.json declares is not the one of the weights.

Why it matters: loading with dtype="auto" converts every weight: bfloat16 to float16 may overflow, float32 costs twice the memory.
Mend: Write the dtype that the tensors have, or save them in the declared one.
Source: h2oai/h2o-llmstudio issue 702.

Counted are matrices in a plain floating dtype, by elements; what is quantised has its own declaration.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import Model
from hubrelease.release import Release

DTYPES = {"float16": "F16", "half": "F16", "bfloat16": "BF16", "float32": "F32", "float": "F32", "float64": "F64"}
QUANTISED_BESIDE = ("scales", "biases", "weight_scale", "weight_scale_inv", "weight_scale_2", "weight_zero_point")


def run(release: Release) -> Iterator[Problem]:
    for model in release.models:
        for pointer, said in declared(model):
            counts = elements_by_dtype(model)
            most = max(counts, key=lambda dtype: counts[dtype], default=None)
            wanted = DTYPES.get(said.removeprefix("torch."))
            if wanted and most and most != wanted and counts.get(wanted, 0) * 2 < sum(counts.values()):
                shares = ", ".join(f"{dtype} {count:,}" for dtype, count in sorted(counts.items()))
                message = f"is {said}, and most weights are {most} (elements of unquantised matrices: {shares})"
                mend = "write the dtype that the tensors have, or save them in the declared one"
                yield CHECK.problem(Where(model.config_file, pointer=pointer), message, mend, severity="warning")


def declared(model: Model) -> Iterator[tuple[str, str]]:
    """(pointer, dtype): `dtype` is the newer name of `torch_dtype`; a nested config's counts only where the outer says nothing."""
    holders = (("", model.config), *((f"/{k}", v) for k, v in model.config.items() if v is model.text and v is not model.config))
    for place, holder in holders:
        for key in ("dtype", "torch_dtype"):
            if isinstance(holder.get(key), str):
                yield f"{place}/{key}", holder[key]
                return


def elements_by_dtype(model: Model) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, tensor in model.tensors.items():
        plain = tensor.dtype in ("BF16", "F16", "F32", "F64") and len(tensor.shape) > 1
        if plain and not name.endswith(QUANTISED_BESIDE):
            counts[tensor.dtype] = counts.get(tensor.dtype, 0) + tensor.elements
    return {dtype: count for dtype, count in counts.items() if count}


CHECK = Check("HR309", "dtype-mismatch", "dtype other than declared", run)
