"""The backends of a block-FP8 linear: one function each, same signature, chosen by name through dispatch.py.

    backend(activation codes, scales, weight, weight scales, t, up, ends, partial, out) → (M, N) BF16 or FP32 parts (P, M, N)

`t` and `up` are the adapter's: t = x A^T of all parts side by side, up one stacked (N, rank) matrix, scaled. `out` (M, N) is
written where the kernel takes one: the self-test poisons it. A backend that
can't take the adapter's product into its own kernel adds it afterwards, part by part.
"""

from __future__ import annotations

from typing import Any

import torch

from . import reference

Ends = tuple[int, ...]  # first column of each part after the first


def add_lora(y: torch.Tensor, t: torch.Tensor | None, up: torch.Tensor | None, ends: Ends) -> torch.Tensor:
    """y += t up^T, part by part."""
    if t is None or up is None:
        return y
    if y.device.type == "cpu" and y.dtype != torch.float32:  # see reference.product
        return y.copy_(add_lora(y.float(), t.float(), up.float(), ends))
    rank, starts = up.shape[1], (0, *ends)
    for i, (start, stop) in enumerate(zip(starts, (*ends, y.shape[1]), strict=True)):
        y[:, start:stop].addmm_(t[:, i * rank : (i + 1) * rank], up[start:stop].t())
    return y


def torch_reference(
    codes: torch.Tensor,
    scale: torch.Tensor,
    weight: torch.Tensor,
    weight_scale: torch.Tensor,
    t: torch.Tensor | None = None,
    up: torch.Tensor | None = None,
    ends: Ends = (),
    partial: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """FP32 arithmetic in torch; slow, right, anywhere."""
    y = reference.fp8_block_gemm(codes, scale, weight, weight_scale)
    return add_lora(y, None if t is None else t.float(), None if up is None else up.float(), ends).to(torch.bfloat16)


def triton(
    codes: torch.Tensor,
    scale: torch.Tensor,
    weight: torch.Tensor,
    weight_scale: torch.Tensor,
    t: torch.Tensor | None = None,
    up: torch.Tensor | None = None,
    ends: Ends = (),
    partial: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Our kernel; the adapter's product in its tail, K cut where `partial` allows it."""
    from .sm89_fp8_block_gemm import fp8_block_gemm

    return fp8_block_gemm(codes, scale, weight, weight_scale, t=t, up=up, ends=two(ends), partial=partial, out=out)


def triton_sm90(
    codes: torch.Tensor,
    scale: torch.Tensor,
    weight: torch.Tensor,
    weight_scale: torch.Tensor,
    t: torch.Tensor | None = None,
    up: torch.Tensor | None = None,
    ends: Ends = (),
    partial: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The same with Hopper's tensor memory accelerator."""
    from .sm90_fp8_block_gemm import fp8_block_gemm

    return fp8_block_gemm(codes, scale, weight, weight_scale, t=t, up=up, ends=two(ends), partial=partial, out=out)


def two(ends: Ends) -> tuple[int, int]:
    """The first columns of the second and third part; far away where there is none."""
    first, second = (*ends, 1 << 30, 1 << 30)[:2]
    return first, second


def cutlass_sm120(
    codes: torch.Tensor,
    scale: torch.Tensor,
    weight: torch.Tensor,
    weight_scale: torch.Tensor,
    t: torch.Tensor | None = None,
    up: torch.Tensor | None = None,
    ends: Ends = (),
    partial: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """FlashInfer's CUTLASS kernel; the adapter's product after it."""
    from .sm120_cutlass import gemm

    if out is None:
        out = torch.empty(codes.shape[0], weight.shape[0], dtype=torch.bfloat16, device=codes.device)
    return add_lora(gemm(codes, scale.contiguous(), weight, weight_scale, out), t, up, ends)


_columns: dict[int, tuple[Any, torch.Tensor]] = {}  # weight scales in torch's padded column-major form, made once a weight


def column_scale(weight_scale: torch.Tensor) -> torch.Tensor:
    """(round_up(K/128, 4), N/128) with strides (1, …), as torch's SM90 product wants it."""
    key = weight_scale.data_ptr()
    if key not in _columns:
        rows, blocks = weight_scale.shape
        padded = torch.zeros(rows, -(-blocks // 4) * 4, dtype=torch.float32, device=weight_scale.device)
        padded[:, :blocks] = weight_scale
        _columns[key] = (weight_scale, padded.t())  # keeps the source alive, so its address can't be another's
    return _columns[key][1]


def torch_sm90(
    codes: torch.Tensor,
    scale: torch.Tensor,
    weight: torch.Tensor,
    weight_scale: torch.Tensor,
    t: torch.Tensor | None = None,
    up: torch.Tensor | None = None,
    ends: Ends = (),
    partial: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """cuBLASLt's 1 x 128 by 128 x 128 product (SM90 only); M is padded to a multiple of 4, the adapter's product after it."""
    from torch.nn.functional import ScalingType, scaled_mm

    m = codes.shape[0]
    if m % 4:
        codes = torch.nn.functional.pad(codes.view(torch.uint8), (0, 0, 0, -m % 4)).view(codes.dtype)
        scale = torch.nn.functional.pad(scale, (0, 0, 0, -m % 4))
    rows = scale if scale.stride(0) == 1 else scale.t().contiguous().t()
    y = scaled_mm(
        codes, weight.t(), rows, ScalingType.BlockWise1x128, column_scale(weight_scale), ScalingType.BlockWise128x128,
        output_dtype=torch.bfloat16,
    )  # fmt: skip
    return add_lora(y[:m], t, up, ends)
