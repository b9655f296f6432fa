from __future__ import annotations

import pytest
from meaning import changed, judged, one


def settings(**keys):
    return changed("generation_config.json", **keys)


@pytest.mark.parametrize("keys", [
    {"do_sample": False, "temperature": 0.9}, {"temperature": 0.6, "top_p": 0.9}, {"do_sample": None, "top_k": 20}, {"do_sample": False, "min_p": 0.1},
    {"do_sample": False, "typical_p": 0.9}, {"do_sample": False, "epsilon_cutoff": 0.1}, {"do_sample": False, "eta_cutoff": 0.1}, {"num_beams": 1, "early_stopping": True},
    {"length_penalty": 2.0}, {"early_stopping": "never"}, {"pad_token_id": -1}, {"output_scores": True},
])  # fmt: skip
def test_bad_loads_and_can_not_be_saved(tmp_path, keys):
    found = one(tmp_path, settings(**keys))
    assert (found.kind, found.severity, found.where.file) == ("generation-config", "warning", "generation_config.json")
    assert found.where.pointer.removeprefix("/") in keys


@pytest.mark.parametrize(
    "keys",
    [
        {"early_stopping": "yes"},
        {"max_new_tokens": 0},
        {"num_return_sequences": 4},
        {"num_beams": 2, "num_return_sequences": 4},
        {"synced_gpus": True},
    ],
)
def test_bad_is_not_even_loaded(tmp_path, keys):
    assert judged(tmp_path, settings(**keys)) == [("generation-config", "error", "generation_config.json")]


def test_bad_in_a_folder_below(tmp_path):
    assert judged(tmp_path, {"draft/generation_config.json": b'{"temperature": 0.5}'}) == [
        ("generation-config", "warning", "draft/generation_config.json")
    ]


@pytest.mark.parametrize("keys", [
    {"do_sample": True, "temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0.0}, {"do_sample": False, "temperature": 1.0, "top_p": 1.0, "top_k": 50},
    {"num_beams": 4, "early_stopping": True, "length_penalty": 2.0, "num_return_sequences": 4}, {"do_sample": True, "num_return_sequences": 3}, {"max_new_tokens": 2048},
    {"temperature": None, "top_p": None}, {"do_sample": False, "early_stopping": False, "length_penalty": 1.0}, {"repetition_penalty": 1.05, "cache_implementation": "hybrid"},
    {"return_dict_in_generate": True, "output_scores": True}, {"temperature": "hot", "top_p": [1]}, {"max_length": 20, "pad_token_id": 0},
])  # fmt: skip
def test_good_settings(tmp_path, keys):
    assert judged(tmp_path, settings(**keys)) == []
