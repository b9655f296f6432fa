"""Which modules are quantised: by name pattern, by what a module is, by what the format can hold. Each no has a reason.

Patterns are globs over the dots of a module's name: `*` stays between two dots, `**` crosses them. A pattern that fits
nothing is a problem, and so is one that would quantise an embedding, a head, a norm or a router.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hubrelease.errors import Problem, Where, problem
from hubrelease.glob_paths import matches
from hubrelease.weights import Tensor

WEIGHT = ".weight"
PLAIN_DTYPES = ("BF16", "F16", "F32")

LAST = {  # what a module is by the last word of its name, as public checkpoints write it
    "is an output head": "lm_head|embed_out|output|score|classifier|pooler|qa_outputs",
    "is an embedding": "[a-z0-9_]*embed[a-z0-9_]*|wte|wpe|shared|relative_attention_bias",
    "is a norm": "[a-z0-9_]*norm[0-9a-z_]*|ln_?[a-z0-9]*|LayerNorm|layernorm[a-z0-9_]*",
    "is a router": "router|gate|gate_network|shared_expert_gate|wg",
}
PROTECTED = (
    *((why, re.compile(rf"(^|\.)({words})$")) for why, words in LAST.items()),
    ("is an embedding", re.compile(r"(^|\.)patch_embed(\.proj)?$")),
    ("is an output head", re.compile(r"(^|\.)(pooler\.dense|cls\..*|classifier\..*)$")),
)
VISION = "visual|vision_tower|vision_model|vision_encoder|multi_modal_projector|mm_projector|image_newline|connector"
SENSITIVE = (  # what stays in the base's dtype although it could be quantised
    ("belongs to the vision part", re.compile(rf"(^|\.)({VISION})(\.|$)")),
    ("belongs to the audio part", re.compile(r"(^|\.)(audio_tower|audio_model|audio_encoder)(\.|$)")),
    ("is a convolution", re.compile(r"(^|\.)(conv1d|conv|short_conv)$")),
    ("is a small projection of linear attention", re.compile(r"(^|\.)(in_proj_(a|b|ba)|dt_proj|x_proj|b_proj|[fg]_[ab]_proj)$")),
    ("joins the MTP layer to the model", re.compile(r"(^|\.)(mtp\.fc|eh_proj)$")),
    ("is part of the sparse-attention indexer", re.compile(r"(^|\.)indexer\.")),
)


IN_MEMORY = (  # names that transformers 5.24.0 gives modules when it loads them (conversion_mapping.py): exclusions are held against these
    (re.compile(r"\.self_attn\.(f_[ab]_proj)$"), r".self_attn.forget_gate.\1"),  # glm5_next
)


@dataclass(frozen=True)
class Choice:
    """The modules that are quantised, in order of name, and for every other matrix the reason why not."""

    quantised: tuple[str, ...]
    kept: Mapping[str, str]


@dataclass(frozen=True)
class Wishes:
    """Patterns of the publisher: `include` None takes the format's own default."""

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


def modules(tensors: Iterable[Tensor]) -> dict[str, Tensor]:
    """{module: its weight} of everything that is stored as NAME.weight."""
    return {t.name.removesuffix(WEIGHT): t for t in tensors if t.name.endswith(WEIGHT)}


def stacked(tensors: Iterable[Tensor]) -> dict[str, str]:
    """{module: why it stays} of experts that lie in one tensor, without `.weight`: such a tensor is carried as it is."""
    names = (t.name for t in tensors if len(t.shape) > 2 and ".experts." in f".{t.name}" and not t.name.endswith(WEIGHT))
    return {name.rpartition(".")[0]: "holds several experts in one tensor" for name in names}


def also_known(modules: Iterable[str]) -> Iterator[str]:
    """The names of `modules` in memory, where they have others there."""
    for module in modules:
        for pattern, name in IN_MEMORY:
            if pattern.search(module):
                yield pattern.sub(name, module)


def fits(module: str, patterns: Iterable[str]) -> bool:
    path = module.replace(".", "/")
    return any(matches(path, pattern.replace(".", "/")) for pattern in patterns)


def protected(module: str) -> str | None:
    return next((why for why, pattern in PROTECTED if pattern.search(module)), None)


def sensitive(module: str) -> str | None:
    return next((why for why, pattern in SENSITIVE if pattern.search(module)), None)


def choose(tensors: Mapping[str, Tensor], wishes: Wishes, default: Sequence[str], fused: Sequence[Sequence[str]],
           refusal: object) -> Choice:  # fmt: skip
    """The Choice over {module: weight}. `refusal(module, dtype, shape)` is the format's own; `fused` its sibling groups."""
    kept = {m: why for m, t in tensors.items() if (why := reason_against(m, t, wishes, default, refusal))}
    chosen = set(tensors) - set(kept)
    for group in fused_groups(tensors, fused):
        if chosen & set(group) and not set(group) <= chosen:  # readers that fuse siblings need all of them alike
            odd = next(m for m in group if m not in chosen)
            for module in chosen & set(group):
                kept[module] = f"its sibling {odd} can't be quantised: {kept[odd]}"
            chosen -= set(group)
    return Choice(tuple(sorted(chosen)), kept)


def reason_against(module: str, tensor: Tensor, wishes: Wishes, default: Sequence[str], refusal: object) -> str | None:
    if why := protected(module):
        return why
    if fits(module, wishes.exclude):
        return "is excluded by the publisher"
    if wishes.include is not None:
        if not fits(module, wishes.include):
            return "is not included by the publisher"
    elif why := sensitive(module):
        return why
    elif default and not fits(module, default):
        return "is not of the kind that this format takes"
    found = refusal(module, tensor.dtype, tensor.shape)  # type: ignore[operator]
    return str(found) if found else None


def fused_groups(tensors: Iterable[str], fused: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Modules that readers fuse into one matrix: those of a group of suffixes under one parent, where two or more are there."""
    group_of = {suffix: suffixes for suffixes in fused for suffix in suffixes}
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for module in sorted(tensors):
        parent, _, last = module.rpartition(".")
        if last in group_of:
            found.setdefault((parent, tuple(group_of[last])), []).append(module)
    yield from (tuple(members) for members in found.values() if len(members) > 1)


def pattern_problems(tensors: Mapping[str, Tensor], wishes: Wishes, where: Where) -> Iterator[Problem]:
    """Patterns that fit nothing, and included modules that must never be quantised."""
    for pattern in (*(wishes.include or ()), *wishes.exclude):
        if not any(fits(module, (pattern,)) for module in tensors):
            yield problem("weights-unusable", where, f'the pattern "{pattern}" fits no module', "correct it, or remove it")
    for pattern in wishes.include or ():
        for module in (m for m in tensors if fits(m, (pattern,))):
            if why := protected(module):
                mend = "narrow the pattern; quantising it breaks the model"
                yield problem("weights-unusable", where, f'the pattern "{pattern}" would quantise {module}, which {why}', mend)
                break
