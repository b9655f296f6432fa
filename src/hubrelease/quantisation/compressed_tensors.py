"""compressed-tensors: groups of modules, each with its own arguments, and an `ignore` list (formats.md D).

Names, dtypes and shapes were read from checkpoints that compressed-tensors 0.20.1 wrote (tests/data/headers-*.json).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hubrelease.quantisation.compressed_config import FORMATS, block_of, faults_of, strategy_of
from hubrelease.quantisation.layout import (
    FLOATS,
    GLOBAL,
    INDEX,
    INPUT,
    MODEL_FLOATS,
    SCALE,
    SHAPE,
    ZERO,
    Layout,
    Part,
    Shape,
    Shapes,
    ceil,
    codes,
    fp4,
    fp8,
    one,
    pair,
    per_block,
    per_column,
    per_group,
    per_row,
)  # fmt: skip
from hubrelease.quantisation.rules import compressed_list
from hubrelease.quantisation.scheme import Group, Scheme, entries_of, mapping, positive, text_of
from hubrelease.strict_yaml import pointer_to


def read(block: Mapping[str, Any], file: str, pointer: str) -> Scheme:
    faults = list(faults_of(block, pointer))
    groups = []
    for name, value in mapping(block.get("config_groups")).items():
        group = preset(name, value) if isinstance(value, list) else mapping(value)
        if mapping(group.get("weights")):
            targets = tuple(t for t in group.get("targets") or () if isinstance(t, str)) if isinstance(group.get("targets"), list) else ()
            groups.append(Group(layout_of(group, text_of(block.get("format"))), targets, pointer + pointer_to("config_groups", name)))
    kv = mapping(block.get("kv_cache_scheme"))
    return Scheme(
        "compressed-tensors", file, pointer, block, tuple(groups), entries_of(block, "ignore", pointer), compressed_list, thorough=True,
        static_kv=bool(kv) and kv.get("dynamic", False) is False,
        release_format=release_format([g.layout for g in groups]), faults=tuple(faults),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- layouts


def layout_of(group: Mapping[str, Any], default_format: str) -> Layout | None:
    """The Layout of a group; None for one that is not known by heart (sparse formats, impossible arguments)."""
    weights, inputs = mapping(group.get("weights")), mapping(group.get("input_activations"))
    bits, number = positive(weights.get("num_bits", 8)), text_of(weights.get("type")).lower() or "int"
    name = text_of(group.get("format")) or default_format
    if name not in FORMATS or name in ("mixed-precision", "dense", "fakequant", "naive-quantized"):
        name = inferred(weights, inputs, bits, number)
    shapes = scale_shapes(weights)
    if bits is None or bits > 8 or shapes is None:
        return None
    layout = plain_layout(name, bits, number, shapes, weights) or packed_layout(name, bits, shapes, weights)
    return replace(layout, parts=(*layout.parts, *input_parts(name, inputs))) if layout else None


def inferred(weights: Mapping[str, Any], inputs: Mapping[str, Any], bits: int | None, number: str) -> str:
    """The format that compressed-tensors 0.20.1 would choose for these arguments (compressors/format.py)."""
    size = weights.get("group_size")
    if number == "int":
        return "int-quantized" if inputs else "pack-quantized"
    if bits == 4:
        return "mxfp4-pack-quantized" if size == 32 else "nvfp4-pack-quantized"
    if bits == 6:
        return "mxfp6-pack-quantized"
    if size == 32 and weights.get("scale_dtype") == "torch.uint8":
        return "mxfp8-quantized"
    return "float-quantized"


def scale_shapes(weights: Mapping[str, Any]) -> Shapes | None:
    strategy = strategy_of(weights)
    size, structure = positive(weights.get("group_size")), weights.get("block_structure")
    if strategy in ("group", "tensor_group"):
        return per_group(size) if size else None
    if strategy == "block":
        block = block_of(structure)
        return per_block(block) if block else None
    return {"tensor": one, "channel": per_row}.get(strategy)


def plain_layout(name: str, bits: int, number: str, shapes: Shapes, weights: Mapping[str, Any]) -> Layout | None:
    """Codes of one byte in the weight's own shape."""
    size = positive(weights.get("group_size"))
    scale = Part("weight_scale", SCALE, MODEL_FLOATS, shapes)
    if name == "float-quantized" and number == "float" and bits == 8:
        return replace(fp8(name, scale, block=block_of(weights.get("block_structure"))), group=size, whole_groups=False)
    if name == "mxfp8-quantized":
        return replace(fp8(name, Part("weight_scale", SCALE, ("U8", "F8_E8M0"), shapes, value="exponent")), group=32)
    if name == "int-quantized" and number == "int":
        zero = () if weights.get("symmetric", True) else (Part("weight_zero_point", ZERO, ("I8", "U8"), shapes),)
        largest = float(2 ** (bits - 1))
        return codes("weight", ("I8",), Layout(name, bits, "int", (scale, *zero), group=size, whole_groups=False, largest=largest))
    return None


def packed_layout(name: str, bits: int, shapes: Shapes, weights: Mapping[str, Any]) -> Layout | None:
    size = positive(weights.get("group_size"))
    if name == "nvfp4-pack-quantized":
        scale = Part("weight_scale", SCALE, ("F8_E4M3",), shapes)
        return fp4(name, "weight_packed", size or 16, scale, Part("weight_global_scale", GLOBAL, FLOATS, one, value="divisor"))
    exponents = Part("weight_scale", SCALE, ("U8", "F8_E8M0"), shapes, value="exponent")
    if name == "mxfp4-pack-quantized":
        return fp4(name, "weight_packed", size or 32, exponents)
    if name == "mxfp6-pack-quantized":
        return codes("weight_packed", ("U8",), Layout(name, 6, "float", (exponents,), packing=(4, 3), group=size or 32, largest=7.5))
    if name != "pack-quantized":
        return None
    parts = [Part("weight_scale", SCALE, MODEL_FLOATS, shapes), Part("weight_shape", SHAPE, ("I64", "I32"), pair)]
    if not weights.get("symmetric", True):
        parts.append(Part("weight_zero_point", ZERO, ("I32",), packed_zero(bits, shapes)))
    parts.append(Part("weight_g_idx", INDEX, ("I32",), per_column, presence="optional"))
    layout = Layout(name, bits, "int", tuple(parts), packing=(32, bits), group=size, whole_groups=False, largest=float(2 ** (bits - 1)))
    return codes("weight_packed", ("I32",), layout)


def packed_zero(bits: int, shapes: Shapes) -> Shapes:
    """Zero points are packed along the rows."""

    def of(logical: Shape) -> tuple[Shape, ...]:
        return tuple((*s[:-2], ceil(s[-2] * bits, 32), s[-1]) for s in shapes(logical) if len(s) > 1)

    return of


def input_parts(name: str, inputs: Mapping[str, Any]) -> Iterator[Part]:
    """Tensors of static activation scales: dynamic ones have none, `local` ones only the global scale."""
    dynamic = inputs.get("dynamic", False)
    if not inputs or dynamic is True:
        return
    if strategy_of(inputs) == "tensor_group":
        yield Part("input_global_scale", INPUT, FLOATS, one, value="divisor")
    elif strategy_of(inputs) == "tensor":
        yield Part("input_scale", INPUT, FLOATS, one)
        if not inputs.get("symmetric", True):
            yield Part("input_zero_point", INPUT, ("I8", "U8", "I32"), one)


def release_format(layouts: list[Layout | None]) -> str | None:
    """The `weights.format` of release.yaml that writes such a block; None where none does."""
    if len(layouts) != 1 or layouts[0] is None:
        return None
    layout = layouts[0]
    has_inputs = layout.part(INPUT) is not None
    if layout.name == "nvfp4-pack-quantized":
        return "nvfp4" if has_inputs else "nvfp4a16"
    if layout.name == "float-quantized" and not has_inputs:
        return "fp8_block" if layout.block else "fp8_dynamic"
    return {8: "w8a16", 4: "w4a16"}.get(layout.bits) if layout.name == "pack-quantized" else None


# ------------------------------------------------------------------------------------------------------ blocks to write


def arguments(
    bits: int, number: str, strategy: str, *, group: int | None = None, dynamic: bool | str = False, **more: Any
) -> dict[str, Any]:
    return {"num_bits": bits, "type": number, "symmetric": True, "strategy": strategy, "group_size": group, "dynamic": dynamic, **more}


E4M3_SCALES = {"scale_dtype": "torch.float8_e4m3fn"}
PRESETS: Mapping[str, tuple[str, dict[str, Any], dict[str, Any] | None]] = {
    "FP8_DYNAMIC": ("float-quantized", arguments(8, "float", "channel"), arguments(8, "float", "token", dynamic=True)),
    "FP8": ("float-quantized", arguments(8, "float", "tensor"), arguments(8, "float", "tensor")),
    "FP8_BLOCK": ("float-quantized", arguments(8, "float", "block", block_structure=[128, 128]),
                  arguments(8, "float", "group", group=128, dynamic=True)),
    "NVFP4A16": ("nvfp4-pack-quantized", arguments(4, "float", "tensor_group", group=16, **E4M3_SCALES), None),
    "NVFP4": ("nvfp4-pack-quantized", arguments(4, "float", "tensor_group", group=16, **E4M3_SCALES),
              arguments(4, "float", "tensor_group", group=16, dynamic="local", observer="static_minmax", **E4M3_SCALES)),
    "W8A16": ("pack-quantized", arguments(8, "int", "group", group=128), None),
    "W4A16": ("pack-quantized", arguments(4, "int", "group", group=128), None),
    "W8A8": ("int-quantized", arguments(8, "int", "channel"), arguments(8, "int", "token", dynamic=True)),
}  # fmt: skip


def preset(name: str, targets: list[Any]) -> Mapping[str, Any]:
    """A group that is written as the name of a preset and a list of targets."""
    known = PRESETS.get(name.upper())
    return {"targets": targets, "format": known[0], "weights": known[1], "input_activations": known[2]} if known else {}


def config_block(name: str, exclude: Iterable[str], version: str = "0.20.1") -> dict[str, Any]:
    """The quantization_config of a release in the preset `name`, with explicit names in `ignore`."""
    form, weights, inputs = PRESETS[name]
    group = {"format": form, "targets": ["Linear"], "weights": weights, "input_activations": inputs, "output_activations": None}
    return {"quant_method": "compressed-tensors", "version": version, "format": form, "quantization_status": "compressed",
            "config_groups": {"group_0": group}, "ignore": sorted(exclude), "kv_cache_scheme": None}  # fmt: skip
