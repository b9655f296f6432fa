from __future__ import annotations

import pytest
import quantised as q


@pytest.mark.parametrize(
    ("status", "severity"),
    [("frozen", "warning"), ("initialized", "warning"), ("decompressed", "warning"), ("done", "error"), (3, "error"), (None, "error")],
)
def test_bad_packed_weights_and_another_status(tmp_path, status, severity):
    def change(config, tensors):
        q.block(config)["quantization_status"] = status

    assert q.mine(q.saved(tmp_path, "ct-nvfp4", change)) == {("quantization-status", severity, "config.json")}


def test_good_older_releases_are_frozen(tmp_path):
    def change(config, tensors):
        q.block(config)["quantization_status"] = "frozen"

    assert not q.mine(q.saved(tmp_path, "ct-fp8", change))
    assert not q.mine(q.saved(tmp_path / "2", "ct-nvfp4"))
