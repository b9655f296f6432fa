"""The block-FP8 GEMM of sm89_fp8_block_gemm for SM90: the same tiles and arithmetic, fetched by the tensor memory accelerator.

Hopper's warp-group products read both operands from shared memory; descriptors bring whole tiles there without a thread
computing addresses. With the best tiles of each it took a quarter less time than with pointers, summed over the model's linears
at 64, 256 and 512 rows (H200; bench/results/sm120-runtime-h200.json, tune). A tile's rows past the end are read as zeros.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from .product import Product
from .sm89_fp8_block_gemm import Sizes, Table, adapted, choose, launch, tile_of


@triton.jit(do_not_specialize=["M"])
def fp8_block_gemm_tma_kernel(
    a, b, as_ptr, bs_ptr, d_ptr, t_ptr, up_ptr,
    M, N, K, as_row, as_block, t_stride, first_end, second_end,
    BM: tl.constexpr, BN: tl.constexpr, SPLITS: tl.constexpr, RANK: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid_m, pid_n = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP_M)
    rows, cols = pid_m * BM + tl.arange(0, BM), pid_n * BN + tl.arange(0, BN)
    row = rows % M
    blocks = K // 128
    each = tl.cdiv(blocks, SPLITS)
    split = tl.program_id(1)
    a_scale, b_scale = as_ptr + row * as_row, bs_ptr + (pid_n * BN // 128) * blocks
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for block in range(split * each, min((split + 1) * each, blocks)):
        product = tl.dot(a.load([pid_m * BM, block * 128]), b.load([pid_n * BN, block * 128]).T)
        total += product * (tl.load(a_scale + block * as_block) * tl.load(b_scale + block))[:, None]
    if RANK > 0:  # noqa: SIM102  (the outer one is decided by the compiler)
        if split == 0:
            total = adapted(total, t_ptr, up_ptr, row, cols, pid_n * BN, t_stride, first_end, second_end, RANK)
    where = d_ptr + split.to(tl.int64) * M * N + rows[:, None].to(tl.int64) * N + cols[None, :]
    tl.store(where, total.to(d_ptr.dtype.element_ty), mask=(rows < M)[:, None])


# (rows at most, columns at least, sizes), swept on an H200 with the adapter's tail. 168 registers let three blocks of 128
# threads share a multiprocessor.
TABLE: Table = (
    (64, 16384, Sizes(64, 64, 1, 4, 4)),
    (64, 8192, Sizes(64, 64, 1, 4, 5)),
    (64, 0, Sizes(64, 64, 4, 4, 5)),
    (128, 16384, Sizes(64, 128, 1, 4, 3)),
    (128, 8192, Sizes(64, 64, 1, 4, 4)),
    (128, 0, Sizes(64, 64, 4, 4, 4)),
    (512, 8192, Sizes(64, 128, 1, 4, 3)),
    (256, 0, Sizes(64, 128, 4, 4, 3, 168)),
    (512, 0, Sizes(64, 128, 2, 4, 3)),
    (1 << 31, 8192, Sizes(128, 128, 1, 8, 5)),
    (1 << 31, 0, Sizes(64, 128, 1, 4, 3, 168)),
)


def fp8_block_gemm(p: Product, sizes: Sizes | None = None) -> torch.Tensor:
    """As sm89_fp8_block_gemm.fp8_block_gemm; codes and weight are contiguous."""
    m, n, k = p.shape
    sizes = sizes or choose(TABLE, m, n)
    a, b = TensorDescriptor(p.codes, [m, k], [k, 1], [sizes.bm, 128]), TensorDescriptor(p.weight, [n, k], [k, 1], [sizes.bn, 128])
    return launch(fp8_block_gemm_tma_kernel, (a, b), p, sizes)
