from __future__ import annotations

import pytest
from meaning import adapter, adapters, folder, kinds, problems_of

WANTED = ("adapter-tensor-missing", "error", "adapter_model.safetensors")


@pytest.mark.parametrize(
    ("name", "part"),
    [("plain", "lora_A.weight"), ("plain", "lora_B.weight"), ("dora", "lora_magnitude_vector"), ("lora_bias", "lora_B.weight")],
)
def test_bad_half_a_pair(tmp_path, name, part):
    def change(config, tensors):
        del tensors[next(n for n in tensors if n.endswith(part))]

    assert kinds(problems_of(folder(tmp_path, adapter(name, change)))) == [WANTED]


def test_bad_a_saved_module_is_missing(tmp_path):
    found = problems_of(folder(tmp_path, adapter("save", lambda config, tensors: tensors.pop("base_model.model.lm_head.weight"))))
    assert kinds(found) == [WANTED]
    assert "'lm_head'" in found[0].message


@pytest.mark.parametrize("name", sorted(adapters()))
def test_good_what_peft_saves(tmp_path, name):
    assert problems_of(folder(tmp_path, adapter(name))) == []
