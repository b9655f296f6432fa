from __future__ import annotations

import quantised as q


def test_bad_a_key_in_a_group_or_its_arguments(tmp_path):
    for number, path in enumerate(((), ("weights",), ("input_activations",))):

        def change(config, tensors, path=path):
            value = q.block(config)["config_groups"]["group_0"]
            for step in path:
                value = value[step]
            value["from_the_future"] = None

        config, _, tensors = q.checkpoint("ct-nvfp4")
        change(config, tensors)
        assert q.mine(q.write(tmp_path / str(number), config, tensors)) == {("quantization-unknown-key", "warning", "config.json")}


def test_good_a_key_at_the_top(tmp_path):
    def change(config, tensors):
        q.block(config)["from_the_future"] = {"a": 1}

    assert not q.mine(q.saved(tmp_path, "ct-nvfp4", change))
