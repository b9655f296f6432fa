from __future__ import annotations

import pytest
from meaning import changed, folder, judged, kinds, problems_of, reshaped, saved

STRANGE = {"model_type": "tiny_new", "architectures": ["TinyNewForCausalLM"]}


def test_bad_more_layers_than_the_config_says(tmp_path):
    assert judged(tmp_path, changed("config.json", num_hidden_layers=1)) == [("config-mismatch", "error", "config.json")]


@pytest.mark.parametrize("count", [1, 3])
def test_bad_layers_of_an_unknown_class(tmp_path, count):
    assert judged(tmp_path, changed("config.json", **STRANGE, num_hidden_layers=count)) == [("config-mismatch", "warning", "config.json")]


def test_bad_hidden_size_of_an_unknown_class(tmp_path):
    assert judged(tmp_path, changed("config.json", **STRANGE, hidden_size=9)) == [("config-mismatch", "warning", "config.json")]


def test_bad_experts(tmp_path):
    def pruned(config, tensors):
        config["num_experts"] = config.pop("num_local_experts", 4) - 1

    found = kinds(problems_of(folder(tmp_path, saved("olmoe", pruned))))
    assert ("config-mismatch", "error", "config.json") in found


def test_good_layers_behind_the_last_one_that_are_promised(tmp_path):
    layer = {"model.layers.2.eh_proj.weight": [8, 16]}
    assert judged(tmp_path, changed("config.json", **STRANGE, num_nextn_predict_layers=1) | reshaped(layer)) == []


@pytest.mark.parametrize("name", ["model.vision_tower.encoder.layers.9.w", "model.audio_tower.layers.7.w", "mtp.layers.5.w"])
def test_good_other_towers(tmp_path, name):
    assert judged(tmp_path, changed("config.json", **STRANGE) | reshaped({name: [2]})) == []


def test_good_a_projected_embedding(tmp_path):
    assert judged(tmp_path, changed("config.json", **STRANGE, hidden_size=9, embedding_size=8)) == []
