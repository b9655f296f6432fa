from __future__ import annotations

import pytest
import tiny
from meaning import changed, judged, one, reshaped, zeros


@pytest.mark.parametrize(
    ("key", "said"), [("torch_dtype", "float16"), ("torch_dtype", "torch.float32"), ("dtype", "float32"), ("dtype", "half")]
)
def test_bad_declared_otherwise(tmp_path, key, said):
    found = one(tmp_path, changed("config.json", torch_dtype=...) | changed("config.json", **({"torch_dtype": ...} | {key: said})))
    assert (found.kind, found.severity, found.where.pointer) == ("dtype-mismatch", "warning", f"/{key}")


def test_bad_saved_in_float32(tmp_path):
    tensors = {name: zeros("F32", shape) for name, (_, shape, _) in tiny.weights().items()}
    assert judged(tmp_path, {"model.safetensors": tiny.safetensors(tensors)}) == [("dtype-mismatch", "warning", "config.json")]


def test_good_a_router_in_float32(tmp_path):
    strange = changed("config.json", model_type="tiny_new", architectures=["TinyNew"])
    assert judged(tmp_path, strange | reshaped({"model.layers.0.mlp.gate.weight": zeros("F32", [4, 8])})) == []


@pytest.mark.parametrize("said", [None, "auto", 16, "fp8"])
def test_good_nothing_that_can_be_compared(tmp_path, said):
    assert judged(tmp_path, changed("config.json", torch_dtype=said)) == []


def test_good_scales_do_not_count(tmp_path):
    strange = changed("config.json", model_type="tiny_new", architectures=["TinyNew"])
    assert judged(tmp_path, strange | reshaped({"model.layers.0.mlp.up_proj.weight_scale_inv": zeros("F32", [100, 100])})) == []
