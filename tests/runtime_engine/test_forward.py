"""Our forward is transformers' forward; padding and batching change nothing; the adapter adds what PEFT's formula says."""

import shutil

import pytest

torch = pytest.importorskip("torch", reason="the engine's environment is not here (make kernels)")
pytest.importorskip("transformers", reason="the engine's environment is not here (make kernels)")

import tiny_release  # noqa: E402

from runtime.engine import adapter, config, load, model, reference_profile  # noqa: E402
from runtime.kernels import reference  # noqa: E402

pytestmark = pytest.mark.heavy
CPU = torch.device("cpu")
FP32_TOLERANCE = 5e-6  # of the largest value: sums in another order, through four layers


def ours(folder, lora=None, dtype=torch.float32):
    checkpoint = load.open_checkpoint(folder, CPU)
    made = model.build(config.text_config(folder), checkpoint, lora, "auto", dtype)
    checkpoint.vision()
    checkpoint.finish()
    return made


@pytest.fixture(scope="module")
def fp32(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fp32")
    return folder, tiny_release.write_base(folder, dtype=torch.float32)


@torch.inference_mode()
@pytest.mark.parametrize(("batch", "tokens"), [(1, 1), (1, 63), (2, 64), (3, 130)])
def test_forward_equals_transformers(fp32, batch, tokens):
    folder, theirs = fp32
    made = ours(folder)
    ids = torch.randint(0, 1000, (batch, tokens), generator=torch.Generator().manual_seed(tokens))
    want = theirs.model(input_ids=ids).last_hidden_state.flatten(0, 1)
    places = torch.arange(tokens).expand(3, batch, tokens).reshape(3, -1)
    got = made.forward(made.embed(ids), places, (batch, tokens))
    assert (got - want).abs().max() <= FP32_TOLERANCE * want.abs().max()
    last = torch.arange(1, batch + 1) * tokens - 1
    assert (made.forward(made.embed(ids), places, (batch, tokens), last) - want[last]).abs().max() <= FP32_TOLERANCE * want.abs().max()


@torch.inference_mode()
def test_right_padding_is_harmless(fp32):
    made = ours(fp32[0])
    ids = torch.randint(0, 1000, (77,), generator=torch.Generator().manual_seed(1))
    padded = torch.cat((made.embed(ids), torch.full((51, 256), 1e3)))
    last = torch.tensor([76])
    exact = made.forward(made.embed(ids), torch.arange(77).expand(3, -1), (1, 77), last)
    assert (made.forward(padded, torch.arange(128).expand(3, -1), (1, 128), last) - exact).abs().max() <= FP32_TOLERANCE * exact.abs().max()


@torch.inference_mode()
def test_adapter_equals_the_hooked_transformers_model(fp32, tmp_path):
    folder, _ = fp32
    tiny_release.write_adapter(tmp_path, folder)
    made = ours(folder, adapter.load_adapter(tmp_path, CPU))
    hooked = reference_profile.ReferenceModel(folder, made.config, adapter.load_adapter(tmp_path, CPU), CPU, torch.float32)
    ids = torch.randint(0, 1000, (40,), generator=torch.Generator().manual_seed(2))
    places, last = torch.arange(40).expand(3, -1), torch.tensor([39])
    want = hooked.forward(made.embed(ids), places, (1, 40), last)
    assert (made.forward(made.embed(ids), places, (1, 40), last) - want).abs().max() <= 2 * FP32_TOLERANCE * want.abs().max()
    bare = ours(folder).forward(made.embed(ids), places, (1, 40), last)
    assert (bare - want).abs().max() > 0.05 * want.abs().max()  # the adapter does something


@torch.inference_mode()
def test_fp8_forward_is_near_its_dequantised_self(fp8, tmp_path):
    """The same codes as BF16 weights differ by the activations' rounding to FP8 only."""
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "dequantised"
    shutil.copytree(fp8, folder)
    tensors = load_file(fp8 / "model.safetensors")
    for name in [name for name in tensors if name.endswith("weight_scale_inv")]:
        weight = name.replace("weight_scale_inv", "weight")
        tensors[weight] = reference.dequantise_weight(tensors[weight], tensors.pop(name)).to(torch.bfloat16)
    save_file(tensors, folder / "model.safetensors")
    quantised, plain = ours(fp8, dtype=torch.bfloat16), ours(folder, dtype=torch.bfloat16)
    assert quantised.plan.describe()["steps"] == [{"backend": "torch_reference", "rows": 0, "columns": 0}]
    ids = torch.randint(0, 1000, (50,), generator=torch.Generator().manual_seed(3))
    places, last = torch.arange(50).expand(3, -1), torch.tensor([49])
    a, b = (m.forward(m.embed(ids), places, (1, 50), last).float() for m in (quantised, plain))
    assert 0 < (a - b).norm() / b.norm() < 0.1
