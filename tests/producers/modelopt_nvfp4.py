"""NVFP4 as ModelOpt's quantised tensor rounds it, the second scale shared as its export shares it.

python modelopt_nvfp4.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import exchange
import torch
from modelopt.torch.quantization.qtensor import NVFP4QTensor


def main(folder: Path) -> None:
    given = list(exchange.samples(folder))
    for one in given:
        second = NVFP4QTensor.get_weights_scaling_factor_2(exchange.shared_amax(given, one).reshape(1, 1))
        scale, _ = NVFP4QTensor.get_weights_scaling_factor(one.weight, 16, second)
        packed, _, _ = NVFP4QTensor.quantize(one.weight, 16, scale, second)
        parts = {".weight": packed._quantized_data, ".weight_scale": scale, ".weight_scale_2": torch.as_tensor(second).float()}
        exchange.write(folder, "modelopt_nvfp4", one.number, parts)
    exchange.write_versions(folder, "torch", "nvidia-modelopt", "transformers")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
