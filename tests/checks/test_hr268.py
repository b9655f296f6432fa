from __future__ import annotations

import quantised as q


def test_bad_asymmetric(tmp_path):
    assert q.mine(q.saved(tmp_path, "ct-w4a16_asym")) == {("asymmetric-int", "warning", "config.json")}


def test_good_symmetric(tmp_path):
    assert not q.mine(q.saved(tmp_path, "ct-w4a16"))
