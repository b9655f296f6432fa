"""Activation scales from a file: every accepted form, each format's own convention, and what is refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import tiny

MODULES = (
    "model.layers.0.self_attn.q_proj",
    "model.layers.0.self_attn.k_proj",
    "model.layers.0.self_attn.v_proj",
    "model.layers.0.mlp.down_proj",
)
AMAX = dict(zip(MODULES, (8.0, 8.0, 8.0, 2.5), strict=True))


def f32(value: float) -> bytes:
    return struct.pack("<f", value)


def model(root: Path) -> Path:
    tensors = {f"{name}.weight": tiny.bf16(name, 128, 128) for name in MODULES}
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16"}
    return tiny.write(root / "base", {"model.safetensors": tiny.safetensors(tensors), "config.json": tiny.dumps(config)})


def scales(root: Path, form: str, amax: dict[str, float]) -> Path:
    if form == "json":
        return tiny.write(root, {"amax.json": json.dumps(amax).encode()}) / "amax.json"
    suffix, shape = (".input_scale", []) if form == "multiplier" else (".input_global_scale", [1])
    tensors = {m + suffix: ("F32", shape, f32(a / 2688 if form == "multiplier" else 2688 / a)) for m, a in amax.items()}
    return tiny.write(root, {"scales.safetensors": tiny.safetensors(tensors)}) / "scales.safetensors"


def found(folder: Path, suffix: str) -> dict[str, float]:
    """{module: value} of every tensor with that suffix."""
    out = {}
    for path in folder.glob("*.safetensors"):
        data = path.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        for name, row in header.items():
            if name.endswith(suffix):
                begin = 8 + length + row["data_offsets"][0]
                out[name.removesuffix(suffix)] = struct.unpack("<f", data[begin : begin + 4])[0]
    return out


@pytest.fixture
def convert(cli, tmp_path):
    def run(form: str, file: Path | None, *options: str):
        given = ["--activation-scales", file] if file else []
        return cli("convert", model(tmp_path), "--format", form, "--out", tmp_path / "out", *given, *options, "--json")

    return run


@pytest.mark.parametrize("given", ["json", "multiplier", "divisor"])
def test_compressed_tensors_divides(given, convert, tmp_path):
    said = convert("nvfp4", scales(tmp_path, given, AMAX))
    assert said.code == 0, said.err
    assert found(tmp_path / "out", ".input_global_scale") == pytest.approx({m: 2688 / a for m, a in AMAX.items()}, rel=2e-7)


@pytest.mark.parametrize("given", ["json", "multiplier", "divisor"])
def test_modelopt_multiplies_from_a_shard_of_its_own_that_the_index_lists(given, convert, tmp_path):
    said = convert(
        "modelopt_nvfp4",
        scales(tmp_path, given, AMAX),
        "--include",
        "**.mlp.*",
        "--include",
        "**.self_attn.*",
        "--option",
        "mixed_precision=true",
    )
    assert said.code == 0, said.err
    assert found(tmp_path / "out", ".input_scale") == pytest.approx({m: a / 2688 for m, a in AMAX.items()}, rel=2e-7)
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())["weight_map"]
    assert {index[f"{m}.input_scale"] for m in MODULES} == {"model-input-scales.safetensors"}
    block = json.loads((tmp_path / "out" / "config.json").read_text())["quantization_config"]
    assert block["quant_algo"] == "MIXED_PRECISION"
    assert set(block["quantized_layers"]) == set(MODULES)


def test_the_convention_that_a_file_has_comes_back_to_the_bit(convert, tmp_path):
    """A divisor in gives the same divisor out; going through the amax loses nothing."""
    odd = {m: 0.1 + 0.7310585786300049 * n for n, m in enumerate(MODULES)} | dict.fromkeys(MODULES[:3], 3.3333333)
    assert convert("nvfp4", scales(tmp_path, "divisor", odd)).code == 0
    assert found(tmp_path / "out", ".input_global_scale") == {m: struct.unpack("<f", f32(2688 / a))[0] for m, a in odd.items()}


def test_siblings_that_readers_fuse_share_the_largest(convert, tmp_path):
    assert convert("nvfp4", scales(tmp_path, "json", AMAX | {MODULES[1]: 16.0})).code == 0
    given = found(tmp_path / "out", ".input_global_scale")
    assert {given[m] for m in MODULES[:3]} == {168.0}
    assert given[MODULES[3]] == pytest.approx(2688 / 2.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [({MODULES[3]: 0.0}, "no positive number"), ({MODULES[3]: -1.0}, "no positive number"), ({MODULES[3]: "2"}, "no positive number"),
     ({MODULES[3]: float("nan")}, "is not JSON"), ({"model.layers.0.mlp.gate_proj": 1.0}, "is not quantised")],
)  # fmt: skip
def test_values_and_names_that_can_not_be_right(change, words, convert, tmp_path):
    said = convert("nvfp4", scales(tmp_path, "json", AMAX | change))
    assert said.code == 1
    assert words in said.problems[0]["message"]


def test_a_module_without_a_scale_is_named(convert, tmp_path):
    said = convert("modelopt_nvfp4", scales(tmp_path, "multiplier", {m: a for m, a in AMAX.items() if m != MODULES[0]}))
    assert said.code == 1
    assert said.problems[0]["message"] == f"{MODULES[0]} has no activation scale"


@pytest.mark.parametrize("form", ["nvfp4", "modelopt_nvfp4"])
def test_a_format_that_needs_a_file_says_so(form, convert):
    said = convert(form, None)
    assert said.code == 1
    assert "needs activation scales" in said.problems[0]["message"]


@pytest.mark.parametrize("form", ["nvfp4a16", "fp8_block", "w4a16"])
def test_a_file_that_would_not_be_used_is_refused(form, convert, tmp_path):
    said = convert(form, scales(tmp_path, "json", AMAX))
    assert said.code == 1
    assert "stores no activation scales" in said.problems[0]["message"]


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, b"[1]", tiny.safetensors({"a.weight": ("F32", [1], bytes(4))})])
def test_a_file_that_is_something_else(data, convert, tmp_path):
    file = tiny.write(tmp_path, {"x.safetensors" if data[:1] != b"[" else "x.json": data}) / (
        "x.safetensors" if data[:1] != b"[" else "x.json"
    )
    said = convert("nvfp4", file)
    assert said.code == 1
    assert said.problems
