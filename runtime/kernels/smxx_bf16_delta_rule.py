"""The chunked gated delta rule of flash-linear-attention, forward only, without what our own kernels did before it.

Calls fla-core's three stages directly (pinned in requirements.lock; another version is refused): unit q and k, gates and the
decay's sums come from smxx_bf16_delta. Its kernels would tune themselves at first use, so that bits could differ from one
start to the next; fla_configs/ holds the sizes to use instead, one folder a family of GPUs.
"""

from __future__ import annotations

import importlib.metadata
import os
from functools import cache
from pathlib import Path
from typing import Any

import torch

FLA_VERSION = "0.6.0"
DECAY_SCALE = 1.0 / 0.6931471805599453  # the stages work with powers of two
CONFIGS = Path(__file__).with_name("fla_configs")


class FlaMissing(RuntimeError):
    """fla-core isn't installed in the version that these calls fit."""


@cache
def stages() -> tuple[Any, Any, Any]:
    """fla-core's (inside a chunk, state from chunk to chunk, output) functions. Raises FlaMissing."""
    try:
        found = importlib.metadata.version("fla-core")
    except importlib.metadata.PackageNotFoundError:
        found = "none"
    if found != FLA_VERSION:
        raise FlaMissing(f"fla-core {FLA_VERSION} is needed, found: {found}")
    family = CONFIGS / f"sm{torch.cuda.get_device_capability()[0]}x"
    if family.is_dir() and "FLA_CACHE_MODE" not in os.environ:
        os.environ["FLA_CACHE_MODE"], os.environ["FLA_CONFIG_DIR"] = "default", str(family)
    from fla.ops.common.chunk_delta_h import chunk_gated_delta_rule_fwd_h
    from fla.ops.common.chunk_o import chunk_fwd_o
    from fla.ops.gated_delta_rule.chunk_fwd import chunk_gated_delta_rule_fwd_intra

    return chunk_gated_delta_rule_fwd_intra, chunk_gated_delta_rule_fwd_h, chunk_fwd_o


def delta_rule(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """(batch, tokens, value heads, dim). `decay` is summed up within each 64 tokens and scaled by DECAY_SCALE."""
    inside, states, output = stages()
    w, u, _ = inside(k=k, v=v, g=decay, beta=beta, chunk_size=64)
    h, fresh, _ = states(k=k, w=w, u=u, g=decay, initial_state=None, output_final_state=False, chunk_size=64)
    return output(q=q, k=k, v=fresh, h=h, g=decay, scale=k.shape[-1] ** -0.5, chunk_size=64)
