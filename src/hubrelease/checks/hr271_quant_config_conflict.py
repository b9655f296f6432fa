"""hf_quant_config.json and the block in config.json say different things.

Why it matters: TensorRT-LLM reads the one, vLLM and transformers the other: the same weights are loaded in two ways.
Mend: Write both files from one export.
Source: vLLM 0.32.0 transformers_utils/config.py; ModelOpt 0.47.0 export/convert_hf_config.py.

Algorithm, group size and layer map: an error. Exclusions and KV cache: a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hubrelease import quantisation
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation import modelopt
from hubrelease.quantisation.found import few
from hubrelease.quantisation.scheme import mapping, shown, text_of
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        outer, inner = next(quantisation.blocks(found.config), None), mapping(found.second.get("quantization"))
        if outer is None or not inner:
            continue
        file = found.prefix + quantisation.MODELOPT_CONFIG
        for key, message, severity in differences(outer[1], inner):
            yield CHECK.problem(Where(file, pointer=f"/quantization/{key}"), message, "write both files from one export", severity)


def differences(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(key of hf_quant_config.json, sentence, severity)."""
    first, second = (text_of(block.get("quant_algo")).upper() for block in (outer, inner))
    method = text_of(outer.get("quant_method"))
    if first != second and (first or not method.startswith(("modelopt", "fp8"))):
        yield "quant_algo", f"is {shown(second)}, config.json says {shown(first or method)}", "error"
        return
    sizes = [modelopt.group_size_of(block) for block in (outer, inner)]
    if None not in sizes and sizes[0] != sizes[1]:
        yield "group_size", f"is {sizes[1]}, config.json says {sizes[0]}", "error"
    yield from map_differences(mapping(outer.get("quantized_layers")), mapping(inner.get("quantized_layers")))
    yield from list_differences(outer.get("ignore"), inner.get("exclude_modules"))
    caches = [modelopt.kv_algorithm(block) for block in (outer, inner)]
    if caches[0] != caches[1] and ("kv_cache_quant_algo" in inner or "kv_cache_scheme" in inner):
        yield "kv_cache_quant_algo", f"is {shown(caches[1] or 'none')}, config.json says {shown(caches[0] or 'none')}", "warning"


def map_differences(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    if not outer or not inner:
        return
    algorithms = [{key: text_of(mapping(value).get("quant_algo")).upper() for key, value in layers.items()} for layers in (outer, inner)]
    if differing := sorted(key for key in algorithms[0].keys() | algorithms[1].keys() if algorithms[0].get(key) != algorithms[1].get(key)):
        yield "quantized_layers", f"differs from config.json in {few(differing)}", "error"


def list_differences(outer: object, inner: object) -> Iterator[tuple[str, str, str]]:
    if isinstance(outer, list) and isinstance(inner, list):
        differing = sorted({text for text in outer if isinstance(text, str)} ^ {text for text in inner if isinstance(text, str)})
        if differing:
            yield "exclude_modules", f"differs from `ignore` of config.json in {few(differing)}", "warning"


CHECK = Check("HR271", "quant-config-conflict", "two quantisation configs that disagree", run)
