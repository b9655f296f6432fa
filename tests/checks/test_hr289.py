from __future__ import annotations

import time

import quantised as q


def test_bad_a_pattern_that_never_ends(tmp_path):
    def change(config, tensors):
        q.block(config)["ignore"] += ["re:(.*.*)*x(.*.*)*y(.+)+z$"]
        tensors["model." + "a" * 60 + ".weight"] = ("BF16", [4, 4], bytes(32))

    start = time.monotonic()
    found = q.problems(q.saved(tmp_path, "ct-nvfp4", change))
    assert [(p.kind, p.severity, p.undecided, p.where.file) for p in found] == [("pattern-too-costly", "error", True, "config.json")]
    assert time.monotonic() - start < 6


def test_bad_a_hundred_thousand_slow_entries_cost_no_more(tmp_path):
    def change(config, tensors):
        q.block(config)["modules_to_not_convert"] += [f"(a|a)*(.*)*{n}$" for n in range(100_000)]

    start = time.monotonic()
    assert "pattern-too-costly" in q.kinds(q.saved(tmp_path, "tf-fp8-dense", change))
    assert time.monotonic() - start < 10


def test_good_ordinary_patterns(tmp_path):
    def change(config, tensors):
        q.block(config)["ignore"] += ["re:.*self_attn.*nothing", "re:model\\.layers\\.(7|8)\\..*"]

    assert not q.mine(q.saved(tmp_path, "ct-nvfp4", change))
