"""What a block-FP8 backend is given: one product of a layer, with the adapter's beside it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

Ends = tuple[int, ...]  # first column of each part after the first
FAR = 1 << 30  # a column that no matrix has


@dataclass(frozen=True)
class Product:
    """(M, N) = codes (M, K) x weight (N, K)^T, both E4M3 with FP32 scales (M, K/128) and (N/128, K/128), plus t up^T part by part.

    `t` (M, parts x rank) is x A^T of all parts side by side, `up` one stacked (N, rank) matrix, scaled. With `partial` a
    backend may give FP32 (P, M, N), to be summed by the reader. `out` (M, N) is written where the kernel takes one: the
    self-test poisons it.
    """

    codes: torch.Tensor
    scale: torch.Tensor
    weight: torch.Tensor
    weight_scale: torch.Tensor
    t: torch.Tensor | None = None
    up: torch.Tensor | None = None
    ends: Ends = ()
    partial: bool = False
    out: torch.Tensor | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """(M, N, K)."""
        return self.codes.shape[0], self.weight.shape[0], self.codes.shape[1]

    @property
    def two_ends(self) -> tuple[int, int]:
        """The first columns of the second and third part; far away where there is none."""
        first, second = (*self.ends, FAR, FAR)[:2]
        return first, second
