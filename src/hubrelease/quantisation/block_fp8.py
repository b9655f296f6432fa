"""Fine-grained FP8 (`quant_method: fp8`): E4M3 weights with a scale for each block of 128 x 128 (formats.md B).

`weight_scale_inv` is the multiplier, in spite of its name. With `weight_block_size` null a tensor has one scale;
where the key is absent, transformers takes blocks of 128 x 128 and vLLM one scale a tensor: either is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hubrelease.quantisation.layout import FLOATS, INPUT, SCALE, Layout, Part, Shapes, fp8, per_block, scalar
from hubrelease.quantisation.rules import transformers_list
from hubrelease.quantisation.scheme import ConfigFault, Group, Scheme, entries_of, positive, shown, text_of

# DeepSeek-V4 and Mistral Large 4 call the scale otherwise; transformers 5.24 renames both on load.
OTHER_NAMES = ("scale", "qscale_weight")
INPUT_SCALE = Part("input_scale", INPUT, FLOATS, scalar, aliases=("activation_scale", "qscale_act"))


def read(block: Mapping[str, Any], file: str, pointer: str) -> Scheme:
    size, static = block_size(block), block.get("activation_scheme") == "static"
    layout = layout_of(block, size, static)
    key = "ignored_layers" if isinstance(block.get("ignored_layers"), list) and block["ignored_layers"] else "modules_to_not_convert"
    packed_experts = block.get("expert_dtype") == "fp4" or block.get("store_dtype") == "mxfp4"
    return Scheme(
        text_of(block.get("quant_method")) or "fp8", file, pointer, block, (Group(layout, None, pointer),), entries_of(block, key, pointer),
        transformers_list, thorough=True, blind=(".experts.",) if packed_experts else (),
        release_format="fp8_block" if size and not static else None, faults=tuple(faults_of(block, pointer)),
    )  # fmt: skip


def layout_of(block: Mapping[str, Any], size: tuple[int, int] | None, static: bool) -> Layout:
    exponents = block.get("scale_fmt") == "ue8m0" or block.get("quant_method") == "mxfp8"
    dtypes = ("F8_E8M0", "F32", "U8", "BF16") if exponents else (*FLOATS, "F8_E8M0")
    inputs = (INPUT_SCALE,) if static else ()
    if size:
        also = ("weight_scale",) if block.get("quant_method") == "mxfp8" else ()
        name = f"FP8 in blocks of {size[0]} x {size[1]}"
        return fp8(name, Part("weight_scale_inv", SCALE, dtypes, per_block(size), aliases=(*OTHER_NAMES, *also)), *inputs, block=size)
    shapes: Shapes = scalar
    if "weight_block_size" not in block:
        shapes = lambda logical: (*per_block((128, 128))(logical), *scalar(logical))  # noqa: E731
    scale = Part("weight_scale", SCALE, dtypes, shapes, aliases=("weight_scale_inv", *OTHER_NAMES))
    return fp8("FP8 with one scale a tensor", scale, *inputs)


def block_size(block: Mapping[str, Any]) -> tuple[int, int] | None:
    value = block.get("weight_block_size")
    if isinstance(value, list) and len(value) == 2:
        rows, columns = positive(value[0]), positive(value[1])
        return (rows, columns) if rows and columns else None
    return None


def faults_of(block: Mapping[str, Any], pointer: str) -> Iterable[ConfigFault]:
    size, scheme = block.get("weight_block_size"), block.get("activation_scheme")
    if size is not None and block_size(block) is None:
        message = f"weight_block_size is {shown(size)}; readers take two positive integers or null"
        yield ConfigFault("quant-config-invalid", pointer + "/weight_block_size", message, "write the block size, usually [128, 128]")
    if block.get("scale_fmt") not in (None, "float", "ue8m0"):
        message = f"scale_fmt is {shown(block['scale_fmt'])}; transformers knows only float and ue8m0"
        yield ConfigFault("quant-config-invalid", pointer + "/scale_fmt", message, "write float, or ue8m0 if all scales are powers of two")
    mend = "write dynamic, which is what weights in blocks are read with" if size else "write dynamic or static"
    if "activation_scheme" not in block and block.get("quant_method") != "mxfp8":
        message = "has no activation_scheme: vLLM refuses to load such a config, transformers takes dynamic"
        yield ConfigFault("activation-scheme", pointer, message, mend, "warning")
    elif "activation_scheme" in block and scheme not in ("dynamic", "static"):
        message = f"activation_scheme is {shown(scheme)}; readers know only dynamic and static"
        yield ConfigFault("activation-scheme", pointer + "/activation_scheme", message, mend)
    elif scheme == "static" and size:
        message = "activation_scheme is static, but weights in blocks are read with dynamic scales only"
        yield ConfigFault("activation-scheme", pointer + "/activation_scheme", message, mend)


def config_block(exclude: Iterable[str], scale_fmt: str | None = None) -> dict[str, Any]:
    """The quantization_config of a block FP8 release: full module names, so that every reader takes the list alike (formats.md B.5)."""
    block = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    return block | ({"scale_fmt": scale_fmt} if scale_fmt else {}) | {"modules_to_not_convert": sorted(exclude)}
