"""HR516 card-relation: base_model_relation and its fit to the files."""

import json

import pytest
import tiny
from cards import judged, kinds

CARD = ("card-relation", "error", "README.md")
WARNING = ("card-relation", "warning", "README.md")
KEY = "base_model_relation"
ADAPTER = {
    "adapter_config.json": json.dumps({"base_model_name_or_path": "example-org/tiny-base", "peft_type": "LORA"}).encode(),
    "adapter_model.safetensors": tiny.safetensors({"base_model.model.x.lora_A.weight": tiny.bf16("a", 2, 8)}),
}
NO_MODEL = {"model.safetensors": None, "config.json": None, "generation_config.json": None}


@pytest.mark.parametrize("value", ["finetuned", "quantised", "Quantized", "distill", "", "null", "[finetune]", "1"])
def test_bad_values(tmp_path, value):
    assert kinds(judged(tmp_path, front={KEY: value})) == {CARD}


def test_bad_value_gets_the_nearest(tmp_path):
    assert "quantized" in judged(tmp_path, front={KEY: "quantised"})[0].mend


def test_bad_adapter_over_a_whole_model(tmp_path):
    assert kinds(judged(tmp_path, front={KEY: "adapter"})) == {CARD}


@pytest.mark.parametrize("relation", ["finetune", "merge", "quantized"])
def test_bad_model_over_an_adapter(tmp_path, relation):
    assert kinds(judged(tmp_path, front={KEY: relation}, files={**ADAPTER, **NO_MODEL})) == {CARD}


def test_bad_looks_unlikely(tmp_path):
    assert kinds(judged(tmp_path / "a", front={KEY: "quantized"})) == {WARNING}
    assert kinds(judged(tmp_path / "b", spec={"weights": {"format": "fp8_block"}})) == {WARNING}
    assert kinds(judged(tmp_path / "c", front={"base_model": None})) == {WARNING}


@pytest.mark.parametrize("relation", ["finetune", "merge", None])
def test_good_models(tmp_path, relation):
    assert not judged(tmp_path, front={KEY: relation})


def test_good_adapters(tmp_path):
    assert not judged(tmp_path / "a", front={KEY: "adapter"}, files={**ADAPTER, **NO_MODEL})
    lora = {"pytorch_lora_weights.safetensors": ADAPTER["adapter_model.safetensors"], **NO_MODEL}
    assert not judged(tmp_path / "b", front={KEY: "adapter"}, files=lora)
    assert not judged(tmp_path / "c", front={KEY: "adapter"}, files=ADAPTER)


def test_good_quantised(tmp_path):
    config = json.loads(tiny.model()["config.json"])
    files = {"config.json": tiny.dumps({**config, "quantization_config": {"quant_method": "fp8"}})}
    assert not judged(tmp_path / "a", front={KEY: "quantized"}, files=files)
    assert not judged(tmp_path / "b", front={KEY: "quantized"}, files={"tiny-Q4_K_M.gguf": b"GGUF", **NO_MODEL})
