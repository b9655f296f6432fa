from __future__ import annotations

import pytest
from meaning import adapter, adapters, folder, kinds, problems_of

WANTED = ("adapter-rank", "error", "adapter_model.safetensors")


def with_config(tmp_path, name, **keys):
    return kinds(problems_of(folder(tmp_path, adapter(name, lambda config, tensors: config.update(keys)))))


def test_bad_another_rank(tmp_path):
    assert set(with_config(tmp_path, "plain", r=8)) == {WANTED}


@pytest.mark.parametrize("pattern", [{}, {"down_proj": 4}, {"layers.1.self_attn.q_proj": 2}])
def test_bad_a_pattern_that_does_not_fit(tmp_path, pattern):
    assert WANTED in with_config(tmp_path, "pattern", rank_pattern=pattern)


@pytest.mark.parametrize("rank", [None, 0, -4, "8", 8.0, True])
def test_bad_no_rank(tmp_path, rank):
    assert with_config(tmp_path, "plain", r=rank) == [("adapter-rank", "error", "adapter_config.json")]


@pytest.mark.parametrize("name", sorted(adapters()))
def test_good_ranks_and_patterns_of_peft(tmp_path, name):
    assert with_config(tmp_path, name) == []


def test_good_a_pattern_that_takes_for_ever_decides_nothing(tmp_path):
    assert with_config(tmp_path, "plain", rank_pattern={"(a|a|b|.)*" * 8 + "$x": 9}) == []


@pytest.mark.parametrize("pattern", [{"(": 9}, [], {"q_proj": "4"}, None])
def test_good_patterns_that_are_none(tmp_path, pattern):
    assert with_config(tmp_path, "plain", rank_pattern=pattern) == []
