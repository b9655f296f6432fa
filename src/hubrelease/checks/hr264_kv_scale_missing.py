"""The config promises a statically quantised KV cache, but layers have no k_scale and v_scale.

Why it matters: Runtimes then use 1.0 without a word, and long contexts lose accuracy or overflow.
Mend: Calibrate and store the scales, or drop the KV-cache scheme from the config.
Source: NVIDIA-NeMo/RL PR 3615; sgl-project/sglang PR 35455.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few
from hubrelease.release import Release

KEYS = ("kv_cache_scheme", "kv_cache_quant_algo")
PROJECTIONS = ("k_proj", "kv_b_proj", "kv_a_proj_with_mqa", "qkv_proj", "kv_proj", "c_attn", "query_key_value", "wk", "wkv")
MEND = "calibrate and store the scales, or drop the KV-cache scheme"


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        scheme = found.scheme
        if scheme is None or not scheme.static_kv or not found.complete:
            continue
        layers, scaled = attention_layers(found)
        if bare := sorted(layers - scaled):
            key = next((key for key in KEYS if key in scheme.block), KEYS[0])
            message = (
                f"promises a static KV cache, but {len(bare)} of {len(layers)} attention layers have no k_scale and v_scale: {few(bare)}"
            )
            yield CHECK.problem(Where(scheme.file, pointer=f"{scheme.pointer}/{key}"), message, MEND, "warning")


def attention_layers(found: Quantised) -> tuple[set[str], set[str]]:
    """(attention modules, those with a scale of keys and one of values)."""
    layers = {name.rpartition(".")[0] for name in found.declared if name.rpartition(".")[2] in PROJECTIONS and ".layers." in name}
    layers = {name for name in layers if not any(word in name for word in ("visual", "vision", "audio", "mtp"))}
    seen: dict[str, set[str]] = {}
    for name, module in found.modules.items():
        leaves = module.parts.keys()
        tail = name.rpartition(".")[2]
        kinds = {kind for kind in "kv" if f"{kind}_scale" in leaves or (tail.startswith(f"{kind}_proj") and "output_scale" in leaves)}
        if kinds:
            for owner in (name, name.rpartition(".")[0]):
                seen.setdefault(owner, set()).update(kinds)
    return layers, {name for name in layers if seen.get(name) == {"k", "v"} or latent(name, found, seen)}


def latent(name: str, found: Quantised, seen: dict[str, set[str]]) -> bool:
    """Latent attention (MLA) caches one vector for both: one scale is enough."""
    return bool(seen.get(name)) and any(f"{name}.{leaf}" in found.modules for leaf in ("kv_a_proj_with_mqa", "kv_b_proj"))


CHECK = Check("HR264", "kv-scale-missing", "KV-cache scheme without scales", run)
