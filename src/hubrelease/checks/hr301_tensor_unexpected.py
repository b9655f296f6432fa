"""The weights hold tensors that the architecture of config.json does not have.

Why it matters: loaders drop them without a word: a prefix of a wrapper left in a name, or layers of another model, is lost.
Mend: Strip the wrapper's prefix, remove what is superseded, or correct the config that should promise the tensors.
Source: huggingface/transformers issue 45357; pytorch/pytorch torch.compile's `_orig_mod.` and FSDP's prefixes in saved names.

A warning, for unused tensors harm nothing else; an error where a wrapper's prefix hides tensors that the model needs.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.expected_tensors import WRAPPER, WRAPPERS, grouped
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for model in release.models:
        wrapped = [name for name in model.tensors if WRAPPER.search(name)] if any(w in model.all_text for w in WRAPPERS) else []
        if wrapped and model.architecture:
            plain = WRAPPER.sub(r"\1", wrapped[0])
            message = f"{len(wrapped)} tensors carry the prefix of a wrapper: {wrapped[0]} should be {plain}"
            yield CHECK.problem(Where(model.weights_file, tensor=wrapped[0]), message, "unwrap the model before saving it")
    for model, found in release.comparisons:
        others = [name for name in found.unexpected if not WRAPPER.search(name)]
        for _, first, count in grouped(others, 8):
            more = f" and {count - 1} more of its kind are" if count > 1 else " is"
            message = f"{first}{more} in the weights, and a {found.family.name} model of this config has no such tensor"
            where = Where(model.weights.tensors[first].file if model.weights else model.weights_file, tensor=first)
            yield CHECK.problem(where, message, "remove it, or correct config.json", severity="warning")


CHECK = Check("HR301", "tensor-unexpected", "unexpected tensor", run)
