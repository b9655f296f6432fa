"""The backends of a block-FP8 linear: one function of a Product each, chosen by name through dispatch.py.

They give (M, N) in BF16, or FP32 parts (P, M, N). A backend that can't take the adapter's product into its own kernel adds it
afterwards, part by part.
"""

from __future__ import annotations

from typing import Any

import torch

from . import reference
from .product import Ends, Product


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


def torch_reference(p: Product) -> torch.Tensor:
    """FP32 arithmetic in torch; slow, right, anywhere."""
    y = reference.fp8_block_gemm(p.codes, p.scale, p.weight, p.weight_scale)
    return add_lora(y, None if p.t is None else p.t.float(), None if p.up is None else p.up.float(), p.ends).to(torch.bfloat16)


def triton(p: Product) -> torch.Tensor:
    """Our kernel; the adapter's product in its tail, K cut where `partial` allows it."""
    from .sm89_fp8_block_gemm import fp8_block_gemm

    return fp8_block_gemm(p)


def triton_sm90(p: Product) -> torch.Tensor:
    """The same with Hopper's tensor memory accelerator."""
    from .sm90_fp8_block_gemm import fp8_block_gemm

    return fp8_block_gemm(p)


def cutlass_sm120(p: Product) -> torch.Tensor:
    """FlashInfer's CUTLASS kernel; the adapter's product after it."""
    from .sm120_cutlass import gemm

    m, n, _ = p.shape
    out = torch.empty(m, n, dtype=torch.bfloat16, device=p.codes.device) if p.out is None else p.out
    return add_lora(gemm(p.codes, p.scale.contiguous(), p.weight, p.weight_scale, out), p.t, p.up, p.ends)


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


def torch_sm90(p: Product) -> torch.Tensor:
    """cuBLASLt's 1 x 128 by 128 x 128 product (SM90 only); M is padded to a multiple of 4, the adapter's product after it."""
    from torch.nn.functional import ScalingType, scaled_mm

    m, codes, scale = p.codes.shape[0], p.codes, p.scale
    if m % 4:
        codes = torch.nn.functional.pad(codes.view(torch.uint8), (0, 0, 0, -m % 4)).view(codes.dtype)
        scale = torch.nn.functional.pad(scale, (0, 0, 0, -m % 4))
    rows = scale if scale.stride(0) == 1 else scale.t().contiguous().t()
    y = scaled_mm(
        codes, p.weight.t(), rows, ScalingType.BlockWise1x128, column_scale(p.weight_scale), ScalingType.BlockWise128x128,
        output_dtype=torch.bfloat16,
    )  # fmt: skip
    return add_lora(y[:m], p.t, p.up, p.ends)
