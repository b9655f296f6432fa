"""The formats' arithmetic on a GPU: first that no bit differs from the CPU's, then kernel speeds beside a copy.

python bench/arithmetic_cuda.py [--rounds 30] [--rows 16384] [--columns 16384]

Bits: every sample of tests/parity_tensors.py, on the Triton kernels (BF16) and on plain torch with CUDA (all dtypes),
against the native path (BF16) or plain torch on the CPU; codes, scales and sums. Speeds: data on the GPU, medians by CUDA
events; bytes read and written a second, and their share of what a device-to-device copy reads and writes in the same run.
"errors" is a kernel that also adds up what rounding did, as conversions do. Aims: 80 % for fp8_block, 60 % for NVFP4.
Exit code 1 if a bit differs.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from common import arguments, table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import parity
import torch
from parity_tensors import SAMPLES

from hubrelease.arithmetic.cuda import Room, launch
from hubrelease.arithmetic.kernels import KERNELS, Kernel

NAMES = ("fp8_block", "fp8_dynamic", "nvfp4a16", "modelopt_nvfp4", "w4a16", "w8a16")
AIMS = {"fp8_block": 80, "nvfp4_divisor": 60, "nvfp4_multiplier": 60}


def main() -> int:
    asked = arguments("arithmetic on a GPU", rounds=30, rows=16384, columns=16384)
    compared = [row for name in NAMES for path in ("triton", "torch") if (row := bits(name, path))]
    table("bits that differ from the CPU", compared, ("format", "path on the GPU", "tensors", "bits", "differ"))
    speeds(asked.rounds, asked.rows, asked.columns)
    print(f"\n{torch.cuda.get_device_name()}, torch {torch.__version__}")
    return 1 if any(row[4] != "0" for row in compared) else 0


def bits(name: str, path: str) -> tuple[str, ...] | None:
    form = parity.form_of(name)
    if path == "triton" and form.kernel_name not in AIMS:
        return None
    tensors = count = differ = 0
    for sample in SAMPLES:
        if path == "torch" or sample.dtype == "BF16":
            wanted, sums = parity.ours(form, sample, "native" if sample.dtype == "BF16" else "torch")
            found, counted = parity.ours(form, sample, path, "cuda")
            tensors, count = tensors + 1, count + 8 * sum(map(len, wanted.values()))
            differ += sum(parity.differing_bits(wanted[suffix], found[suffix]) for suffix in wanted) + (sums != counted)
    return name, path, str(tensors), str(count), str(differ)


def speeds(rounds: int, rows: int, columns: int) -> None:
    weight = (torch.randn(rows, columns, device="cuda") * 0.02).to(torch.bfloat16)
    room = torch.empty_like(weight)
    copy = 2 * weight.nbytes / seconds(rounds, lambda: room.copy_(weight))
    shown = [("copy", "", f"{copy / 1e9:.0f}", "100 %", "")]
    for name, aim in AIMS.items():
        for measure in (False, True):
            moved, spent = kernel_speed(rounds, KERNELS[name], weight, measure)
            share = 100 * moved / spent / copy
            shown.append((name, "errors" if measure else "", f"{moved / spent / 1e9:.0f}", f"{share:.0f} %", f"{aim} %"))
    table(f"GB/s read and written, {rows} x {columns} BF16, medians of {rounds}", shown, ("", "", "GB/s", "of a copy", "aim"))


def kernel_speed(rounds: int, kernel: Kernel, weight: torch.Tensor, measure: bool) -> tuple[int, float]:
    """Bytes that have to be moved, and seconds."""
    room = Room(kernel, weight)
    amax = float(weight.abs().amax())
    shared = torch.tensor([kernel.shared(amax, "BF16")], device="cuda") if kernel.shared else None
    spent = seconds(rounds, lambda: launch(kernel, weight, shared, room, measure))
    return weight.nbytes + room.codes.nbytes + room.scales.nbytes, spent


def seconds(rounds: int, work: Callable[[], object]) -> float:
    for _ in range(5):
        work()
    found = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        found.append(start.elapsed_time(end) / 1000)
    return statistics.median(found)


if __name__ == "__main__":
    sys.exit(main())
