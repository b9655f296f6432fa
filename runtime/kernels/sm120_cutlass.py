"""The CUTLASS block-FP8 GEMM for SM120 and SM121 through libsm120_fp8.so (sm120_entry.cu), with ctypes alone.

Shapes and pointers are checked before each call, and the library's status after it is an exception here: the kernel itself
leaves its output untouched where it can't run.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

ABI = 1
LIBRARY = Path(__file__).with_name("libsm120_fp8.so")
WORKSPACE_BYTES = 40 << 20  # what FlashInfer gives it; allocated once a device so that captured pointers stay valid
REFUSALS = {
    1: "an empty dimension",
    2: "N is not a multiple of 128",
    3: "K is not a multiple of 128",
    4: "a pointer is not aligned to 16 bytes",
    5: "a null pointer",
    6: "a dimension beyond 31 bits",
}
CUDA_ERROR_BASE = 16


class CutlassError(RuntimeError):
    """The library is missing, of another version, refused a shape or failed to launch."""


def describe(status: int) -> str:
    """A status in words."""
    return REFUSALS.get(status, f"CUDA error {status - CUDA_ERROR_BASE}" if status >= CUDA_ERROR_BASE else f"status {status}")


@cache
def library(path: str = "") -> Any:
    """The loaded library. Raises CutlassError. SM120_FP8_LIBRARY names another file than the one beside this module."""
    file = path or os.environ.get("SM120_FP8_LIBRARY") or str(LIBRARY)
    try:
        loaded = ctypes.CDLL(file)
    except OSError as error:
        raise CutlassError(f"{Path(file).name} can't be loaded: {type(error).__name__}; build_sm120.sh makes it") from error
    pointer, size = ctypes.c_void_p, ctypes.c_int64
    loaded.hr_sm120_fp8_can_implement.argtypes = [pointer] * 3 + [size] * 3
    loaded.hr_sm120_fp8_gemm.argtypes = [pointer, size, *[pointer] * 5, *[size] * 3, pointer]
    if (abi := loaded.hr_sm120_fp8_abi()) != ABI:
        raise CutlassError(f"{Path(file).name} has interface {abi}, this module needs {ABI}")
    return loaded


def can_implement(m: int, n: int, k: int, pointers: tuple[int, int, int] = (0, 0, 0), path: str = "") -> str | None:
    """Why the GEMM can't take these sizes and (a, b, d) addresses, or None. Needs no GPU."""
    status = library(path).hr_sm120_fp8_can_implement(*pointers, m, n, k)
    return describe(status) if status else None


@cache
def workspace(device: Any) -> Any:
    """The device's one workspace."""
    import torch

    return torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=device)


def gemm(codes: Any, scale: Any, weight: Any, weight_scale: Any, out: Any) -> Any:
    """out (M, N) BF16 = codes (M, K) x weight (N, K)^T with their scales. Raises CutlassError."""
    import torch

    (m, k), n = codes.shape, weight.shape[0]
    wanted = {
        "codes": (codes, (m, k), torch.float8_e4m3fn),
        "scale": (scale, (m, k // 128), torch.float32),
        "weight": (weight, (n, k), torch.float8_e4m3fn),
        "weight_scale": (weight_scale, (n // 128, k // 128), torch.float32),
        "out": (out, (m, n), torch.bfloat16),
    }
    for name, (tensor, shape, dtype) in wanted.items():
        if tuple(tensor.shape) != shape or tensor.dtype != dtype or not tensor.is_contiguous():
            raise CutlassError(f"{name} is {tuple(tensor.shape)} {tensor.dtype}, not contiguous {shape} {dtype}")
    room = workspace(codes.device)
    stream = torch.cuda.current_stream(codes.device).cuda_stream
    addresses = (t.data_ptr() for t in (codes, weight, scale, weight_scale, out))
    status = library().hr_sm120_fp8_gemm(room.data_ptr(), room.numel(), *addresses, m, n, k, stream)
    if status:
        raise CutlassError(f"GEMM {m} x {n} x {k}: {describe(status)}")
    return out
