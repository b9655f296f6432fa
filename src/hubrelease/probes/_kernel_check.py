"""Runs alone: `_kernel_check.py RUNTIME SHAPES` holds each backend that serves on this GPU against reference.py, shape by shape.

RUNTIME is a copy of a release's runtime/ with the folder `kernels`; SHAPES is a JSON list of [N, K]. One JSON line goes to
standard output. It imports nothing of hubrelease, for it runs where only the release's own code should.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def main(runtime: str, shapes: list[list[int]]) -> dict[str, Any]:
    import torch

    sys.path.insert(0, runtime)
    kernels: Any = importlib.import_module("engine.kernels")  # finds the sibling folder `kernels` under a name that hides nothing
    linear = kernels.linear
    capability = torch.cuda.get_device_capability() if torch.cuda.is_available() else None
    found: dict[str, list[dict[str, Any]]] = {}
    for backend in linear.first_choice(capability):
        found[backend] = [checked(kernels, backend, capability, n, k) for n, k in shapes]
    return {"backends": found}


def checked(kernels: Any, backend: str, capability: Any, n: int, k: int) -> dict[str, Any]:
    import torch

    row: dict[str, Any] = {"n": n, "k": k}
    device = "cpu" if capability is None else "cuda"
    generator = torch.Generator(device=device).manual_seed(n * 65_537 + k)
    codes = torch.randn(n, k, device=device, generator=generator).to(torch.float8_e4m3fn)
    scale = torch.rand((n + 127) // 128, (k + 127) // 128, device=device, generator=generator) * 1e-3 + 1e-4
    try:
        function = kernels.dispatch.find(f"linear:{backend}", capability)
        row["relativeError"] = kernels.linear.self_test(function, [(codes, scale)])
    except (RuntimeError, LookupError, ValueError, ImportError) as error:
        row["refused"] = f"{type(error).__name__}: {error}"
    return row


if __name__ == "__main__":
    try:
        said = main(sys.argv[1], json.loads(sys.argv[2]))
    except (ImportError, AttributeError, RuntimeError, OSError) as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(said) + "\n")
