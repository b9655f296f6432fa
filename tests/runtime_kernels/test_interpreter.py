"""Each Triton kernel, run by Triton's interpreter on a CPU, against the plain torch operation.

The interpreter's cast to FP8 is wrong and its cast to BF16 truncates, so all are carried in FP32 here and codes are cast by
torch: they are then equal bit for bit. It can't see races, layouts or shared memory.
"""

import pytest

torch = pytest.importorskip("torch", reason="the kernels' environment is not here (make kernels)")
pytest.importorskip("triton", reason="the kernels' environment is not here (make kernels)")

from runtime.kernels import plain, reference  # noqa: E402
from runtime.kernels import sm89_fp8_act_quant as act  # noqa: E402
from runtime.kernels import sm89_fp8_block_gemm as sm89  # noqa: E402
from runtime.kernels import sm89_fp8_norm_quant as norm  # noqa: E402
from runtime.kernels import sm90_fp8_block_gemm as sm90  # noqa: E402
from runtime.kernels import smxx_bf16_attention as attention  # noqa: E402
from runtime.kernels import smxx_bf16_delta as delta  # noqa: E402
from runtime.kernels.product import Product  # noqa: E402

pytestmark = pytest.mark.heavy
TOLERANCE = 1e-5  # FP32 sums in another order; of the value, or of the largest one


@pytest.fixture(autouse=True)
def carrier(monkeypatch):
    monkeypatch.setattr(act, "CODES", torch.float32)


def random(*shape, seed=0, scale=1.0):
    """BF16 values in FP32."""
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale).to(torch.bfloat16).float()


def same_codes(got, want):
    assert torch.equal(got.to(torch.float8_e4m3fn).view(torch.uint8), want.view(torch.uint8))


def same_scales(got, want, quant):
    """Equal, and in memory as asked: along the rows of the matrix, or along its columns."""
    assert torch.equal(got, want)
    assert got.stride() == ((1, got.shape[0]) if quant == "columns" else (got.shape[1], 1))


def close(got, want):
    assert got.shape == want.shape
    assert ((got.float() - want.float()).abs() <= TOLERANCE * want.float().abs().max()).all(), (got.float() - want.float()).abs().max()


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("columns", [128, 256, 2560])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_quantiser_is_bit_exact(rows, columns, scale):
    x = random(rows, columns, scale=scale)
    x[0, :128] = 0
    codes, scales = act.act_quant(x)
    want, want_scales = reference.act_quant(x)
    same_codes(codes, want)
    assert torch.equal(scales, want_scales)


def test_quantiser_keeps_nan_and_infinity_visible():
    x = random(2, 256)
    x[0, 3], x[1, 200] = torch.nan, torch.inf
    codes, scales = act.act_quant(x)
    want, want_scales = reference.act_quant(x)
    assert torch.equal(codes.isnan(), want.float().isnan())
    assert torch.equal(scales, want_scales)
    assert want.float()[0, 3].isnan()
    assert want_scales[1, 1].isinf()


@pytest.mark.parametrize("m", [1, 33, 70])
@pytest.mark.parametrize("splits", [1, 2, 4])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("gemm", [sm89, sm90])
def test_gemm_against_fp32(gemm, m, splits, columns):
    n, k, rank = 384, 512, 16
    codes, scale = reference.act_quant(random(m, k))
    scale = scale.t().contiguous().t() if columns else scale
    weight, weight_scale = random(n, k, seed=1).to(torch.float8_e4m3fn), torch.rand(n // 128, k // 128) + 0.5
    t, up = random(m, 3 * rank, seed=2), random(n, rank, seed=3)
    sizes = sm89.Sizes(32, 64, splits, 4, 2)
    out = torch.full((splits, m, n) if splits > 1 else (m, n), torch.nan)
    got = gemm.fp8_block_gemm(Product(codes, scale, weight, weight_scale, t, up, (128, 256), partial=True, out=out), sizes)
    got = got.float().sum(0) if splits > 1 else got.float()
    want = reference.fp8_block_gemm(codes, scale, weight, weight_scale)
    for part in range(3):
        own = slice(part * 128, part * 128 + 128)
        want[:, own] += t[:, part * rank : (part + 1) * rank].float() @ up[own].float().t()
    close(got, want)


LAYOUTS = pytest.mark.parametrize("quant", [True, "columns"])


@LAYOUTS
@pytest.mark.parametrize("parts", [0, 1, 3])
def test_add_norm(parts, quant):
    m, n = 5, 384
    residual, weight = random(m, n), random(n, seed=1, scale=0.1)
    update = None if parts == 0 else random(m, n, seed=2) if parts == 1 else torch.randn(parts, m, n)
    got, want = norm.add_norm(update, residual, weight, 1e-6, quant), plain.add_norm(update, residual, weight, 1e-6, True)
    close(got[0], want[0])
    close(got[1], want[1])
    same_codes(got[2], reference.act_quant(got[1])[0])
    same_scales(got[3], reference.act_quant(got[1])[1], quant)


@LAYOUTS
@pytest.mark.parametrize("rank", [None, 16])
@pytest.mark.parametrize("m", [6, 70])
def test_swiglu(m, rank, quant):
    y = random(m, 512)
    pending = None if rank is None else (random(m, 2 * rank, seed=1), random(512, rank, seed=2))
    got, want = norm.swiglu(y, pending, quant), plain.swiglu(y, pending, True)
    close(got[0], want[0])
    same_codes(got[1], reference.act_quant(got[0])[0])
    same_scales(got[2], reference.act_quant(got[0])[1], quant)


@pytest.mark.parametrize("decay_scale", [None, 1.4426950408889634])
def test_delta_inputs(decay_scale):
    batch, tokens, heads, dim = 2, 70, (2, 4), 64
    mixed = random(batch * tokens, (2 * heads[0] + 2 * heads[1]) * dim)
    conv, ab = random((2 * heads[0] + heads[1]) * dim, 4, seed=1), random(batch * tokens, 2 * heads[1], seed=2, scale=4)
    rest = (conv, torch.rand(heads[1]) + 0.5, random(heads[1], seed=3), (batch, tokens), heads, dim, decay_scale)
    got, want = delta.delta_inputs(mixed, ab, *rest), plain.delta_inputs(mixed, ab, *rest)
    for a, b in zip(got[:3], want[:3], strict=True):
        close(a, b)
    assert torch.allclose(got[3], want[3], rtol=1e-5, atol=1e-5)
    close(got[4], want[4])


@LAYOUTS
@pytest.mark.parametrize("dim", [64, 128])
def test_gated_norm(dim, quant):
    x, wide, weight = random(5, 256 // dim, dim), random(5, 512, seed=1), random(dim, seed=2)
    gate = wide[:, 256:]
    got, want = delta.gated_norm(x, gate, weight, 1e-6, quant), plain.gated_norm(x, gate, weight, 1e-6, True)
    close(got[0], want[0])
    same_codes(got[1], reference.act_quant(got[0])[0])
    same_scales(got[2], reference.act_quant(got[0])[1], quant)


def test_head_norm_rotary():
    heads, dim, rows = (4, 2), 64, 9
    mixed = random(rows, (2 * heads[0] + 2 * heads[1]) * dim)
    inverse, axis = 1.0 / (1e4 ** (torch.arange(8) / 8)), torch.tensor([0, 1, 2, 0, 1, 2, 0, 0])
    table = reference.rotary_table(torch.arange(rows).expand(3, -1) * 3, inverse, axis, torch.float32)
    rest = (random(dim, seed=1, scale=0.1), random(dim, seed=2, scale=0.1), table, heads, 1e-6)
    for got, want in zip(attention.head_norm_rotary(mixed, *rest), plain.head_norm_rotary(mixed, *rest), strict=True):
        close(got, want)


@LAYOUTS
def test_sigmoid_gate(quant):
    x, mixed = random(6, 256), random(6, 1024, seed=1)
    got, want = attention.sigmoid_gate(x, mixed, 64, quant), plain.sigmoid_gate(x, mixed, 64, True)
    close(got[0], want[0])
    same_codes(got[1], reference.act_quant(got[0])[0])
    same_scales(got[2], reference.act_quant(got[0])[1], quant)
