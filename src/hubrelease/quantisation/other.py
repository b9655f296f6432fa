"""Methods that are recognised and looked at lightly: which tensors make a quantised module, and which lists leave modules alone.

Sources: transformers 5.24.0 quantizers/ and integrations/, vLLM 0.32.0 layers/quantization/, mlx-lm 0.32.2 utils.py; names of
bitsandbytes 0.50.2 and torchao were read from checkpoints (tests/data/headers-*.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hubrelease.quantisation.layout import CODES, SCALE, STATE, ZERO, Layout, Part
from hubrelease.quantisation.scheme import Group, Scheme, entries_of, mapping, text_of

PACKED = (
    Part("qweight", CODES, ("I32", "I16", "U8")),
    Part("scales", SCALE),
    Part("qzeros", ZERO),
    Part("g_idx", STATE, presence="optional"),
)
NF4 = (Part("weight", CODES, ("U8", "I8", "BF16", "F16", "F32")), Part("weight.absmax", SCALE), Part("weight.quant_map", STATE))
PARTS: Mapping[str, tuple[Part, ...]] = {
    "awq": PACKED,
    "gptq": PACKED,
    "auto-round": (),  # several formats, each with names of its own
    "bitsandbytes_4bit": NF4,
    "bitsandbytes_8bit": (Part("weight", CODES, ("I8",)), Part("SCB", SCALE)),
    "mxfp4": (Part("weight_blocks", CODES, ("U8",)), Part("weight_scales", SCALE)),
    "fbgemm_fp8": (Part("weight", CODES, ("F8_E4M3",)), Part("weight_scale", SCALE)),
    "eetq": (Part("weight", CODES, ("I8",)), Part("weight_scales", SCALE)),
    "torchao": (Part("_weight_qdata", CODES, ("I8", "U8", "F8_E4M3", "I32")), Part("_weight_scale", SCALE, presence="optional")),
    "quanto": (Part("weight._data", CODES, ("I8", "U8", "F8_E4M3")), Part("weight._scale", SCALE)),
    "hqq": (Part("W_q", CODES, ("U8", "I32", "F16", "BF16")),),
    "mlx": (Part("weight", CODES, ("U32",)), Part("scales", SCALE), Part("biases", ZERO, presence="optional")),
}  # fmt: skip
LISTS = ("modules_to_not_convert", "llm_int8_skip_modules", "skip_modules", "ignored_layers", "exclude", "modules_in_block_to_not_quantize")


def read(block: Mapping[str, Any], file: str, pointer: str) -> Scheme | None:
    """A Scheme of a method that hubrelease knows by name; None for any other."""
    method = method_of(block)
    if method not in PARTS:
        return None
    parts = PARTS[method]
    layout = Layout(method, 0, "any", parts) if parts else None
    entries = tuple(entry for key in LISTS for entry in entries_of(block, key, pointer))
    return Scheme(method, file, pointer, block, (Group(layout, None, pointer),), entries)


def method_of(block: Mapping[str, Any]) -> str:
    method = text_of(block.get("quant_method")).lower()
    if block.get("load_in_4bit") is True:
        return "bitsandbytes_4bit"
    if block.get("load_in_8bit") is True:
        return "bitsandbytes_8bit"
    if not method and "bits" in block and "group_size" in block:
        return "mlx"
    return {"bitsandbytes": "bitsandbytes_8bit", "auto_round": "auto-round", "awq_marlin": "awq", "gptq_marlin": "gptq"}.get(method, method)


def is_on_the_fly(block: Mapping[str, Any]) -> bool:
    """True for a block that asks the reader to quantise while it loads: nothing has to be quantised on disk."""
    return bool(mapping(block).get("dequantize")) or method_of(block) in ("hqq",)
