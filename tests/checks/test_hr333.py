from __future__ import annotations

import pytest
from meaning import adapter, folder, problems_of


def renamed(tmp_path, old, new, name="plain"):
    def change(config, tensors):
        for key in list(tensors):
            tensors[key.replace(old, new)] = tensors.pop(key)

    return problems_of(folder(tmp_path, adapter(name, change)))


@pytest.mark.parametrize(
    ("old", "new"), [("base_model.model.", ""), ("base_model.model.", "peft."), (".lora_A.weight", ".lora_A.default.weight")]
)
def test_bad_names_that_peft_does_not_load(tmp_path, old, new):
    found = renamed(tmp_path, old, new)
    assert ("adapter-tensor-unused", "error") in {(p.kind, p.severity) for p in found}
    assert {p.where.file for p in found} == {"adapter_model.safetensors"}


def test_bad_dora_that_is_switched_off(tmp_path):
    found = problems_of(folder(tmp_path, adapter("dora", lambda config, tensors: config.update(use_dora=False))))
    assert [p.kind for p in found] == ["adapter-tensor-unused"]
    assert "use_dora" in found[0].message


@pytest.mark.parametrize("name", ["embedding-head", "save", "tokens", "lora_bias"])
def test_good_other_tensors_that_peft_saves(tmp_path, name):
    assert renamed(tmp_path, "nothing", "nothing", name) == []


def test_good_other_kinds_of_adapters(tmp_path):
    files = adapter("plain", lambda config, tensors: config.update(peft_type="IA3"))
    assert problems_of(folder(tmp_path, files)) == []
