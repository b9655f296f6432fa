from __future__ import annotations

import pytest
from meaning import adapter, adapters, folder, kinds, problems_of, saved

WANTED = ("adapter-target", "error", "adapter_model.safetensors")


def with_config(tmp_path, name, **keys):
    return kinds(problems_of(folder(tmp_path, adapter(name, lambda config, tensors: config.update(keys)))))


@pytest.mark.parametrize("targets", [["q_proj"], ["q_proj", "proj"], "model.layers.0.self_attn.(q|v)_proj", ".*k_proj", ["_proj"]])
def test_bad_not_targeted(tmp_path, targets):
    assert WANTED in with_config(tmp_path, "plain", target_modules=targets)


def test_bad_a_layer_that_is_not_to_be_transformed(tmp_path):
    assert with_config(tmp_path, "plain", layers_to_transform=[0]) == [WANTED] * 2


def test_bad_no_expression(tmp_path):
    assert with_config(tmp_path, "plain", target_modules="(q_proj") == [("adapter-target", "error", "adapter_config.json")]


def test_bad_a_module_that_the_base_lacks(tmp_path):
    def change(config, tensors):
        for name in list(tensors):
            if "layers.1.self_attn.v_proj" in name:
                tensors[name.replace("layers.1.", "layers.7.")] = tensors.pop(name)

    files = saved("llama") | {f"adapter/{path}": data for path, data in adapter("plain", change).items()}
    assert kinds(problems_of(folder(tmp_path, files))) == [("adapter-target", "error", "adapter/adapter_model.safetensors")]


@pytest.mark.parametrize("name", sorted(adapters()))
def test_good_what_peft_targets(tmp_path, name):
    assert with_config(tmp_path, name) == []


@pytest.mark.parametrize("targets", [None, [], "all-linear", ".*_proj", ["self_attn.q_proj", "v_proj"], [None, 3, "q_proj", "v_proj"]])
def test_good_other_ways_to_say_it(tmp_path, targets):
    assert with_config(tmp_path, "plain", target_modules=targets) == []
