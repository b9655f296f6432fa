"""The engine's own environment: torch (CPU), transformers, tokenizers, Pillow. Elsewhere these tests are skipped by name."""

import importlib.util
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("torch"):
    import torch

    torch.set_num_threads(1)  # tiny tensors: more threads only wait for each other

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]


@pytest.fixture(scope="session")
def bf16(tmp_path_factory):
    """(folder, transformers' model) of a tiny BF16 release with an adapter."""
    import tiny_release

    folder = tmp_path_factory.mktemp("bf16") / "release"
    model = tiny_release.write_base(folder)
    tiny_release.write_adapter(folder / "adapter", folder)
    return folder, model


@pytest.fixture(scope="session")
def fp8(tmp_path_factory):
    """The folder of a tiny block-FP8 release with an adapter."""
    import tiny_release

    folder = tmp_path_factory.mktemp("fp8") / "release"
    tiny_release.write_base(folder)
    tiny_release.quantise(folder)
    tiny_release.write_adapter(folder / "adapter", folder)
    return folder
