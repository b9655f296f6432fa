"""The ways that this machine has to round: `native` and `torch` on a CPU, `triton` and `torch` with CUDA.

All give the same bits. A caller that names one gets that one or PathMissing; a caller that names none gets the first that
is there, and reads in `encoder.path` which it is.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from hubrelease.arithmetic.kernels import KERNELS, Kernel
from hubrelease.arithmetic.values import Encoder, PathMissing

ORDER = {"cpu": ("native", "torch"), "cuda": ("triton", "torch")}
NEEDS_TORCH = "torch is not installed: pip install 'hubrelease[convert]'"


def paths(device: str = "cpu") -> dict[str, str | None]:
    """Each path of a device, the first choice first: None if this machine has it, else why not."""
    return {path: missing(device, path) for path in ORDER[device]}


def make_encoder(kernel_name: str, device: str, path: str | None, dtype: str) -> Encoder:
    """An encoder that takes `dtype`. Raises PathMissing."""
    kernel = KERNELS[kernel_name]
    if device not in ORDER:
        raise PathMissing(f"there is no device {device!r}; there are {', '.join(ORDER)}")
    if path is not None and path not in ORDER[device]:
        raise PathMissing(f"there is no path {path!r} on {device}; there are {', '.join(ORDER[device])}")
    reasons = []
    for name in ORDER[device] if path is None else (path,):
        reason = without(kernel, name, dtype) or missing(device, name)
        if reason is None:
            return made(kernel, device, name)
        reasons.append(f"{name}: {reason}")
    raise PathMissing("; ".join(reasons))


@cache
def missing(device: str, path: str) -> str | None:
    """Why this machine does not have a path; None if it does."""
    if path == "native":
        return native_missing()
    if find_spec("torch") is None:
        return NEEDS_TORCH
    if path == "triton" and find_spec("triton") is None:
        return "triton is not installed: pip install triton"
    return no_cuda() if device == "cuda" else None


def native_missing() -> str | None:
    from hubrelease.arithmetic.native import library

    try:
        library()
    except PathMissing as error:
        return str(error)
    return None


def no_cuda() -> str | None:
    import torch

    return None if torch.cuda.is_available() else "torch finds no CUDA device"


def without(kernel: Kernel, path: str, dtype: str) -> str | None:
    """Why a path can't do a kernel for a dtype, on any machine."""
    if path == "torch":
        return None
    if path == "native" and kernel.name == "to_bf16":
        return "there is no native kernel for it"
    if path == "triton" and not kernel.name.startswith(("fp8_block", "nvfp4")):
        return "there is no Triton kernel for it"
    return None if dtype == "BF16" else f"it takes BF16, not {dtype}"


def made(kernel: Kernel, device: str, path: str) -> Encoder:
    if path == "native":
        from hubrelease.arithmetic.native import NativeEncoder

        return NativeEncoder(kernel)
    if path == "triton":
        from hubrelease.arithmetic.cuda import TritonEncoder

        return TritonEncoder(kernel)
    from hubrelease.arithmetic.in_torch import TorchEncoder

    return TorchEncoder(kernel, device)
