from __future__ import annotations

import pytest
from meaning import adapter, folder, kinds, problems_of, saved, zeros

BASES = {"llama": {"num_key_value_heads": 2}}
Q = "base_model.model.model.layers.0.self_attn.q_proj"
WANTED = ("adapter-shape", "error", "adapter_model.safetensors")


def beside(tmp_path, name="plain", change=lambda config, tensors: None, base="llama"):
    files = saved(base) | {f"adapter/{path}": data for path, data in adapter(name, change).items()}
    return [(kind, severity, file.removeprefix("adapter/")) for kind, severity, file in kinds(problems_of(folder(tmp_path, files)))]


def test_bad_an_adapter_of_a_wider_model(tmp_path):
    def change(config, tensors):
        for name, (dtype, shape, _) in list(tensors.items()):
            tensors[name] = zeros(dtype, [2 * size if size != 4 else 4 for size in shape])

    assert set(beside(tmp_path, change=change)) == {WANTED}


def test_bad_halves_of_two_pairs(tmp_path):
    found = problems_of(
        folder(tmp_path, adapter("plain", lambda config, tensors: tensors.update({f"{Q}.lora_B.weight": zeros("F32", [32, 8])})))
    )
    assert "adapter-shape" in {p.kind for p in found}


@pytest.mark.parametrize("name", ["plain", "dora", "pattern", "save", "regex", "all-linear", "embedding-head"])
def test_good_beside_its_base(tmp_path, name):
    assert beside(tmp_path, name) == []


def test_good_a_base_whose_names_differ_in_memory(tmp_path):
    assert beside(tmp_path, base="qwen2_vl") == []
