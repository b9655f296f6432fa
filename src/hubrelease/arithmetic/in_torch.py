"""Encoders on reference.py: any of its dtypes, on a CPU or with CUDA."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from hubrelease.arithmetic import reference
from hubrelease.arithmetic.kernels import Kernel
from hubrelease.arithmetic.values import INFINITE, NOTHING, Encoded, Strip, Sums, first_not_finite

if TYPE_CHECKING:
    from torch import Tensor

PIECE_ROWS = 128  # what is in between stays in a processor's cache
BEYOND_BF16 = 0x7F7F8000  # bits of the first binary32 numbers that round to infinity


class TorchEncoder:
    """One kernel on one device."""

    path = "torch"
    dtypes: tuple[str, ...] = ("BF16", "F16", "F32")

    def __init__(self, kernel: Kernel, device: str) -> None:
        self.kernel, self.device = kernel, device
        self.function = getattr(reference, kernel.name)

    def amax(self, strip: Strip) -> float:
        self.kernel.check(strip, self.dtypes)
        return self.finite_amax(strip, strip_tensor(strip, self.device))

    def encode(self, strip: Strip, shared_amax: float | None = None) -> Encoded:
        import torch

        self.kernel.check(strip, self.dtypes)
        scale = self.kernel.shared_scale(shared_amax, strip.dtype)
        weight = strip_tensor(strip, self.device)
        amax = self.finite_amax(strip, weight)
        if shared_amax is not None and amax > shared_amax:
            raise ValueError("the strip holds a number above the shared maximum")
        pieces = torch.split(weight, PIECE_ROWS if self.device == "cpu" else strip.rows)
        return joined([self.encode_piece(piece, scale) for piece in pieces])

    def encode_piece(self, weight: Tensor, scale: float | None) -> Encoded:
        done = self.function(weight) if scale is None else self.function(weight, scale)
        return Encoded(raw(done.codes), raw(done.scales), sums(self.kernel, done))

    def finite_amax(self, strip: Strip, weight: Tensor) -> float:
        import torch

        bits = reference.amax_bits(weight)
        limit = BEYOND_BF16 if (self.kernel.name, strip.dtype) == ("to_bf16", "F32") else INFINITE[strip.dtype]
        if bits >= limit:
            raise first_not_finite(strip, limit)
        kind = torch.int32 if strip.dtype == "F32" else torch.int16
        return float(torch.tensor(bits, dtype=kind).view(weight.dtype))


def strip_tensor(strip: Strip, device: str) -> Tensor:
    """The strip's rows on a device; on a CPU in the strip's own memory."""
    import torch

    dtype = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}[strip.dtype]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given buffer is not writable")
        read = torch.frombuffer(strip.data, dtype=dtype)
    return read.view(strip.rows, strip.columns).to(device)


def joined(pieces: list[Encoded]) -> Encoded:
    if len(pieces) == 1:
        return pieces[0]
    codes, scales = b"".join(piece.codes for piece in pieces), b"".join(piece.scales for piece in pieces)
    return Encoded(memoryview(codes), memoryview(scales), sum((piece.sums for piece in pieces), NOTHING))


def raw(tensor: Tensor) -> memoryview:
    import torch

    if not tensor.numel():
        return memoryview(b"")
    array: Any = tensor.contiguous().view(torch.uint8).cpu().numpy()
    return memoryview(array).cast("B")


def sums(kernel: Kernel, done: reference.Rounded) -> Sums:
    """The squares, added up for each step that there is and then, exactly, by the exponent field of the step."""
    import torch

    steps, place = torch.unique(done.steps.contiguous().view(torch.int32).flatten(), return_inverse=True)
    added = torch.zeros(2, len(steps), dtype=torch.int64, device=steps.device)
    added[0].index_add_(0, place, done.errors.flatten())
    added[1].index_add_(0, place, done.sources.flatten())
    bits, (errors, sources) = steps.tolist(), added.tolist()
    return kernel.sums(by_field(bits, errors), by_field(bits, sources), float(done.largest))


def by_field(steps: list[int], squares: list[int]) -> dict[int, int]:
    """Squares times the square of the significand of the step that they are in parts of; `steps` are bits."""
    found: dict[int, int] = {}
    for step, squared in zip(steps, squares, strict=True):
        field, significand = max(step >> 23, 1), step & 0x7FFFFF | (0x800000 if step >> 23 else 0)
        found[field] = found.get(field, 0) + squared * significand**2
    return found
