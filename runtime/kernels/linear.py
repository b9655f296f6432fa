"""The linear layer of the runtime: block-FP8 or BF16 weight, a group of projections that share an input as one matrix, LoRA.

A group (q|k|v, qkv|z, gate|up) is concatenated along N with its scales; its input is quantised once, by the kernel that
makes it. The adapter isn't merged: t = x A^T for the whole group is one BF16 product, and t (B s)^T joins the output.

A backend is chosen for a device by name, and only after it passed a self-test over every (N, K) of the model; `Plan` says
which one serves which number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import torch

from . import reference
from .dispatch import SM120, Capability, MissingPath, find
from .linear_backends import add_lora
from .product import Product

Pending = tuple[torch.Tensor, torch.Tensor | None] | None  # (t, up) of an adapter's product that isn't in the output yet
Quant = bool | Literal["columns"]  # no codes, codes and scales, the same with the scales transposed in memory
FUSING = ("triton", "triton_sm90", "torch_reference")  # backends with the adapter's product inside
BACKENDS = ("cutlass_sm120", "triton", "triton_sm90", "torch_sm90", "torch_reference")
TEST_ROWS = (1, 77, 256)
WIDE = 8192  # columns from which a matrix has tiles enough for a whole GPU
MIXED_ROWS, MIXED_NARROW_ROWS = 768, 2048
TOLERANCE = 5e-3  # of the largest reference value: BF16's rounding and the tensor cores' FP8 accumulation


class BackendError(RuntimeError):
    """No backend asked for can run here; the message says why for each."""


@dataclass(frozen=True)
class Activation:
    """A layer's input: BF16, and for FP8 weights its codes and scales as well."""

    x: torch.Tensor
    codes: torch.Tensor | None = None
    scale: torch.Tensor | None = None


@dataclass(frozen=True)
class Step:
    """A backend, and the rows and columns of an output from which it serves."""

    backend: str
    rows: int = 0
    columns: int = 0


@dataclass(frozen=True)
class Plan:
    """Backends by the rows and columns of an output that they begin at, and what the self-test found."""

    steps: tuple[tuple[Step, Any], ...]
    tested: dict[str, Any] = field(default_factory=dict)

    def pick(self, rows: int, columns: int) -> tuple[str, Any]:
        """The backend for an output of this size: name and function."""
        return next((step.backend, function) for step, function in reversed(self.steps) if rows >= step.rows and columns >= step.columns)

    @property
    def layout(self) -> Quant:
        """How the activations' scales lie in memory; FlashInfer's kernel reads them along K, the others along the rows."""
        return True if any(step.backend == "cutlass_sm120" for step, _ in self.steps) else "columns"

    def describe(self) -> dict[str, Any]:
        """For /v1/models and receipts."""
        return {"steps": [asdict(step) for step, _ in self.steps], "selfTest": self.tested}


@dataclass
class Linear:
    """One matrix (N, K): codes and scale, or BF16 with scale None. `ends` are the first columns of its later parts."""

    weight: torch.Tensor
    scale: torch.Tensor | None
    ends: tuple[int, ...] = ()
    plan: Plan | None = None
    up: torch.Tensor | None = None  # (N, rank), scaled, BF16

    def __call__(self, activation: Activation, t: torch.Tensor | None = None, partial: bool = False) -> torch.Tensor:
        """(M, N), or with `partial` possibly FP32 parts (P, M, N) to be summed by the reader."""
        if self.scale is None:
            return add_lora(reference.product(activation.x, self.weight), t, self.up, self.ends)
        assert self.plan is not None
        _, backend = self.plan.pick(activation.x.shape[0], self.weight.shape[0])
        return backend(Product(activation.codes, activation.scale, self.weight, self.scale, t, self.up, self.ends, partial))

    def deferred(self, activation: Activation, t: torch.Tensor | None) -> tuple[torch.Tensor, Pending]:
        """(M, N), and what the reader has yet to add where the backend would need a pass of its own for the adapter."""
        fuses = self.scale is not None and self.plan is not None and self.plan.pick(activation.x.shape[0], self.weight.shape[0])[0] in FUSING
        if t is None or fuses:
            return self(activation, t), None
        return self(activation), (t, self.up)


def candidates(name: str, capability: Capability | None) -> list[tuple[Step, ...]]:
    """The plans to try in order."""
    if name != "auto":
        return [(Step(name),)]
    if capability is None:
        return [(Step("torch_reference"),)]
    if capability >= SM120:
        return [(Step("cutlass_sm120"),), (Step("triton"),)]
    if capability[0] == 9:
        # cuBLASLt wins on many rows, ours below (measured on an H200: bench/results/sm120-runtime-h200.json).
        return [(Step("triton_sm90"), Step("torch_sm90", MIXED_ROWS, WIDE), Step("torch_sm90", MIXED_NARROW_ROWS))]
    return [(Step("triton"),)]


def first_choice(capability: Capability | None) -> tuple[str, ...]:
    """The backends that `auto` would like to serve with on this device; a validator holds each against the reference."""
    return tuple(dict.fromkeys(step.backend for step in candidates("auto", capability)[0]))


def make_plan(name: str, capability: Capability | None, weights: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> Plan:
    """The plan for a backend's name (or auto) after its self-test over `weights`. Raises BackendError."""
    if name != "auto" and name not in BACKENDS:
        raise BackendError(f"no backend {name!r}; there are {', '.join(BACKENDS)}")
    distinct = {tuple(weight.shape): (weight, scale) for weight, scale in weights}
    refused: dict[str, str] = {}
    for steps in candidates(name, capability):
        try:
            built = tuple((step, find(f"linear:{step.backend}", capability)) for step in steps)
            errors = {name: self_test(function, distinct.values()) for name, function in {s.backend: f for s, f in built}.items()}
        except (MissingPath, RuntimeError) as error:
            refused[" + ".join(dict.fromkeys(step.backend for step in steps))] = str(error)
            continue
        return Plan(built, {"worstRelativeError": errors, "shapes": len(distinct), "refused": refused})
    raise BackendError("; ".join(f"{backend}: {why}" for backend, why in refused.items()))


def self_test(function: Any, weights: Iterable[tuple[torch.Tensor, torch.Tensor]], rows: Sequence[int] = TEST_ROWS) -> float:
    """Runs a backend on random rows against FP32, outputs poisoned with NaN first. The worst error; raises BackendError."""
    worst = 0.0
    for weight, scale in weights:
        generator = torch.Generator(device=weight.device).manual_seed(weight.shape[0])
        for m in rows:
            x = torch.randn(m, weight.shape[1], device=weight.device, generator=generator, dtype=torch.float32)
            codes, x_scale = reference.act_quant(x.to(torch.bfloat16))
            want = reference.fp8_block_gemm(codes, x_scale, weight, scale)
            out = torch.full((m, weight.shape[0]), torch.nan, dtype=torch.bfloat16, device=weight.device)
            worst = max(worst, checked(function(Product(codes, x_scale, weight, scale, out=out)), want))
            x_scale = x_scale.t().contiguous().t()  # the other layout
            t, up = (torch.randn(rows, 16, device=weight.device, generator=generator).bfloat16() for rows in (m, weight.shape[0]))
            parts = function(Product(codes, x_scale, weight, scale, t, up, partial=True))
            want += t.float() @ up.float().t()
            checked(parts.sum(0) if parts.dim() == 3 else parts, want, 2 * TOLERANCE)  # rounded to BF16 twice, by some backends
    return worst


def checked(got: torch.Tensor, want: torch.Tensor, limit: float = TOLERANCE) -> float:
    """The largest error over the largest value. Raises BackendError beyond the limit, and for NaN."""
    error = ((got.float() - want).abs().max() / want.abs().max().clamp_min(1e-30)).item()
    if not error <= limit:
        raise BackendError(f"self-test of {tuple(want.shape)}: error {error}, limit {limit}")
    return error


def concatenate(parts: Sequence[tuple[torch.Tensor, torch.Tensor | None]]) -> tuple[torch.Tensor, torch.Tensor | None, tuple[int, ...]]:
    """One (weight, scale, ends) of several that share an input; codes and scales are copied, not quantised again."""
    ends, total = [], 0
    for weight, _ in parts[:-1]:
        total += weight.shape[0]
        ends.append(total)
    # Bytes are joined as such: torch.cat knows no FP8 on every device.
    raw = [w.view(torch.uint8) if w.dtype == torch.float8_e4m3fn else w for w, _ in parts]
    weight = torch.cat(raw).view(parts[0][0].dtype)
    scales = [scale for _, scale in parts if scale is not None]
    return weight, torch.cat(scales) if scales else None, tuple(ends)
