"""Bases that can't be converted: one clear error each, exit code 1, nothing written. And what a good base becomes, to the last tensor."""

from __future__ import annotations

import json
import struct
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiny

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16"}
DOWN, GATE, UP = (f"model.layers.0.mlp.{word}_proj.weight" for word in ("down", "gate", "up"))
NORM, EMBED = "model.norm.weight", "model.embed_tokens.weight"


def tensors() -> dict[str, tiny.Tensor]:
    return {EMBED: tiny.bf16("e", 16, 128), DOWN: tiny.bf16("d", 128, 128), NORM: ("F32", [128], struct.pack("<128f", *range(128)))}


def base(root: Path, shards: dict[str, dict[str, tiny.Tensor]] | None = None, config: dict | None = None, **files: bytes) -> Path:
    """A folder with a model; several shards get an index."""
    shards = shards or {"model.safetensors": tensors()}
    made = {name: tiny.safetensors(found) for name, found in shards.items()} | {"config.json": tiny.dumps(CONFIG | (config or {}))}
    if len(shards) > 1:
        where = {name: file for file, found in shards.items() for name in found}
        made["model.safetensors.index.json"] = tiny.dumps({"metadata": {}, "weight_map": where})
    return tiny.write(root / "base", made | files)


def two(first: dict[str, tiny.Tensor], second: dict[str, tiny.Tensor]) -> dict[str, dict[str, tiny.Tensor]]:
    return {"model-00001-of-00002.safetensors": first, "model-00002-of-00002.safetensors": second}


@pytest.fixture
def refused(cli, tmp_path):
    """`refused(folder, FORMAT, *options)`: the one message; that nothing was written is looked at here."""

    def run(folder: Path, form: str = "fp8_dynamic", *options: str) -> str:
        said = cli("convert", folder, "--format", form, "--out", tmp_path / "out", *options, "--json")
        assert said.code == 1, said.out + said.err
        assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
        assert len(said.problems) == 1
        return said.problems[0]["message"]

    return run


def test_a_base_that_its_config_calls_quantised(tmp_path, refused):
    assert "quantised already" in refused(base(tmp_path, config={"quantization_config": {"quant_method": "fp8"}}))


def test_a_base_whose_text_config_is_quantised(tmp_path, refused):
    assert "quantised already" in refused(base(tmp_path, config={"text_config": {"quantization_config": {"bits": 4}}}))


@pytest.mark.parametrize("name", [DOWN, "model.layers.0.mlp.down_proj.weight_scale_inv", "model.layers.0.mlp.up_proj.qweight"])
def test_a_base_whose_tensors_are_quantised_whatever_its_config_says(name, tmp_path, refused):
    dtype = "F8_E4M3" if name == DOWN else "F32"
    data = bytes(128 * 128 * (1 if name == DOWN else 4))
    assert "quantised already" in refused(base(tmp_path, {"model.safetensors": {**tensors(), name: (dtype, [128, 128], data)}}))


def test_an_index_that_names_another_shard(tmp_path, refused):
    folder = base(tmp_path, two({DOWN: tiny.bf16("d", 128, 128)}, {NORM: tensors()[NORM], EMBED: tensors()[EMBED]}))
    file = folder / "model.safetensors.index.json"
    file.write_text(file.read_text().replace(f'"{NORM}": "model-00002', f'"{NORM}": "model-00001'))
    assert NORM in refused(folder)


def test_an_index_that_names_a_tensor_which_is_nowhere(tmp_path, refused):
    folder = base(tmp_path, two({DOWN: tiny.bf16("d", 128, 128)}, {NORM: tensors()[NORM]}))
    file = folder / "model.safetensors.index.json"
    index = json.loads(file.read_text())
    index["weight_map"]["model.gone.weight"] = "model-00001-of-00002.safetensors"
    file.write_text(json.dumps(index))
    assert "model.gone.weight" in refused(folder)


def test_an_index_that_names_a_shard_which_is_not_there(tmp_path, refused):
    folder = base(tmp_path, two({DOWN: tiny.bf16("d", 128, 128)}, {NORM: tensors()[NORM]}))
    (folder / "model-00002-of-00002.safetensors").unlink()
    assert "model-00002-of-00002.safetensors" in refused(folder)


def test_a_tensor_in_two_shards(tmp_path, refused):
    first = {DOWN: tiny.bf16("d", 128, 128), UP: tiny.bf16("u", 128, 128)}
    assert DOWN in refused(base(tmp_path, two(first, tensors())))


def test_a_shard_that_the_index_does_not_name(tmp_path, refused):
    folder = base(tmp_path, two({DOWN: tiny.bf16("d", 128, 128)}, {NORM: tensors()[NORM]}))
    (folder / "model-00003-of-00003.safetensors").write_bytes(tiny.safetensors({UP: tiny.bf16("u", 128, 128)}))
    assert "model-00003-of-00003.safetensors" in refused(folder)


def test_a_tensor_twice_in_one_header(tmp_path, refused):
    folder = base(tmp_path)
    data = (folder / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    text = data[8 : 8 + length].rstrip()
    row = json.dumps(json.loads(text)[NORM], separators=(",", ":")).encode()
    again = text[:-1] + b',"model.norm.weight":' + row + b"}"
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(again)) + again + data[8 + length :])
    assert NORM in refused(folder)


@pytest.mark.parametrize("cut", [1, 600, 33_000])
def test_a_truncated_shard(cut, tmp_path, refused):
    folder = base(tmp_path)
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[:-cut])
    assert refused(folder)


@pytest.mark.parametrize("bits", [0x7FC0, 0x7F80, 0xFF80])
@pytest.mark.parametrize("form", ["fp8_block", "fp8_dynamic", "nvfp4a16", "w8a16", "w4a16"])
def test_nan_and_infinity_name_their_tensor(form, bits, tmp_path, refused):
    dtype, shape, data = tiny.bf16("d", 128, 128)
    spoilt = data[:2000] + struct.pack("<H", bits) + data[2002:]
    assert DOWN in refused(base(tmp_path, {"model.safetensors": {**tensors(), DOWN: (dtype, shape, spoilt)}}), form)


def test_mixed_dtypes_inside_a_fused_set(tmp_path, refused):
    wide = ("F32", [128, 128], struct.pack("<16384f", *([0.5] * 16384)))
    message = refused(base(tmp_path, {"model.safetensors": {**tensors(), GATE: tiny.bf16("g", 128, 128), UP: wide}}))
    assert "F32" in message
    assert "BF16" in message
    assert UP.removesuffix(".weight") in message


def test_a_model_that_no_module_of_fits_the_format(tmp_path, refused):
    message = refused(base(tmp_path, {"model.safetensors": {DOWN: tiny.bf16("d", 576, 192)}}), "fp8_block")
    assert "no multiple of 128" in message


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed, and takes F16")
def test_weights_that_only_torch_takes_where_there_is_no_torch(tmp_path, cli):
    half = ("F16", [128, 128], bytes(2 * 128 * 128))
    said = cli("convert", base(tmp_path, {"model.safetensors": {DOWN: half}}), "--format", "fp8_dynamic", "--out", tmp_path / "o", "--json")
    assert said.code == 3
    assert said.problems[0]["kind"] == "tool-missing"
    assert "F16" in said.problems[0]["message"]
    assert not (tmp_path / "o").exists()


def test_matrices_that_are_stored_turned(tmp_path, refused):
    assert "Conv1D" in refused(base(tmp_path, config={"model_type": "gpt2"}))


def test_a_scale_that_the_base_has_already(tmp_path, refused):
    """Not a quantised checkpoint by its names, but ours would have a tensor of that name."""
    clash = {"model.layers.0.mlp.down_proj.weight_shape": ("I64", [2], bytes(16))}
    assert "weight_shape" in refused(base(tmp_path, {"model.safetensors": tensors() | clash}), "w4a16")


@pytest.mark.parametrize(
    ("option", "words"), [("**.gate_proj", "fits no module"), ("**.embed_tokens", "is an embedding"), ("**.norm", "is a norm")]
)
def test_patterns_that_fit_nothing_or_too_much(option, words, tmp_path, refused):
    assert words in refused(base(tmp_path), "fp8_dynamic", "--include", option)


# ------------------------------------------------------------------------------------------------ what a good base becomes


@pytest.mark.parametrize("form", ["fp8_block", "fp8_dynamic", "nvfp4a16", "w8a16", "w4a16"])
def test_nothing_is_lost(form, cli, tmp_path):
    """Every tensor has its row; what is not quantised has the base's bytes and dtype; the config is the base's and one key more."""
    folder = base(
        tmp_path, two({DOWN: tiny.bf16("d", 128, 128), EMBED: tensors()[EMBED]}, {NORM: tensors()[NORM]}), **{"vocab.txt": b"a\nb\n"}
    )
    said = cli("convert", folder, "--format", form, "--out", tmp_path / "out", "--json")
    assert said.code == 0, said.err
    rows = json.loads((tmp_path / "out" / "conversion_manifest.json").read_text())["tensors"]
    kept = {row["name"]: row for row in rows if row["relation"] == "identical"}
    assert set(kept) == {EMBED, NORM}
    assert all(row["sha256"] == row["source"]["sha256"] and row["dtype"] == row["source"]["dtype"] for row in kept.values())
    assert kept[NORM]["dtype"] == "F32"
    assert {row["source"]["tensor"] for row in rows} == {DOWN, EMBED, NORM}
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config.pop("quantization_config")
    assert config == CONFIG
    assert (tmp_path / "out" / "vocab.txt").read_bytes() == b"a\nb\n"


def test_weights_that_are_no_part_of_the_checkpoint_are_carried(cli, tmp_path):
    other = tiny.safetensors({"scale": ("F32", [1], bytes(4))})
    folder = base(tmp_path, **{"extra_scales.safetensors": other})
    assert cli("convert", folder, "--format", "fp8_block", "--out", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "extra_scales.safetensors").read_bytes() == other


@pytest.mark.parametrize("form", ["fp8_block", "modelopt_nvfp4"])
def test_a_tied_head_is_named_as_excluded(form, cli, tmp_path):
    """transformers and vLLM make a layer of it, and would quantise what is tied to the embedding."""
    option = ["--option", "weight_only=true"] if form == "modelopt_nvfp4" else []
    assert cli("convert", base(tmp_path), "--format", form, "--out", tmp_path / "out", *option).code == 0
    block = json.loads((tmp_path / "out" / "config.json").read_text())["quantization_config"]
    assert "lm_head" in (block.get("modules_to_not_convert") or block.get("ignore"))
