"""A draft model does not fit its target, or its own tensors.

Why it matters: the server fails at start, or drafts from the wrong layers: every token is rejected and serving gets slower.
Mend: Take the draft that was made for this target, at the revision that was measured, or correct the field.
Source: vllm 0.32.0 models/qwen3_dflash.py and v1/worker/gpu/spec_decode; speculators models/dflash/config.py (commit c05b95b).
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.drafts import Draft, drafts, targets
from hubrelease.errors import Problem, Where
from hubrelease.models import Model, as_size
from hubrelease.release import Release

MEND = "take the draft that was made for this target, or correct the field"


def run(release: Release) -> Iterator[Problem]:
    beside = targets(release)
    for draft in drafts(release):
        rows = [*layers(draft), *tokens(draft), *inputs(draft), *(against(draft, beside[0]) if len(beside) == 1 else ())]
        for pointer, message in rows:
            yield CHECK.problem(Where(draft.model.config_file, pointer=pointer), message, MEND)


def layers(draft: Draft) -> Iterator[tuple[str, str]]:
    """Each target layer once, and one that the target has."""
    found, count = draft.either("target_layer_ids"), as_size(draft.config.get("num_target_layers"))
    if found is None:
        return
    pointer, ids = found
    if not isinstance(ids, list) or not ids or not all(type(n) is int for n in ids):
        yield pointer, f"is {str(ids)[:60]}, not a list of layer numbers"
    elif len(set(ids)) != len(ids):
        yield pointer, f"names a layer twice: {str(ids)[:80]}"
    elif count and not all(0 <= n < count for n in ids):
        yield pointer, f"names layer {next(n for n in ids if not 0 <= n < count)}, and num_target_layers is {count}"


def tokens(draft: Draft) -> Iterator[tuple[str, str]]:
    found, rows = draft.either("mask_token_id"), as_size(draft.config.get("vocab_size"))
    if found and rows and type(found[1]) is int and not 0 <= found[1] < rows:
        yield found[0], f"is {found[1]}, and vocab_size is {rows}"
    if (block := draft.either("block_size")) and not as_size(block[1], 10_000):
        yield block[0], f"is {str(block[1])[:40]}, not a number of tokens"


def inputs(draft: Draft) -> Iterator[tuple[str, str]]:
    """fc takes the hidden states of all the target layers side by side."""
    found, hidden, tensor = draft.either("target_layer_ids"), draft.target_hidden, draft.model.tensors.get("fc.weight")
    if found and hidden and tensor and isinstance(found[1], list) and len(tensor.shape) == 2 and tensor.shape[1] != len(found[1]) * hidden:
        yield found[0], f"has {len(found[1])} layers of {hidden}, and fc.weight takes {tensor.shape[1]} inputs"


def against(draft: Draft, target: Model) -> Iterator[tuple[str, str]]:
    """The fields that say what the target is."""
    rows = (
        ("/vocab_size", draft.config.get("vocab_size"), target.text.get("vocab_size")),
        ("/num_target_layers", draft.config.get("num_target_layers"), target.text.get("num_hidden_layers")),
        (
            "/target_hidden_size" if "target_hidden_size" in draft.config else "/hidden_size",
            draft.target_hidden,
            target.text.get("hidden_size"),
        ),
    )
    for pointer, said, wanted in rows:
        if as_size(said) and as_size(wanted) and said != wanted:
            yield pointer, f"is {said}, and the target in this release ({target.config_file}) has {wanted}"


CHECK = Check("HR340", "draft-mismatch", "draft that does not fit", run)
