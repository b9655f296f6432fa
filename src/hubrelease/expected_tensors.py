"""A model's tensors held against what its architecture expects: what is missing, misshapen, or not expected at all.

A quantised module counts as present whatever its format calls its tensors, and its shape is taken for the logical one
only where the format keeps it. What is like a missing tensor but for its prefix is a near match, told with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from hubrelease.architectures import Expected, Family, Names, Shape, Sizes, Unknown, family_of
from hubrelease.models import MTP_WORDS, Model
from hubrelease.weights import Tensor

LIMIT = 2_000_000  # tensors that a config may promise; the largest models have 100,000
LOGICAL = frozenset(("BF16", "F16", "F32", "F64", "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"))
BUFFERS = ("inv_freq", "masked_bias", "position_ids", "num_batches_tracked", "cos_cached", "sin_cached", "scaled_fp8")
COMPANIONS = ("_scale", "_scales", "scale", "scales", "_scale_inv", "_scale_2", "zero_point", "zeros", "_shape", "g_idx")
WRAPPERS = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_forward_module.", "\nmodule.", "\nbase_model.model.")
WRAPPER = re.compile(r"(^|\.)(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module|_forward_module)\.|^(module|base_model\.model)\.")
NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


@dataclass(frozen=True)
class Comparison:
    """`near` maps an unexpected name to the missing tensor that it is like; those are not in `unexpected`."""

    family: Family
    wanted: int
    missing: tuple[Expected, ...]
    misshapen: tuple[tuple[Expected, Tensor], ...]
    unexpected: tuple[str, ...]
    near: dict[str, Expected] = field(repr=False)


def compare(model: Model) -> Comparison | None:
    """None where nothing is known of the architecture, or the weights are not all here."""
    family = family_of(model.model_type, model.architecture)
    if family is None or not model.whole or (model.is_mlx and family.stacks):
        return None
    names = Names(model.names, model.parents)
    try:
        expected = list(islice(family.tensors(Sizes(model.config), names), LIMIT + 1))
    except Unknown:
        return None
    if len(expected) > LIMIT:
        return None
    missing = tuple(e for e in expected if e.required and not names.has(e.name))
    unexpected = tuple(sorted(unexpected_names(model, expected))) if family.closed or missing else ()
    near = near_matches(unexpected, missing)
    rest = tuple(n for n in unexpected if n not in near) if family.closed else ()
    return Comparison(family, len(expected), missing, tuple(misshapen(model, expected)), rest, near)


def expected_weights(model: Model) -> dict[str, Shape]:
    """{module: logical shape of its weight} as the architecture has it; empty where it is not known."""
    family = family_of(model.model_type, model.architecture)
    if family is None:
        return {}
    try:
        found = islice(family.tensors(Sizes(model.config), Names(model.names, model.parents)), LIMIT)
        return {e.name.removesuffix(".weight"): e.shape for e in found if e.shape and e.rest.endswith(".weight")}
    except Unknown:
        return {}


def misshapen(model: Model, expected: Iterable[Expected]) -> Iterator[tuple[Expected, Tensor]]:
    """Tensors of another shape; those without elements are another check's finding, as are packed ones."""
    tensors = model.tensors
    for want in expected:
        tensor = tensors.get(want.prefix + want.rest)
        if tensor is None or want.shape is None or tensor.shape == want.shape or tensor.dtype not in LOGICAL or 0 in tensor.shape:
            continue
        if f"{want.name}.absmax" not in tensors:
            yield want, tensor


def unexpected_names(model: Model, expected: Iterable[Expected]) -> Iterator[str]:
    known = {e.prefix + e.rest for e in expected}
    layers = model.layers or 0
    for name in model.tensors.keys() - known:
        parent, _, leaf = name.rpartition(".")
        owner = name.partition(".weight.")[0] if ".weight." in name else parent  # bitsandbytes: X.weight.quant_state.…
        if leaf != "bias" and f"{owner}.weight" in known:
            continue  # what a quantisation format stores beside, or in place of, a weight
        if leaf.endswith(COMPANIONS) or ".experts." in name or name.endswith(BUFFERS) or is_mtp(name, layers):
            continue
        if 0 not in model.tensors[name].shape:
            yield name


def is_mtp(name: str, layers: int) -> bool:
    """True for a tensor of an MTP head: under a name of its own, or a layer behind the last one."""
    if any(word in name for word in MTP_WORDS):
        return True
    number = name.partition("layers.")[2].partition(".")[0]
    return number.isascii() and number.isdigit() and len(number) < 6 and int(number) >= layers


def near_matches(unexpected: Iterable[str], missing: Iterable[Expected]) -> dict[str, Expected]:
    """{unexpected name: the missing tensor whose name it ends with, prefix aside}."""
    wanted = {e.rest: e for e in missing if e.rest.count(".") > 1 or e.part == "vision" or e.rest.startswith("embed_tokens")}
    found: dict[str, Expected] = {}
    for name in unexpected if wanted else ():
        plain = WRAPPER.sub(r"\1", name)
        parts = plain.split(".")[:64]
        match = next((wanted[r] for i in range(len(parts)) if (r := ".".join(parts[i:])) in wanted), None)
        if match is not None:
            found[name] = match
    return found


def pattern(name: str) -> str:
    """The name with each number replaced: one for all layers and experts."""
    return NUMBER.sub("*", name)


def grouped(names: Iterable[str], most: int = 12) -> list[tuple[str, str, int]]:
    """[(pattern, first name, count)] of the commonest patterns; the last one stands for all further patterns."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(pattern(name), []).append(name)
    rows = [(key, found[0], len(found)) for key, found in groups.items()]
    if len(rows) <= most:
        return rows
    rest = rows[most - 1 :]
    return [*rows[: most - 1], (f"{len(rest)} further patterns", rest[0][1], sum(count for _, _, count in rest))]
