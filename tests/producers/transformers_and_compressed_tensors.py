"""Block FP8 as transformers' own operation rounds it; the presets as compressed-tensors' qparams and compressors do.

python transformers_and_compressed_tensors.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import exchange
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import preset_name_to_scheme
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from transformers import FineGrainedFP8Config
from transformers.integrations.finegrained_fp8 import Fp8Quantize

PRESETS = {"fp8_dynamic": "FP8_DYNAMIC", "nvfp4a16": "NVFP4A16", "w8a16": "W8A16", "w4a16": "W4A16"}
COMPRESSORS = {"fp8_dynamic": "float-quantized", "nvfp4a16": "nvfp4-pack-quantized", "w8a16": "pack-quantized", "w4a16": "pack-quantized"}


def main(folder: Path) -> None:
    given = list(exchange.samples(folder))
    operation = Fp8Quantize(SimpleNamespace(quantization_config=FineGrainedFP8Config()))
    for one in given:
        done = operation.convert({"x.weight": one.weight})
        exchange.write(folder, "fp8_block", one.number, {name[1:]: tensor for name, tensor in done.items()})
        for name in PRESETS:
            exchange.write(folder, name, one.number, compressed(name, one.weight, exchange.shared_amax(given, one)))
    exchange.write(folder, "divisors", 0, {".f32": divisors()})
    exchange.write_versions(folder, "torch", "transformers", "compressed-tensors")


def compressed(name: str, weight: torch.Tensor, amax: torch.Tensor) -> dict[str, torch.Tensor]:
    """What llmcompressor's min-max observer and calibration put together, without them."""
    scheme = preset_name_to_scheme(PRESETS[name], ["Linear"])
    args = scheme.weights
    groups = weight.unflatten(-1, (-1, args.group_size or weight.shape[1]))
    shared = generate_gparam(-amax.reshape(1), amax.reshape(1)) if name == "nvfp4a16" else None
    scale, _ = calculate_qparams(groups.amin(-1), groups.amax(-1), args, global_scale=shared)
    state = {"weight": weight, "weight_scale": scale}
    if shared is not None:
        state["weight_global_scale"] = shared
    done = BaseCompressor.get_value_from_registry(COMPRESSORS[name]).compress(state, scheme)
    return {f".{part}": tensor for part, tensor in done.items()}


def divisors() -> torch.Tensor:
    """The global scale of each BF16 maximum that there is."""
    every = torch.arange(0x7F80, dtype=torch.int16).view(torch.bfloat16)
    return torch.cat([generate_gparam(-one.reshape(1), one.reshape(1)) for one in every])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
