"""Quantisation as config files declare it and as tensors lie on disk, one value for both: see Scheme, Layout and Quantised.

    scheme = read(config)                    what config.json says: groups, layouts, exclusions (None: not quantised)
    scheme.groups[0].layout.tensors(shape)   {leaf: (dtype, shape)} of the tensors of one linear: to check, or to write
    release.quantised                        the declared and the found, module by module, for the checks

One module a method: block_fp8, compressed_tensors, modelopt; other.py for those that are only recognised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hubrelease.quantisation import block_fp8, compressed_tensors, modelopt, other
from hubrelease.quantisation.scheme import Scheme, mapping, text_of

CONFIG, MODELOPT_CONFIG = "config.json", "hf_quant_config.json"
TEXT_PARTS = ("text_config", "llm_config", "language_config")


def blocks(config: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(pointer, block) of every quantisation block of a config.json, the one that readers take first."""
    for key in ("quantization_config", "compression_config", "quantization"):
        if block := mapping(config.get(key)):
            yield f"/{key}", block
    for part in TEXT_PARTS:
        if block := mapping(mapping(config.get(part)).get("quantization_config")):
            yield f"/{part}/quantization_config", block


def read(config: Mapping[str, Any], second: Mapping[str, Any] | None = None, folder: str = "") -> Scheme | None:
    """The Scheme of a config.json, or else of the hf_quant_config.json beside it; None where there is none, or of an unknown method."""
    inner = mapping(mapping(second).get("quantization"))
    for pointer, block in blocks(config):
        if "quant_algo" in block and modelopt.group_size_of(block) is None and "group_size" in inner:
            scheme = read_block({**block, "group_size": inner["group_size"]}, folder + CONFIG, pointer)  # it stands in the second file only
        else:
            scheme = read_block(block, folder + CONFIG, pointer)
        if scheme is None or scheme.method != "modelopt" or not needs_second(block, inner):
            return replace(scheme, scope="language_model") if scheme and pointer.count("/") > 1 else scheme
    return modelopt.read(inner, folder + MODELOPT_CONFIG, "/quantization") if inner else None


def needs_second(block: Mapping[str, Any], inner: Mapping[str, Any]) -> bool:
    """vLLM takes hf_quant_config.json where config.json is MIXED_PRECISION without its map."""
    return bool(inner) and modelopt.algorithm_of(block) == "MIXED_PRECISION" and not mapping(block.get("quantized_layers"))


def read_block(block: Mapping[str, Any], file: str, pointer: str) -> Scheme | None:
    method = text_of(block.get("quant_method")).lower()
    if "quant_algo" in block and (method.startswith(("modelopt", "fp8")) or not method):
        return modelopt.read(block, file, pointer)
    if method in ("fp8", "mxfp8"):
        return block_fp8.read(block, file, pointer)
    if method == "compressed-tensors" or (not method and "config_groups" in block):
        return compressed_tensors.read(block, file, pointer)
    return other.read(block, file, pointer)
