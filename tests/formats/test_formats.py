"""What formats say: tensors, refusals, constants, config files; and that they say it as one family."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from hubrelease.formats import Format, formats, named
from hubrelease.quantisation import read
from hubrelease.weights import BITS, header_bytes

ALL = formats()
NAMES = ("bf16", "fp8_block", "fp8_dynamic", "modelopt_nvfp4", "nvfp4", "nvfp4a16", "w4a16", "w8a16")
WEIGHT_ONLY = named("modelopt_nvfp4", {"weight_only": True})
MIXED = named("modelopt_nvfp4", {"mixed_precision": True})
QUANTISED, EXCLUDED = ["model.layers.0.mlp.down_proj", "model.layers.0.mlp.up_proj"], ["lm_head", "model.embed_tokens"]


def test_the_folder_is_the_list() -> None:
    assert tuple(form.name for form in ALL) == NAMES
    assert named("nvfp4") is formats()[4]
    with pytest.raises(KeyError):
        named("int3")


@pytest.mark.parametrize("form", ALL, ids=lambda f: f.name)
def test_a_format_tells_its_rules_and_its_producer(form: Format) -> None:
    from importlib import import_module

    text = import_module(f"hubrelease.formats.{form.name}").__doc__ or ""
    assert "ties to even" in text or form.name == "nvfp4"
    assert form.arithmetic
    assert not any(word.isdigit() and word not in ("128", "16") for word in form.sentence.split())


@pytest.mark.parametrize("form", [*ALL, WEIGHT_ONLY, MIXED], ids=lambda f: f.name)
@pytest.mark.parametrize("dtype", ["BF16", "F16", "F32"])
def test_parts_are_the_bytes_that_an_encoder_gives(form: Format, dtype: str) -> None:
    parts, kernel = form.parts(256, 384, dtype), form.kernel
    sizes = {part.suffix: math.prod(part.shape) * BITS[part.dtype] // 8 for part in parts}
    assert [part.role for part in parts[:2]] == ["codes", "scales"][: len(parts)]
    assert sizes[parts[0].suffix] == kernel.code_bytes(256, 384)
    assert [sizes[p.suffix] for p in parts if p.role == "scales"] == [n for n in [kernel.scales_bytes(256, 384, dtype)] if n]
    small = form.constants(2.0, 3.0, (256, 384), dtype)
    assert {suffix: len(data) for suffix, data in small.items()} == {p.suffix: sizes[p.suffix] for p in parts if p.role == "constant"}
    assert header_bytes([(part.suffix, part.dtype, part.shape) for part in parts], {})


@pytest.mark.parametrize(
    ("name", "dtype", "shape", "reason"),
    [
        ("fp8_block", "BF16", (128, 256), None),
        ("fp8_block", "BF16", (192, 256), "has 192 rows, no multiple of 128"),
        ("fp8_block", "BF16", (128, 200), "has 200 columns, no multiple of 128"),
        ("fp8_block", "BF16", (4, 128, 128), "has 3 dimensions, not 2"),
        ("fp8_block", "BF16", (128,), "has 1 dimensions, not 2"),
        ("fp8_block", "BF16", (0, 128), "is empty"),
        ("fp8_block", "I8", (128, 128), "is I8; fp8_block takes BF16, F16, F32"),
        ("fp8_dynamic", "F16", (3, 7), None),
        ("nvfp4a16", "BF16", (3, 40), "has 40 columns, no multiple of 16"),
        ("nvfp4", "BF16", (3, 48), None),
        ("w4a16", "BF16", (3, 64), "has 64 columns, no multiple of 128"),
        ("w8a16", "F32", (3, 128), None),
        ("bf16", "BF16", (3, 3), "is BF16; bf16 takes F16, F32"),
    ],
)
def test_a_weight_that_does_not_fit_is_refused_with_a_reason(name: str, dtype: str, shape: tuple[int, ...], reason: str | None) -> None:
    assert named(name).refusal("a.b", dtype, shape) == reason


def test_both_conventions_of_activation_scales_come_from_one_maximum() -> None:
    divisor = named("nvfp4").constants(1.0, 9.5, (16, 16), "BF16")[".input_global_scale"]
    multiplier = named("modelopt_nvfp4").constants(1.0, 9.5, (16, 16), "BF16")[".input_scale"]
    assert divisor == struct.pack("<f", 2688 / 9.5)
    assert multiplier == struct.pack("<f", 9.5 / 2688)
    for bits in (0x3B124925, 0x3F800001, 0x43FFFFFF, 0x00812345):  # what a file holds comes back, through binary64
        (given,) = struct.unpack("<f", struct.pack("<I", bits))
        assert named("nvfp4").constants(1.0, 2688 / given, (16, 16), "BF16")[".input_global_scale"] == struct.pack("<I", bits)
        assert named("modelopt_nvfp4").constants(1.0, given * 2688, (16, 16), "BF16")[".input_scale"] == struct.pack("<I", bits)


@pytest.mark.parametrize("name", ["nvfp4", "modelopt_nvfp4"])
@pytest.mark.parametrize("amax", [None, 0.0, -1.0, math.inf, math.nan])
def test_activation_scales_need_a_positive_maximum(name: str, amax: float | None) -> None:
    with pytest.raises(ValueError, match="positive maximum"):
        named(name).constants(1.0, amax, (16, 16), "BF16")


@pytest.mark.parametrize("name", ["nvfp4", "nvfp4a16", "modelopt_nvfp4"])
def test_global_scales_need_the_sets_maximum(name: str) -> None:
    assert named(name).needs_shared_amax
    assert ("gate_proj", "up_proj") in named(name).fused
    with pytest.raises(ValueError, match="needs the shared maximum"):
        named(name).constants(None, 1.0, (16, 16), "BF16")


def test_options_that_a_format_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="no option 'weight_only'"):
        named("nvfp4", {"weight_only": True})
    assert not WEIGHT_ONLY.needs_inputs
    assert not WEIGHT_ONLY.apart
    assert [part.suffix for part in WEIGHT_ONLY.parts(16, 16, "BF16")] == [".weight", ".weight_scale", ".weight_scale_2"]
    assert named("modelopt_nvfp4").apart == (".input_scale",)


@pytest.mark.parametrize("form", [form for form in (*ALL, WEIGHT_ONLY, MIXED) if form.name != "bf16"], ids=lambda f: f.name)
def test_the_config_is_read_as_what_is_stored(form: Format) -> None:
    """By the reader that the checks use; with config.json, and with ModelOpt's second file alone."""
    block, second = form.config_block(QUANTISED, EXCLUDED), form.hf_quant_config(QUANTISED, EXCLUDED)
    for config, beside in [({"quantization_config": block}, second), *([({}, second)] if second else [])]:
        scheme = read(config, beside)
        assert scheme is not None
        assert not scheme.faults
        wanted = {part.suffix[1:]: (part.dtype, part.shape) for part in form.parts(256, 384, "BF16")}
        assert scheme.layouts
        assert all(plain(layout.tensors((256, 384))) == wanted for layout in scheme.layouts)


def plain(tensors: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {leaf: (dtype, tuple(shape)) for leaf, (dtype, shape) in tensors.items()}


def test_the_mixed_map_names_every_quantised_layer_and_no_other() -> None:
    block, second = MIXED.config_block(QUANTISED, EXCLUDED), MIXED.hf_quant_config(QUANTISED, EXCLUDED)
    assert block is not None
    assert second is not None
    assert block["quant_algo"] == second["quantization"]["quant_algo"] == "MIXED_PRECISION"
    assert list(block["quantized_layers"]) == QUANTISED
    assert block["quantized_layers"] == second["quantization"]["quantized_layers"]
    assert block["config_groups"]["group_0"]["targets"] == QUANTISED
    assert "exclude_modules" not in second["quantization"]


def test_compressed_tensors_is_told_of_lm_head_even_where_it_is_tied() -> None:
    block = named("w4a16").config_block(QUANTISED, ["model.embed_tokens"])
    assert block is not None
    assert block["ignore"] == ["lm_head", "model.embed_tokens"]
    assert "lm_head" not in (named("w4a16").config_block(["lm_head"], []) or {})["ignore"]


def test_bf16_has_no_quantization_config() -> None:
    assert named("bf16").config_block([], []) is None
    assert named("bf16").hf_quant_config([], []) is None
