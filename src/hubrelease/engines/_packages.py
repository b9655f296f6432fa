"""Versions of what a model is run with, as installed where the engine runs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

PACKAGES = {"torch": "torch", "triton": "triton", "flashinfer": "flashinfer-python", "transformers": "transformers", "vllm": "vllm",
            "compressed-tensors": "compressed-tensors"}  # fmt: skip


def installed() -> dict[str, str]:
    """{name in the report: version}; what is not there is left out."""
    found = {}
    for name, package in PACKAGES.items():
        try:
            found[name] = version(package)
        except PackageNotFoundError:
            continue
    return found
