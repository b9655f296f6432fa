"""The config declares a quantisation, and no tensor is quantised: it was left behind by a merge or a dequantise.

Why it matters: Readers look for codes and scales that are not there, or quantise weights once more that were meant to be whole.
Mend: Remove the block from the config (and hf_quant_config.json), or ship the quantised weights.
Source: huggingface/transformers issue 34847; unslothai/unsloth issues 1601 and 105; ml-explore/mlx-lm issue 223.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease import quantisation
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation import other
from hubrelease.quantisation.found import Quantised
from hubrelease.quantisation.modules import QUANTISED_DTYPES
from hubrelease.quantisation.scheme import mapping, shown, text_of
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        if found.complete and found.weights.tensors and not any_quantised(found):
            yield from problems(found)


def problems(found: Quantised) -> Iterator[Problem]:
    blocks = [(found.config_file, pointer, block) for pointer, block in quantisation.blocks(found.config)]
    if inner := mapping(found.second.get("quantization")):
        blocks.append((found.prefix + quantisation.MODELOPT_CONFIG, "/quantization", inner))
    for file, pointer, block in blocks:
        if unquantised_on_purpose(block):
            continue
        method = text_of(block.get("quant_method")) or text_of(block.get("quant_algo")) or "a quantisation"
        dtypes = ", ".join(sorted({located.tensor.dtype for located in found.weights.tensors.values()}))
        message = f"declares {shown(method)}, but no tensor is quantised: all are {dtypes}"
        yield CHECK.problem(Where(file, pointer=pointer), message, "remove the block, or ship the quantised weights")


def any_quantised(found: Quantised) -> bool:
    return any(t.tensor.dtype in QUANTISED_DTYPES and t.tensor.elements > 1 for t in found.weights.tensors.values())


def unquantised_on_purpose(block: object) -> bool:
    """Blocks that ask for quantisation while loading, that only describe the KV cache, or that say the weights were decompressed."""
    value = mapping(block)
    if other.is_on_the_fly(value) or value.get("quantization_status") in ("decompressed", "frozen") or value.get("format") == "dense":
        return True
    if not mapping(value.get("config_groups")) and any(
        value.get(key) for key in ("sparsity_config", "kv_cache_scheme", "transform_config")
    ):
        return True
    groups = [mapping(group) for group in mapping(value.get("config_groups")).values()]
    no_weights = bool(groups) and all(group.get("weights") is None for group in groups)
    return no_weights or ("quant_algo" in value and value["quant_algo"] is None) or method_without_codes(value)


def method_without_codes(value: dict[str, object] | object) -> bool:
    """Methods whose codes are not integers: HIGGS, BitNet and others keep them as floats."""
    known = (
        "fp8", "mxfp8", "mxfp4", "compressed-tensors", "awq", "gptq", "bitsandbytes", "fbgemm_fp8", "eetq", "auto-round", "torchao",
        "quanto",
    )  # fmt: skip
    block = mapping(value)
    method = text_of(block.get("quant_method")).lower()
    return bool(method) and method not in known and not method.startswith("modelopt")


CHECK = Check("HR265", "stale-quant-config", "quantisation config without quantised weights", run)
