"""Codes and scales back to weights, in plain torch, each rounded as the format's reader rounds it.

    fp8_block        binary32 product, rounded to the weight's dtype    (transformers 5.24.0)
    fp8_dynamic      product of code and scale in the scale's dtype     (compressed-tensors 0.20.1)
    nvfp4a16, nvfp4  code times (group scale / global scale) in binary32, rounded    (compressed-tensors 0.20.1)
    modelopt_nvfp4   code times (group scale times second scale) in binary32, rounded    (ModelOpt 0.47.0)
    w8a16, w4a16     product of code and scale in the scale's dtype     (compressed-tensors 0.20.1)

Parts are tensors by suffix as the format's file names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    Parts = Mapping[str, torch.Tensor]

E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)


def dequantised(form: str, parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    """The weight that a module's parts stand for, in `dtype`."""
    return READERS[form](parts).to(dtype)


def fp8_block(parts: Parts) -> torch.Tensor:
    codes, scales = parts[".weight"].float(), parts[".weight_scale_inv"]
    rows, columns = codes.shape
    blocks = codes.view(rows // 128, 128, columns // 128, 128)
    return (blocks * scales[:, None, :, None]).view(rows, columns)


def fp8_dynamic(parts: Parts) -> torch.Tensor:
    scales = parts[".weight_scale"]
    return parts[".weight"].to(scales.dtype) * scales


def nvfp4(parts: Parts) -> torch.Tensor:
    return groups_of_16(parts[".weight_packed"], parts[".weight_scale"].float() / parts[".weight_global_scale"])


def modelopt_nvfp4(parts: Parts) -> torch.Tensor:
    return groups_of_16(parts[".weight"], parts[".weight_scale"].float() * parts[".weight_scale_2"])


def groups_of_16(packed: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Two codes a byte, the even column in the low nibble; one scale for each 16 columns of a row."""
    import torch

    nibbles = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(1)
    values = torch.tensor(E2M1, device=packed.device)[nibbles.long()]
    return (values.view(*scales.shape, 16) * scales[..., None]).flatten(1)


def integers(bits: int) -> Callable[[Parts], torch.Tensor]:
    """Codes are stored with half their range added, the first in a word's lowest bits."""

    def read(parts: Parts) -> torch.Tensor:
        import torch

        words, scales = parts[".weight_packed"], parts[".weight_scale"]
        shifts = torch.arange(0, 32, bits, dtype=torch.int32, device=words.device)
        codes = ((words[..., None] >> shifts) & (2**bits - 1)).flatten(1) - 2 ** (bits - 1)
        return (codes.view(*scales.shape, -1).to(scales.dtype) * scales[..., None]).flatten(1)

    return read


READERS: Mapping[str, Callable[[Parts], torch.Tensor]] = {
    "fp8_block": fp8_block,
    "fp8_dynamic": fp8_dynamic,
    "nvfp4a16": nvfp4,
    "nvfp4": nvfp4,
    "modelopt_nvfp4": modelopt_nvfp4,
    "w8a16": integers(8),
    "w4a16": integers(4),
}
