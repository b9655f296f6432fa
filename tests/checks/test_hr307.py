from __future__ import annotations

import pytest
import tiny
from meaning import changed, folder, judged, kinds, one, problems_of, reshaped, saved, zeros


@pytest.mark.parametrize("key", ["num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers"])
def test_bad_promised_and_absent(tmp_path, key):
    found = one(tmp_path, changed("config.json", **{key: 1}))
    assert (found.kind, found.severity, found.where.pointer) == ("mtp-missing", "error", f"/{key}")


def test_bad_promised_in_a_nested_config(tmp_path):
    found = problems_of(folder(tmp_path, saved("qwen3_5", lambda config, tensors: config["text_config"].update(mtp_num_hidden_layers=1))))
    assert [(p.kind, p.where.pointer) for p in found] == [("mtp-missing", "/text_config/mtp_num_hidden_layers")]


def test_bad_one_of_two_layers(tmp_path):
    files = changed("config.json", num_nextn_predict_layers=2) | reshaped({"model.layers.2.eh_proj.weight": [8, 16]})
    assert judged(tmp_path, files) == [("mtp-missing", "error", "config.json")]


@pytest.mark.parametrize("name", ["model.layers.2.enorm.weight", "mtp.fc.weight", "model.mtp_layers.0.eh_proj.weight", "model.nextn.0.w"])
def test_good_under_any_of_the_usual_names(tmp_path, name):
    assert judged(tmp_path, changed("config.json", num_nextn_predict_layers=1) | reshaped({name: [8]})) == []


def test_good_in_a_file_outside_of_the_index_is_another_finding(tmp_path):
    extra = {"mtp.safetensors": tiny.safetensors({"mtp.fc.weight": zeros("BF16", [8, 16])})}
    assert judged(tmp_path, changed("config.json", num_nextn_predict_layers=1) | extra) == []


@pytest.mark.parametrize("value", [0, None, False, "1", [1], -1])
def test_good_no_promise(tmp_path, value):
    assert judged(tmp_path, changed("config.json", num_nextn_predict_layers=value)) == []


def test_good_minimax_never_published_its_own(tmp_path):
    assert judged(tmp_path, changed("config.json", num_mtp_modules=3, use_mtp=True)) == []


def test_good_whole_mtp_of_qwen3_5(tmp_path):
    def change(config, tensors):
        config["text_config"]["mtp_num_hidden_layers"] = 1
        full = {
            n.replace("model.language_model.layers.3.", "mtp.layers.0."): t
            for n, t in tensors.items()
            if n.startswith("model.language_model.layers.3.")
        }
        norms = dict.fromkeys(
            ("mtp.norm.weight", "mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight"), zeros("BF16", [256])
        )
        tensors.update({**full, **norms, "mtp.fc.weight": zeros("BF16", [256, 512])})

    assert kinds(problems_of(folder(tmp_path, saved("qwen3_5", change)))) == []
    assert kinds(problems_of(folder(tmp_path / "less", saved("qwen3_5", lambda c, t: (change(c, t), t.pop("mtp.norm.weight")))))) == [
        ("tensor-missing", "error", "model.safetensors")
    ]
