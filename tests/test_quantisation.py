"""Quantisation as a value: what tools saved fits its Layout, real configs are read, and no config of any shape makes a check raise."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import quantised as q
from hypothesis import given, settings
from hypothesis import strategies as st

from hubrelease import quantisation, weights
from hubrelease.quantisation import block_fp8, compressed_tensors, modelopt
from hubrelease.quantisation.rules import Names
from hubrelease.quantisation.scheme import Declaration
from hubrelease.quantisation.values import e4m3, largest, negative, not_finite, numbers, powers_of_two

SAVED = sorted(q.headers())
WITH_REMARKS = {  # what the tools' own checkpoints are rightly told
    "ct-w4a16_asym": {"asymmetric-int"},
    "ct-moe-nvfp4": {"declared-but-unquantised"},  # experts are one parameter in transformers 5: compressed-tensors does not see them
    "ct-moe-fp8-dynamic": {"declared-but-unquantised"},
    "tf-fp8-narrow": {"fused-mixed-scheme"},  # k_proj and v_proj have 64 rows, so transformers leaves them whole
}


@pytest.mark.parametrize("name", SAVED)
def test_what_a_tool_saved_has_no_fault(tmp_path, name):
    assert q.kinds(q.saved(tmp_path, name)) == WITH_REMARKS.get(name, set())


@pytest.mark.parametrize("name", [n for n in SAVED if n.startswith(("ct-", "mo-", "tf-fp8"))])
def test_a_layout_names_the_tensors_that_the_tool_wrote(tmp_path, name):
    """What a conversion would write for the same weight: the same names, dtypes and shapes."""
    found = q.saved(tmp_path, name).quantised[0]
    assert found.layouts
    for module, layout in found.layouts.items():
        parts = found.quantised[module].parts
        logical = layout.logical(parts[layout.codes.leaf].tensor.shape)
        wanted = {leaf: tensor for leaf, tensor in layout.tensors(logical).items() if leaf in parts or layout.parts[0].presence == "always"}
        for leaf, (_, shape) in wanted.items():
            located = parts.get(leaf)
            if located is not None:
                assert located.tensor.dtype in next(p.dtypes for p in layout.parts if p.leaf == leaf)
                assert located.tensor.shape == shape or located.tensor.elements == 1


@pytest.mark.parametrize("name", SAVED)
def test_it_is_the_same_in_shards(tmp_path, name):
    config, second, tensors = q.checkpoint(name)
    names = list(tensors)
    shards = {f"model-0000{k + 1}-of-00003.safetensors": names[k::3] for k in range(3)}
    assert q.kinds(q.write(tmp_path, config, tensors, second=second, shards=shards)) == WITH_REMARKS.get(name, set())


# ------------------------------------------------------------------------------------------------------- blocks to write


def test_a_block_that_we_write_is_read_as_what_it_says():
    for name, layout in (
        ("FP8_DYNAMIC", "fp8_dynamic"),
        ("NVFP4A16", "nvfp4a16"),
        ("NVFP4", "nvfp4"),
        ("W8A16", "w8a16"),
        ("W4A16", "w4a16"),
        ("FP8_BLOCK", "fp8_block"),
    ):
        scheme = quantisation.read({"quantization_config": compressed_tensors.config_block(name, ["lm_head"])})
        assert scheme.release_format == layout
        assert not scheme.faults
    scheme = quantisation.read({"quantization_config": block_fp8.config_block(["lm_head"])})
    assert (scheme.release_format, scheme.faults) == ("fp8_block", ())
    for inputs in (True, False):
        block = modelopt.config_block(["lm_head"], inputs=inputs)
        scheme = quantisation.read(
            {"quantization_config": block}, modelopt.hf_quant_config(["lm_head"], {"name": "x", "version": "1"}, inputs=inputs)
        )
        assert (scheme.release_format, scheme.faults) == ("modelopt_nvfp4", ())


def test_the_tensors_of_one_linear():
    def of(name):
        scheme = quantisation.read({"quantization_config": compressed_tensors.config_block(name, ())})
        return scheme.groups[0].layout.tensors((9216, 2560))

    assert of("NVFP4") == {"weight_packed": ("U8", (9216, 1280)), "weight_scale": ("F8_E4M3", (9216, 160)),
                           "weight_global_scale": ("F32", (1,)), "input_global_scale": ("F32", (1,))}  # fmt: skip
    assert of("W4A16") == {"weight_packed": ("I32", (9216, 320)), "weight_scale": ("BF16", (9216, 20)), "weight_shape": ("I64", (2,))}
    assert of("FP8_DYNAMIC") == {"weight": ("F8_E4M3", (9216, 2560)), "weight_scale": ("BF16", (9216, 1))}
    layout = quantisation.read({"quantization_config": block_fp8.config_block(())}).groups[0].layout
    assert layout.tensors((576, 7168)) == {"weight": ("F8_E4M3", (576, 7168)), "weight_scale_inv": ("F32", (5, 56))}


# ---------------------------------------------------------------------------------------------------------- real configs

CONFIGS = Path(__file__).parent.parent.parent / "shared" / "fixtures" / "configs"
REAL = (
    "deepseek-r1", "deepseek-v4-flash-nvfp4", "glm-5-fp8", "glm-5.1-nvfp4", "gpt-oss-20b", "kimi-k2.5", "qwen3-14b-mlx-4bit", "qwen3-235b-a22b-fp8",
    "qwen3-32b-fp8-static", "qwen3-32b-fp8",
)  # fmt: skip


def real(name):
    file = CONFIGS / f"{name}.config.json"
    if not file.exists():
        pytest.skip(f"1 config skipped: {name} is not in ../shared/fixtures/configs")
    second = CONFIGS / f"{name}.hf_quant_config.json"
    return json.loads(file.read_text()), json.loads(second.read_text()) if second.exists() else None


def fitting(name, config, second):
    """The tensors of three layers and what the config's lists name, in the declared format."""
    scheme = quantisation.read(config, second)
    prefix = "language_model.model" if "text_config" in config else "model"
    if name == "deepseek-v4-flash-nvfp4":
        prefix = ""
    modules = {}
    attention = (
        ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj")
        if name in ("deepseek-r1", "glm-5-fp8", "glm-5.1-nvfp4", "kimi-k2.5")
        else ("q_proj", "k_proj", "v_proj", "o_proj")
    )
    for layer in (0, 1, 3):
        at = f"{prefix}.layers.{layer}".lstrip(".")
        if not prefix:
            modules |= {f"{at}.attn.wq_a": (256, 256), f"{at}.ffn.shared_experts.w1": (256, 256)}
            modules |= {f"{at}.ffn.experts.{e}.{w}": (256, 256) for e in range(2) for w in ("w1", "w2", "w3")}
            continue
        modules |= {f"{at}.self_attn.{leaf}": (576 if leaf == "kv_a_proj_with_mqa" else 256, 256) for leaf in attention}
        modules |= {f"{at}.mlp.{leaf}": (256, 256) for leaf in ("gate_proj", "up_proj", "down_proj")} if layer < 3 else {}
        modules |= (
            {f"{at}.mlp.experts.{e}.{leaf}": (256, 256) for e in range(2) for leaf in ("gate_proj", "up_proj", "down_proj")}
            if layer == 3
            else {}
        )
        modules |= {f"{at}.mlp.shared_experts.{leaf}": (256, 256) for leaf in ("gate_proj", "up_proj", "down_proj")} if layer == 3 else {}
    whole = {
        f"{prefix}.embed_tokens",
        "lm_head" if prefix != "language_model.model" else "language_model.lm_head",
        f"{prefix}.layers.3.mlp.gate",
    }
    whole |= {entry.text for entry in scheme.exclusions if not set(entry.text) & set("*\\[(")}
    modules |= {name: (256, 256) for name in whole if name not in modules and not name.startswith("re:")}
    return scheme, modules, whole


def filled(name, config, second):
    """A checkpoint that fits a real config: (tensors, modules that are quantised)."""
    scheme, modules, whole = fitting(name, config, second)
    assert scheme is not None
    assert not scheme.faults
    applied = Declaration(scheme, Names(modules))
    tensors, quantised = {}, []
    for module, shape in modules.items():
        declared = applied.of(module)
        parts = {}
        if name == "qwen3-14b-mlx-4bit" and module not in whole:
            parts = {"weight": ("U32", (256, 32)), "scales": ("F16", (256, 4)), "biases": ("F16", (256, 4))}
        elif name.startswith("deepseek-v4") and ".attn." in module:
            parts = {"weight": ("F8_E4M3", shape), "scale": ("F8_E8M0", (2, 2))}  # what the map does not name is block FP8
        elif module not in whole and declared.layout is not None and declared.state == "quantised":
            parts = declared.layout.tensors(shape)
        quantised += [module] if parts else []
        for leaf, (dtype, size) in (parts or {"weight": ("BF16", shape)}).items():
            tensors[f"{module}.{leaf}"] = (dtype, list(size), b"")
        if scheme.static_kv and module.endswith(("k_proj", "v_proj", "kv_a_proj_with_mqa")) and "self_attn" in module:
            tensors[f"{module}.{'v' if module.endswith('v_proj') else 'k'}_scale"] = ("F32", [], q.scalar(1.0))
    return {n: (d, s, data or q.fill(n, d, s, tensors)) for n, (d, s, data) in tensors.items()}, quantised


@pytest.mark.parametrize("name", REAL)
def test_a_checkpoint_that_fits_a_real_config_has_no_fault(tmp_path, name):
    config, second = real(name)
    tensors, quantised = (q.mxfp4()[1], ["experts"]) if name == "gpt-oss-20b" else filled(name, config, second)
    release = q.write(tmp_path, config, tensors, second=second)
    assert [(p.kind, p.message) for p in q.problems(release)] == []
    assert quantised


def drop_scale(config, tensors, module):
    del tensors[next(n for n in tensors if n.startswith(module + ".weight_scale"))]
    return "scale-missing"


def nan_scale(config, tensors, module):
    name = next(n for n in tensors if n.startswith(module + ".weight_scale"))
    dtype, shape, data = tensors[name]
    bad = {"F8_E4M3": b"\x7f", "F8_E8M0": b"\xff", "BF16": b"\xc0\x7f", "F32": b"\0\0\xc0\x7f"}[dtype]
    tensors[name] = (dtype, shape, bad + data[len(bad) :])
    return "non-finite-scale"


def wrong_shape(config, tensors, module):
    name = next(n for n in tensors if n.startswith(module + ".weight_scale"))
    tensors[name] = (tensors[name][0], [7], q.fill(name, tensors[name][0], [7]))
    return "scale-shape"


def whole_weight(config, tensors, module):
    for name in [n for n in tensors if n.startswith(module + ".")]:
        del tensors[name]
    tensors[module + ".weight"] = ("BF16", [256, 256], bytes(2 * 256 * 256))
    return "declared-but-unquantised"


def all_whole(config, tensors, module):
    for name in list(tensors):
        _, shape, _ = tensors.pop(name)
        if name.endswith((".weight", ".weight_packed")):
            tensors[name.replace("_packed", "")] = ("BF16", shape, q.fill(name, "BF16", shape))
    return "stale-quant-config"


def listed(config, tensors, module):
    block = config["quantization_config"] if "quantization_config" in config else config["text_config"]["quantization_config"]
    block.setdefault("modules_to_not_convert" if block.get("quant_method") == "fp8" else "ignore", []).append(module)
    return "ignored-but-quantised"


@pytest.mark.parametrize(
    "name", ["deepseek-r1", "glm-5-fp8", "glm-5.1-nvfp4", "kimi-k2.5", "qwen3-235b-a22b-fp8", "qwen3-32b-fp8-static", "qwen3-32b-fp8"]
)
@pytest.mark.parametrize("spoil", [drop_scale, nan_scale, wrong_shape, whole_weight, all_whole, listed])
def test_a_fault_in_a_checkpoint_of_a_real_config_is_found(tmp_path, name, spoil):
    config, second = real(name)
    tensors, quantised = filled(name, config, second)
    module = next(m for m in quantised if m.endswith(("down_proj", "o_proj")))
    kind = spoil(config, tensors, module)
    assert kind in q.kinds(q.write(tmp_path, config, tensors, second=second))


def test_every_real_config_is_found():
    names = [name for name in REAL if (CONFIGS / f"{name}.config.json").exists()]
    if not names:
        pytest.skip(f"{len(REAL)} configs skipped: ../shared/fixtures is not here")
    for name in names:
        assert quantisation.read(*real(name)) is not None


# --------------------------------------------------------------------------------------------------------------- hostile

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = [
    "quant_method", "quant_algo", "config_groups", "ignore", "format", "modules_to_not_convert", "weight_block_size", "activation_scheme", "scale_fmt",
    "quantized_layers", "kv_cache_scheme", "kv_cache_quant_algo", "group_size", "bits", "quantization_status", "exclude_modules", "ignored_layers", "load_in_4bit",
]  # fmt: skip
METHODS = st.sampled_from(["fp8", "compressed-tensors", "modelopt", "awq", "mxfp4", "bitsandbytes"]) | JSON
BLOCKS = st.builds(lambda method, rest: {**rest, "quant_method": method}, METHODS, st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6))


@settings(max_examples=60)
@given(block=BLOCKS | JSON, second=JSON, name=st.sampled_from(["ct-nvfp4", "tf-fp8-dense", "mo-mixed"]))
def test_no_block_makes_a_check_raise(tmp_path_factory, block, second, name):
    config, _, tensors = q.checkpoint(name)
    config["quantization_config"] = block
    q.problems(q.write(tmp_path_factory.mktemp("r"), config, tensors, second=second))


@settings(max_examples=60)
@given(data=st.data(), name=st.sampled_from(["ct-nvfp4", "ct-w4a16", "tf-fp8-dense", "mo-mixed", "mo-moe-nvfp4"]))
def test_no_value_inside_a_real_block_makes_a_check_raise(tmp_path_factory, data, name):
    config, second, tensors = q.checkpoint(name)
    place = config["quantization_config"]
    for _ in range(data.draw(st.integers(0, 4))):
        inner = [value for value in (place.values() if isinstance(place, dict) else place) if isinstance(value, (dict, list)) and value]
        if not inner:
            break
        place = data.draw(st.sampled_from(inner))
    key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[key] = data.draw(JSON)
    q.problems(q.write(tmp_path_factory.mktemp("r"), config, tensors, second=second))


@settings(max_examples=60)
@given(data=st.data(), name=st.sampled_from(["ct-nvfp4", "ct-w4a16_asym", "tf-fp8-dense", "mo-nvfp4-kv", "tf-bnb-nf4"]))
def test_no_dtype_or_shape_makes_a_check_raise(tmp_path_factory, data, name):
    config, second, tensors = q.checkpoint(name)
    for tensor in data.draw(st.lists(st.sampled_from(sorted(tensors)), min_size=1, max_size=5)):
        dtype = data.draw(st.sampled_from([d for d in weights.BITS if weights.BITS[d] >= 8]))
        shape = data.draw(st.lists(st.integers(0, 20), max_size=3))
        count = weights.BITS[dtype] // 8
        for size in shape:
            count *= size
        if count < 2**20:
            tensors[tensor] = (dtype, shape, bytes([data.draw(st.sampled_from([0, 0x7F, 0xFF, 0x38]))]) * count)
    q.problems(q.write(tmp_path_factory.mktemp("r"), config, tensors, second=second, deep=data.draw(st.booleans())))


# --------------------------------------------------------------------------------------------------------------- numbers


@given(st.binary(min_size=4, max_size=64), st.sampled_from(["F32", "BF16", "F16", "F8_E4M3", "F8_E8M0"]))
def test_what_a_tensor_of_scales_holds(data, dtype):
    import math

    data = data[: len(data) // 4 * 4]
    values = list(numbers(dtype, data))
    special = [v for v in values if not math.isfinite(v)]
    assert not_finite(dtype, data) == (data.count(b"\xff") if dtype == "F8_E8M0" else len(special))
    assert negative(dtype, data) == sum(v < 0 for v in values)
    if dtype != "F8_E8M0":
        assert largest(dtype, data) == max((v for v in values if math.isfinite(v) and v > 0), default=0.0)
    if dtype == "F32" and not special:
        assert powers_of_two(dtype, data) == all(v == 0 or math.frexp(abs(v))[0] == 0.5 or abs(v) < 2**-126 for v in values)


def test_e4m3():
    assert (e4m3()[0x7E], e4m3()[0x01], e4m3()[0x08], e4m3()[0x38], e4m3()[0xFE]) == (448.0, 2.0**-9, 2.0**-6, 1.0, -448.0)


# ----------------------------------------------------------------------------------------------------------------- speed


@pytest.mark.heavy
def test_a_hundred_thousand_tensors_take_seconds(tmp_path):
    config, _, _ = q.checkpoint("mo-moe-nvfp4")
    tensors = {}
    for layer in range(49):
        for expert in range(170):
            for leaf in ("gate_proj", "up_proj", "down_proj"):
                name = f"model.layers.{layer}.mlp.experts.{expert}.{leaf}"
                parts = {
                    "weight": ("U8", [1, 8]),
                    "weight_scale": ("F8_E4M3", [1, 1]),
                    "weight_scale_2": ("F32", []),
                    "input_scale": ("F32", []),
                }
                tensors |= {f"{name}.{part}": (d, s, q.fill(f"{name}.{part}", d, s)) for part, (d, s) in parts.items()}
    q.block(config)["ignore"] = [
        "lm_head",
        *(f"model.layers.{layer}.{part}*" for layer in range(49) for part in ("self_attn", "mlp.shared_experts")),
    ]
    names = list(tensors)
    shards = {f"model-{k:05d}.safetensors": names[k::20] for k in range(20)}
    release = q.write(tmp_path, config, tensors, shards=shards)
    assert len(tensors) > 99_000
    len(release.containers.main.tensors)
    start = time.monotonic()
    assert not q.problems(release)
    assert time.monotonic() - start < 6
