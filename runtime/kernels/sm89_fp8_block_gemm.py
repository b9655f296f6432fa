"""Block-FP8 GEMM in Triton: D = A (1 x 128 scales) times B^T (128 x 128 scales), with LoRA's second product in its tail.

Each 128 of K is one product of E4M3 codes, promoted to FP32 with its two scales: DeepSeek's recipe, FP32 scales. `t`, if
given, is the adapter's first product x A^T (M, parts x rank, BF16); the tail adds t (B s)^T of the part that the tile's
columns belong to, so that the adapter costs no pass over the output. With SPLITS > 1 the K range is cut; each cut writes
FP32 to its own slice and the kernel that reads the result adds them in a fixed order: bits don't depend on timing.

For SM89, SM120 and SM121; SM90 has sm90_fp8_block_gemm.py. The table of sizes was tuned on none of them: it is right there, not
tuned. Each entry stays within the 101,376 bytes of shared memory and the registers of SM120 (tests/runtime_kernels).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from .product import Product


@triton.jit
def tile_of(number, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """(row, column) of a tile: bands of GROUP_M rows, so that neighbours in time share their weights in the L2."""
    band = number // (GROUP_M * tiles_n)
    height = min(tiles_m - band * GROUP_M, GROUP_M)
    return band * GROUP_M + (number % (GROUP_M * tiles_n)) % height, (number % (GROUP_M * tiles_n)) // height


@triton.jit
def adapted(total, t_ptr, up_ptr, row, cols, first_column, t_stride, first_end, second_end, RANK: tl.constexpr):
    """Adds t (B s)^T of the part that the tile's columns belong to."""
    part = (first_column >= first_end).to(tl.int32) + (first_column >= second_end).to(tl.int32)
    r = tl.arange(0, RANK)
    t = tl.load(t_ptr + row[:, None].to(tl.int64) * t_stride + (part * RANK + r)[None, :])
    up = tl.load(up_ptr + cols[None, :].to(tl.int64) * RANK + r[:, None])
    return tl.dot(t, up, total)


@triton.jit(do_not_specialize=["M"])
def fp8_block_gemm_kernel(
    a_ptr, b_ptr, as_ptr, bs_ptr, d_ptr, t_ptr, up_ptr,
    M, N, K, as_row, as_block, t_stride, first_end, second_end,
    BM: tl.constexpr, BN: tl.constexpr, SPLITS: tl.constexpr, RANK: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid_m, pid_n = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP_M)
    rows, cols = pid_m * BM + tl.arange(0, BM), pid_n * BN + tl.arange(0, BN)
    depth = tl.arange(0, 128)
    row = rows % M  # rows past the end read others and are not stored; all reading row 0 would jam one slice of the L2
    blocks = K // 128
    each = tl.cdiv(blocks, SPLITS)
    split = tl.program_id(1)
    first, last = split * each, min((split + 1) * each, blocks)
    a = a_ptr + row[:, None].to(tl.int64) * K + (first * 128 + depth)[None, :]
    b = b_ptr + cols[None, :].to(tl.int64) * K + (first * 128 + depth)[:, None]
    a_scale, b_scale = as_ptr + row * as_row + first * as_block, bs_ptr + (pid_n * BN // 128) * blocks + first
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(first, last):
        product = tl.dot(tl.load(a), tl.load(b))
        total += product * (tl.load(a_scale) * tl.load(b_scale))[:, None]
        a += 128
        b += 128
        a_scale += as_block
        b_scale += 1
    if RANK > 0:  # noqa: SIM102  (the outer one is decided by the compiler)
        if split == 0:
            total = adapted(total, t_ptr, up_ptr, row, cols, pid_n * BN, t_stride, first_end, second_end, RANK)
    where = d_ptr + split.to(tl.int64) * M * N + rows[:, None].to(tl.int64) * N + cols[None, :]
    tl.store(where, total.to(d_ptr.dtype.element_ty), mask=(rows < M)[:, None])


@dataclass(frozen=True)
class Sizes:
    """Tile, cuts of K, warps, pipeline stages, and the registers that a thread may have (None: as many as it likes)."""

    bm: int
    bn: int
    splits: int
    warps: int
    stages: int
    registers: int | None = None


Table = tuple[tuple[int, int, Sizes], ...]

# (rows at most, columns at least, sizes): the first line that fits is taken. Narrow outputs (N = 2560) have too few tiles
# to fill a GPU, so K is cut; wide ones have enough.
TABLE: Table = (
    (64, 8192, Sizes(64, 64, 1, 4, 4)),
    (64, 0, Sizes(64, 64, 4, 4, 4)),
    (128, 16384, Sizes(64, 128, 1, 4, 3)),
    (128, 8192, Sizes(64, 64, 1, 4, 4)),
    (128, 0, Sizes(64, 64, 4, 4, 3)),
    (512, 8192, Sizes(64, 128, 1, 4, 3)),
    (256, 0, Sizes(64, 128, 4, 4, 3)),
    (512, 0, Sizes(64, 128, 2, 4, 3)),
    (1 << 31, 8192, Sizes(128, 128, 1, 8, 3)),
    (1 << 31, 0, Sizes(64, 128, 1, 4, 3)),
)
def choose(table: Table, m: int, n: int) -> Sizes:
    """The sizes for an output of m rows and n columns."""
    return next(sizes for rows, columns, sizes in table if m <= rows and n >= columns)


def output(p: Product, splits: int) -> torch.Tensor:
    """Room for BF16 (M, N), or for FP32 (splits, M, N) whose sum over the first axis is the result."""
    m, n, _ = p.shape
    if p.out is not None:
        return p.out
    if splits > 1:
        return torch.empty(splits, m, n, dtype=torch.float32, device=p.codes.device)
    return torch.empty(m, n, dtype=torch.bfloat16, device=p.codes.device)


def launch(kernel: Any, operands: tuple[Any, Any], p: Product, sizes: Sizes) -> torch.Tensor:
    """Runs a kernel over the tiles and cuts of a product; `operands` are codes and weight as the kernel reads them."""
    m, n, k = p.shape
    splits = sizes.splits if p.partial else 1
    out = output(p, splits)
    kernel[(triton.cdiv(m, sizes.bm) * triton.cdiv(n, sizes.bn), splits)](
        *operands, p.scale, p.weight_scale, out, p.codes if p.t is None else p.t, p.codes if p.up is None else p.up,
        m, n, k, *p.scale.stride(), 0 if p.t is None else p.t.stride(0), *p.two_ends, BM=sizes.bm, BN=sizes.bn, SPLITS=splits,
        RANK=0 if p.up is None else p.up.shape[1], GROUP_M=8, num_warps=sizes.warps, num_stages=sizes.stages, maxnreg=sizes.registers,
    )  # fmt: skip
    return out


def fp8_block_gemm(p: Product, sizes: Sizes | None = None) -> torch.Tensor:
    """BF16 (M, N), or with p.partial FP32 (splits, M, N) whose sum over the first axis is the result. N, K: multiples of 128."""
    return launch(fp8_block_gemm_kernel, (p.codes, p.weight), p, sizes or choose(TABLE, *p.shape[:2]))
