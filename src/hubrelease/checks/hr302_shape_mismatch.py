"""A tensor's shape is not the one that the sizes in config.json ask for.

Why it matters: loading stops with a size mismatch, or, with ignore_mismatched_sizes, goes on with random numbers.
Mend: Correct the sizes in config.json, or save the weights that belong to it.
Source: huggingface/peft issue 1710; huggingface/transformers modeling_utils.py (5.24.0), "size mismatch" in its load report.

Tensors without elements are `zero-size-weight`; quantised ones are held against their logical shape where the format
keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.expected_tensors import expected_weights, grouped
from hubrelease.models import Model
from hubrelease.release import Release
from hubrelease.weights import Tensor


def run(release: Release) -> Iterator[Problem]:
    for model, found in release.comparisons:
        by_name = {want.name: (tensor, list(want.shape or ())) for want, tensor in found.misshapen}
        by_name |= dict(packed(release, model))
        for _, first, count in grouped(by_name):
            tensor, wanted = by_name[first]
            more = f", and {count - 1} more of its kind differ" if count > 1 else ""
            message = f"{tensor.name} has the shape {list(tensor.shape)}, config.json asks for {wanted}{more}"
            file = model.weights.tensors[tensor.name].file if model.weights else model.weights_file
            where = Where(file, tensor=tensor.name)
            yield CHECK.problem(where, message, "correct the sizes in config.json, or save the weights that belong to it")


def packed(release: Release, model: Model) -> Iterator[tuple[str, tuple[Tensor, list[int]]]]:
    """(module, (codes, shape that they should have)) of packed modules; whose scales do not fit is another finding's."""
    quantised = next((q for q in release.quantised if q.weights.folder == model.folder), None)
    if quantised is None or not any(layout.packing != (1, 1) for layout in quantised.layouts.values()):
        return
    wanted, faulty = expected_weights(model), {fault.module.name for fault in quantised.part_faults}
    for name, layout in quantised.layouts.items():
        codes = quantised.quantised[name].codes
        if layout.packing == (1, 1) or name not in wanted or name in faulty or codes is None or 0 in codes.tensor.shape:
            continue
        if codes.tensor.shape != layout.stored(wanted[name]):
            yield name, (codes.tensor, list(layout.stored(wanted[name])))


CHECK = Check("HR302", "shape-mismatch", "shape other than the config's", run)
