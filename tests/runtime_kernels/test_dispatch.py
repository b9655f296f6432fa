"""A path that isn't there is an error; nothing is picked in its place."""

import pytest

torch = pytest.importorskip("torch", reason="the kernels' environment is not here (make kernels)")
pytest.importorskip("triton", reason="the kernels' environment is not here (make kernels)")

from runtime.kernels import dispatch, linear, linear_backends, plain, reference  # noqa: E402

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("capability", [None, (8, 9), (9, 0), (12, 0), (12, 1)])
def test_every_operation_has_a_function_for_every_served_device(capability):
    found = dispatch.operations(capability)
    assert (found.swiglu is plain.swiglu) == (capability is None)


@pytest.mark.parametrize(
    ("operation", "capability"),
    [
        ("linear:triton", None),
        ("linear:cutlass_sm120", (9, 0)),
        ("linear:cutlass_sm120", None),
        ("linear:torch_sm90", (12, 0)),
        ("linear:torch_sm90", (8, 9)),
        ("linear:triton_sm90", (8, 9)),
        ("linear:triton_sm90", (12, 1)),
        ("swiglu", (8, 0)),
        ("nonsense", None),
    ],
)
def test_a_missing_path_raises(operation, capability):
    with pytest.raises(dispatch.MissingPath):
        dispatch.find(operation, capability)


def weights(n=256, k=256):
    return torch.randn(n, k).to(torch.float8_e4m3fn), torch.rand(n // 128, k // 128) + 0.5


def test_auto_is_the_reference_on_a_cpu_and_says_so():
    plan = linear.make_plan("auto", None, [weights()])
    assert plan.describe()["steps"] == [{"backend": "torch_reference", "rows": 0, "columns": 0}]


@pytest.mark.parametrize("fault", ["untouched", "wrong", "one column"])
def test_the_self_test_finds_a_backend_that_leaves_or_spoils_its_output(fault):
    def backend(asked):
        good = linear_backends.torch_reference(asked)
        if fault == "untouched" and asked.out is not None:
            return asked.out  # what FlashInfer's wrapper does with a shape that it can't take
        return good * 1.02 if fault == "wrong" else good.index_fill(1, torch.tensor([200]), torch.nan)

    with pytest.raises(linear.BackendError):
        linear.self_test(backend, [weights()])


def test_auto_tries_in_order_and_tells_why_the_first_was_refused():
    assert linear.candidates("auto", (12, 0)) == [(linear.Step("cutlass_sm120"),), (linear.Step("triton"),)]
    assert linear.first_choice((9, 0)) == ("triton_sm90", "torch_sm90")
    assert linear.first_choice(None) == ("torch_reference",)
    assert linear.candidates("auto", (8, 9)) == [(linear.Step("triton"),)]
    with pytest.raises(linear.BackendError, match="no path for the CPU"):
        linear.make_plan("triton", None, [weights()])


def test_a_plan_picks_by_rows_and_columns():
    steps = (linear.Step("a"), linear.Step("b", 768, 8192), linear.Step("c", 2048))
    plan = linear.Plan(tuple((step, step.backend.upper()) for step in steps))
    picked = {(rows, columns): plan.pick(rows, columns)[0] for rows in (1, 767, 768, 2047, 2048) for columns in (2560, 8192)}
    assert [picked[rows, 2560] for rows in (1, 767, 768, 2047, 2048)] == ["a", "a", "a", "a", "c"]
    assert [picked[rows, 8192] for rows in (1, 767, 768, 2047, 2048)] == ["a", "a", "b", "b", "c"]
    assert plan.pick(2048, 2560)[1] == "C"


def test_scales_lie_as_the_backend_reads_them():
    assert linear.Plan(((linear.Step("cutlass_sm120"), None),)).layout is True
    assert linear.Plan(((linear.Step("triton"), None),)).layout == "columns"


def test_a_group_is_its_parts_side_by_side():
    parts = [weights(256), weights(128), weights(384)]
    weight, scale, ends = linear.concatenate(parts)
    assert ends == (256, 384)
    codes, x_scale = reference.act_quant(torch.randn(5, 256).to(torch.bfloat16))
    whole = reference.fp8_block_gemm(codes, x_scale, weight, scale)
    assert torch.allclose(whole, torch.cat([reference.fp8_block_gemm(codes, x_scale, *part) for part in parts], 1), atol=1e-4)
