"""NVFP4 as NVIDIA ModelOpt stores it: E2M1 codes, an E4M3 scale for each 16 columns of a row, and a second scale that
multiplies.

The bytes are those of ModelOpt 0.47.0's NVFP4QTensor on a CPU, and of its export, which shares the second scale among
siblings. All operations are IEEE binary32, to nearest, ties to even:

    A = largest |w| of the weight and of the siblings that share its second scale
    s2 = A / 2688                                            stored as weight_scale_2, F32 []
    a = largest |w| of the group
    b = a / (6 * s2); where it is 0, 1; clamped to 2^-9 and 448
    s = e4m3(b)
    x = w / (s * s2)
    code = e2m1(min(|x|, 6)), plus 8 where x < 0

with e2m1 and the order of nibbles as in nvfp4a16. Two things differ, where ModelOpt divides by zero: where s2 is 0 (a
weight of zeros, or of F32 numbers under 2e-42) it keeps the 0 and writes NaN as scales; here weight_scale_2 is 1, and
codes are 0. Where s * s2 underflows to 0 (F32 numbers under 1e-44 only) its codes are 7 or 15; here they are 0.

`input_scale` is f32(amax / 2688), amax being the largest |activation| that calibration met. It is stored apart, in a
shard that the index lists, so that it can be replaced without touching the weights' shards.

Options: `weight_only` (W4A16_NVFP4: no activation scales), `mixed_precision` (config files name every quantised layer
and nothing else, instead of naming what is excluded).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hubrelease.arithmetic.kernels import multiplier
from hubrelease.formats._format import CODES, SCALES, Config, Format, Part, positive, scalar
from hubrelease.formats._nvfp4 import MOST
from hubrelease.quantisation import modelopt

PRODUCER = {"name": "modelopt", "version": "0.47.0"}  # vLLM knows these files by the name


def weight_parts(rows: int, columns: int, _dtype: str) -> tuple[Part, ...]:
    return (
        Part(".weight", "U8", (rows, columns // 2), CODES),
        Part(".weight_scale", "F8_E4M3", (rows, columns // 16), SCALES),
        Part(".weight_scale_2", "F32", ()),
    )


def parts(rows: int, columns: int, dtype: str) -> tuple[Part, ...]:
    return (*weight_parts(rows, columns, dtype), Part(".input_scale", "F32", ()))


def weight_constants(shared_amax: float | None, _input_amax: float | None, _shape: tuple[int, int], dtype: str) -> dict[str, bytes]:
    if shared_amax is None:
        raise ValueError("the second scale needs the shared maximum")
    return {".weight_scale_2": scalar(multiplier(shared_amax, dtype))}


def constants(shared_amax: float | None, input_amax: float | None, shape: tuple[int, int], dtype: str) -> dict[str, bytes]:
    return {**weight_constants(shared_amax, None, shape, dtype), ".input_scale": scalar(positive(input_amax) / MOST)}


def plain(inputs: bool) -> tuple[Config, Config]:
    """config.json's block and hf_quant_config.json, where one recipe holds for all that is not excluded."""

    def named(quantised: Iterable[str], excluded: Iterable[str]) -> set[str]:
        return {*excluded, "lm_head"} - set(quantised)  # a tied head too: readers make a layer of it

    def block(quantised: Iterable[str], excluded: Iterable[str]) -> dict[str, Any]:
        return {**modelopt.config_block(named(quantised, excluded), inputs=inputs), "producer": PRODUCER}

    def second(quantised: Iterable[str], excluded: Iterable[str]) -> dict[str, Any]:
        return modelopt.hf_quant_config(named(quantised, excluded), PRODUCER, inputs=inputs)

    return block, second


def mixed(inputs: bool) -> tuple[Config, Config]:
    """The same where the files have a map of the quantised layers; a layer that is not in it is not quantised."""
    algorithm = "NVFP4" if inputs else "W4A16_NVFP4"

    def layers(quantised: Iterable[str]) -> dict[str, Any]:
        return {name: {"quant_algo": algorithm, "group_size": 16} for name in sorted(quantised)}

    def block(quantised: Iterable[str], _excluded: Iterable[str]) -> dict[str, Any]:
        (group,) = modelopt.config_block((), inputs=inputs)["config_groups"].values()
        named = layers(quantised)
        return {
            "quant_method": "modelopt",
            "quant_algo": "MIXED_PRECISION",
            "config_groups": {"group_0": {**group, "targets": list(named)}},
            "quantized_layers": named,
            "ignore": [],
            "producer": PRODUCER,
        }

    def second(quantised: Iterable[str], _excluded: Iterable[str]) -> dict[str, Any]:
        named = {"quant_algo": "MIXED_PRECISION", "kv_cache_quant_algo": None, "quantized_layers": layers(quantised)}
        return {"producer": PRODUCER, "quantization": named}

    return block, second


def configure(form: Format, options: Mapping[str, Any]) -> Format:
    inputs = not options.get("weight_only", False)
    block, second = (mixed if options.get("mixed_precision", False) else plain)(inputs)
    chosen = replace(form, config_block=block, hf_quant_config=second)
    if inputs:
        return chosen
    return replace(
        chosen, parts=weight_parts, constants=weight_constants, needs_inputs=False, apart=(), apart_file="", sentence=WEIGHT_ONLY
    )


WEIGHT_ONLY = "NVFP4 weights in ModelOpt's layout (4-bit E2M1, an FP8 scale for every 16, one second scale); activations stay in 16 bits."

FORMAT = configure(
    Format(
        name="modelopt_nvfp4",
        sentence="NVFP4 weights and activations in ModelOpt's layout (4-bit E2M1, an FP8 scale for every 16, one second scale); "
        "the activations' scales were calibrated.",
        arithmetic="ModelOpt 0.47.0 (NVFP4QTensor; weights of zeros mended)",
        readers="vLLM and TensorRT-LLM (`quant_method: modelopt`); transformers has no reader for it",
        kernel_name="nvfp4_multiplier",
        parts=parts,
        config_block=plain(True)[0],
        needs_inputs=True,
        constants=constants,
        apart=(".input_scale",),
        apart_file="model-input-scales.safetensors",
        options={
            "type": "object",
            "additionalProperties": False,
            "properties": {"weight_only": {"type": "boolean"}, "mixed_precision": {"type": "boolean"}},
        },
        configure=configure,
    ),
    {},
)
