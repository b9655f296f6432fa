"""NVIDIA ModelOpt: one algorithm for the whole model, or a map of layers; in config.json, hf_quant_config.json or both (formats.md E).

Names, dtypes and shapes were read from checkpoints that ModelOpt 0.47.0 exported (tests/data/headers-*.json).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hubrelease.quantisation.layout import (
    FLOATS,
    GLOBAL,
    INPUT,
    MODEL_FLOATS,
    SCALE,
    SMOOTH,
    Layout,
    Part,
    Shape,
    Shapes,
    ceil,
    codes,
    flat_per_row,
    fp4,
    fp8,
    per_column,
    per_group,
    scalar,
)  # fmt: skip
from hubrelease.quantisation.rules import modelopt_list
from hubrelease.quantisation.scheme import ConfigFault, Group, Scheme, entries_of, mapping, positive, shown, text_of

VLLM = ("FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "NVFP4", "W4A16_NVFP4", "MXFP8", "MIXED_PRECISION")
INPUT_SCALE = Part("input_scale", INPUT, FLOATS, scalar)
SMOOTHING = Part("pre_quant_scale", SMOOTH, MODEL_FLOATS, per_column, presence="optional")


def read(block: Mapping[str, Any], file: str, pointer: str) -> Scheme:
    """`block` is quantization_config of config.json, or `quantization` of hf_quant_config.json: the keys differ a little."""
    algorithm = algorithm_of(block)
    groups: tuple[Group, ...] = ()
    layers: dict[str, Layout | None] | None = None
    if algorithm == "MIXED_PRECISION":
        layers = {key: layout_of(mapping(value)) for key, value in mapping(block.get("quantized_layers")).items()}
    else:
        groups = (Group(layout_of(block), None, pointer),)
    key = "exclude_modules" if "exclude_modules" in block else "ignore"
    fp8_too = text_of(block.get("quant_method")).startswith("fp8")  # DeepSeek-V4: what the map does not name is block FP8
    layouts = list(layers.values()) if layers is not None else [group.layout for group in groups]
    return Scheme(
        "modelopt", file, pointer, block, groups, () if fp8_too else entries_of(block, key, pointer), modelopt_list, layers,
        thorough=not fp8_too, static_kv=kv_algorithm(block) in ("FP8", "INT8"),
        release_format="modelopt_nvfp4" if layouts and all(x and x.name in ("NVFP4", "W4A16_NVFP4") for x in layouts) else None,
        faults=tuple(faults_of(block, algorithm, pointer)),
    )  # fmt: skip


def algorithm_of(block: Mapping[str, Any]) -> str:
    algorithm = text_of(block.get("quant_algo")).upper()
    return "W4A16_NVFP4" if algorithm == "NVFP4" and weights_only(block) else algorithm


def weights_only(block: Mapping[str, Any]) -> bool:
    """NVFP4 whose groups have no input activations is read as W4A16 (vLLM 0.32.0 modelopt.py)."""
    groups = [mapping(group) for group in mapping(block.get("config_groups")).values()]
    return bool(groups) and all(group.get("input_activations") is None for group in groups)


def kv_algorithm(block: Mapping[str, Any]) -> str:
    """FP8 for a float scheme of 8 bits, whichever way the two files say it."""
    value = block.get("kv_cache_quant_algo") or block.get("kv_cache_scheme")
    if isinstance(value, dict):
        eight = value.get("num_bits") == 8 and value.get("dynamic", False) is False
        return {"float": "FP8", "int": "INT8"}.get(text_of(value.get("type")), "") if eight else ""
    return text_of(value).upper()


# ------------------------------------------------------------------------------------------------------------- layouts


def layout_of(recipe: Mapping[str, Any]) -> Layout | None:
    """The Layout of a recipe `{quant_algo, group_size, ...}`; None for an algorithm that is not known by heart."""
    algorithm = algorithm_of(recipe)
    size = group_size_of(recipe)
    if algorithm in ("FP8_PB_WO", "FP8_BLOCK_SCALES"):
        edge = size if size and size > 16 else 128
        return fp8(algorithm, Part("weight_scale", SCALE, FLOATS, blocks(edge)), block=(edge, edge))
    if algorithm.startswith("FP8") and algorithm in VLLM:
        shapes = scalar if algorithm == "FP8" else flat_per_row
        return fp8(algorithm, Part("weight_scale", SCALE, FLOATS, shapes), replace(INPUT_SCALE, presence="if-any"))
    if algorithm == "MXFP8":
        return replace(fp8(algorithm, Part("weight_scale", SCALE, ("U8", "F8_E8M0"), per_group(32), value="exponent")), group=32)
    if algorithm == "W4A8_MXFP4_FP8":
        parts = (Part("weight_scale", SCALE, ("U8", "F8_E8M0"), per_group(32), value="exponent"), replace(INPUT_SCALE, presence="if-any"))
        return fp4(algorithm, "weight", 32, *parts)
    if "NVFP4" in algorithm:
        return nvfp4(algorithm, size or 16)
    return integers(algorithm, size)


def group_size_of(recipe: Mapping[str, Any]) -> int | None:
    """The group size, which config.json has inside its groups only."""
    if size := positive(recipe.get("group_size")):
        return size
    groups = [mapping(mapping(group).get("weights")) for group in mapping(recipe.get("config_groups")).values()]
    return next((size for group in groups if (size := positive(group.get("group_size")))), None)


def nvfp4(algorithm: str, group: int) -> Layout:
    inputs = {"NVFP4": "always", "NVFP4_SVD": "always", "NVFP4_AWQ": "always", "W4A16_NVFP4": "optional"}.get(algorithm, "if-any")
    scales = (Part("weight_scale", SCALE, ("F8_E4M3",), per_group(group)), Part("weight_scale_2", GLOBAL, FLOATS, scalar))
    return fp4(algorithm, "weight", group, *scales, replace(INPUT_SCALE, presence=inputs), SMOOTHING)


def integers(algorithm: str, group: int | None) -> Layout | None:
    inputs = replace(INPUT_SCALE, presence="if-any")
    if algorithm in ("W8A16", "W8A8_SQ_PER_CHANNEL"):
        scale = Part("weight_scale", SCALE, FLOATS, flat_per_row)
        return codes("weight", ("I8",), Layout(algorithm, 8, "int", (scale, inputs, SMOOTHING), largest=128.0))
    if algorithm in ("W4A16_AWQ", "W4A8_AWQ"):  # two rows in a byte
        scale = Part("weight_scale", SCALE, FLOATS, per_group(group) if group else None)
        second = (Part("weight_scale_2", GLOBAL, FLOATS, scalar, presence="if-any"),)
        layout = Layout(algorithm, 4, "int", (scale, *second, inputs, SMOOTHING), (2, 1), -2, group, largest=8.0)
        return codes("weight", ("U8",), layout)
    return None


def blocks(edge: int) -> Shapes:
    """ModelOpt writes block scales in four dimensions, and one scale as a scalar; vLLM takes two dimensions as well."""

    def of(logical: Shape) -> tuple[Shape, ...]:
        rows, columns = ceil(logical[-2], edge), ceil(logical[-1], edge)
        return ((rows, 1, columns, 1), (rows, columns), *(((), (1,)) if rows * columns == 1 else ()))

    return of


# ------------------------------------------------------------------------------------------------- what readers refuse


def faults_of(block: Mapping[str, Any], algorithm: str, pointer: str) -> Iterator[ConfigFault]:
    mend = "export the model again with ModelOpt, or copy the block from hf_quant_config.json"
    if not algorithm:
        yield ConfigFault("quant-config-invalid", pointer, f"quant_algo is {shown(block.get('quant_algo'))}; readers need its name", mend)
    layers = block.get("quantized_layers")
    if algorithm == "MIXED_PRECISION" and not mapping(layers) and pointer != "/quantization_config":
        yield ConfigFault("quantized-layers", pointer, "is MIXED_PRECISION with no quantized_layers: readers refuse it", mend)
    for key, value in mapping(layers).items() if algorithm == "MIXED_PRECISION" else ():
        if not text_of(mapping(value).get("quant_algo")):
            message = f"says nothing of how {key[:100]} is quantised: its quant_algo is {shown(mapping(value).get('quant_algo'))}"
            yield ConfigFault("quantized-layers", pointer + "/quantized_layers", message, mend)


def config_block(exclude: Iterable[str], *, inputs: bool) -> dict[str, Any]:
    """The quantization_config of a ModelOpt NVFP4 release, W4A4 with `inputs`, else W4A16."""
    arguments = {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}
    group = {"weights": arguments, "targets": ["Linear"]} | ({"input_activations": arguments} if inputs else {})
    algorithm = "NVFP4" if inputs else "W4A16_NVFP4"
    return {"quant_method": "modelopt", "quant_algo": algorithm, "config_groups": {"group_0": group}, "ignore": sorted(exclude)}


def hf_quant_config(exclude: Iterable[str], producer: Mapping[str, str], *, inputs: bool) -> dict[str, Any]:
    """hf_quant_config.json of the same release: vLLM wants all four keys there (formats.md E.2)."""
    block = {"quant_algo": "NVFP4" if inputs else "W4A16_NVFP4", "kv_cache_quant_algo": None, "group_size": 16}
    return {"producer": dict(producer), "quantization": {**block, "exclude_modules": sorted(exclude)}}
