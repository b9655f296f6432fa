"""The NVIDIA GPUs of this machine, as nvidia-smi tells of them: no import, no CUDA context, and nothing that names the machine.

Of a GPU its name, capability, memory and power limit are told; serial numbers and UUIDs are not asked for.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

QUERY = "name,compute_cap,memory.total,power.limit,power.default_limit,driver_version"
TIMEOUT_S = 20


@dataclass(frozen=True)
class GPU:
    name: str
    capability: str
    memory_mib: int | None
    power_limit_w: float | None
    power_default_w: float | None

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.name, "computeCapability": self.capability}
        if self.memory_mib is not None:
            found["memoryTotalMiB"] = self.memory_mib
        if self.power_limit_w is not None:
            found["powerLimitW"] = self.power_limit_w
            if self.power_default_w is not None:
                found["powerLimitChanged"] = self.power_limit_w != self.power_default_w
        return found


@dataclass(frozen=True)
class Found:
    """`missing` says what there is none of, in words, where there is no GPU."""

    gpus: tuple[GPU, ...] = ()
    driver: str | None = None
    cuda: str | None = None
    missing: str = ""


def find() -> Found:
    """The GPUs that this process may use, or why there is none."""
    try:
        done = smi(f"--query-gpu=index,{QUERY}", "--format=csv,noheader,nounits")
    except FileNotFoundError:
        return Found(missing="no NVIDIA driver (nvidia-smi is not there)")
    except (OSError, subprocess.TimeoutExpired) as error:
        return Found(missing=f"nvidia-smi does not answer ({type(error).__name__})")
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())[:200]
        return Found(missing=f"nvidia-smi failed: {said or done.returncode}")
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    chosen = visible(rows)
    gpus = tuple(GPU(row[1], row[2], whole(row[3]), number(row[4]), number(row[5])) for row in chosen if len(row) == 7)
    if not gpus:
        return Found(missing="no GPU is visible (CUDA_VISIBLE_DEVICES)" if rows else "the driver sees no GPU")
    return Found(gpus, chosen[0][6], cuda_of())


def smi(*words: str) -> subprocess.CompletedProcess[str]:
    """What is no text in it is replaced: a broken driver prints anything."""
    command = ["nvidia-smi", *words]
    return subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=TIMEOUT_S)


def visible(rows: list[list[str]]) -> list[list[str]]:
    """Those that CUDA_VISIBLE_DEVICES leaves, in its order where it gives numbers; UUIDs leave all.

    As CUDA reads it: what stands behind the first word that names no GPU, -1 for one, counts for nothing.
    """
    said = os.environ.get("CUDA_VISIBLE_DEVICES")
    if said is None or said.strip().startswith(("GPU-", "MIG-")):
        return rows
    by_index = {row[0]: row for row in rows}
    return [by_index[word] for word in takewhile(by_index.__contains__, map(str.strip, said.split(",")))]


def cuda_of() -> str | None:
    """The newest CUDA that the driver runs."""
    try:
        found = re.search(r"CUDA Version:\s*([0-9.]+)", smi().stdout)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found[1] if found else None


def memory_used_mib(first: int | None = None) -> int | None:
    """What is taken on the visible GPUs together, or on the first few of them."""
    try:
        done = smi("--query-gpu=index,memory.used", "--format=csv,noheader,nounits")
    except (OSError, subprocess.TimeoutExpired):
        return None
    rows = visible([[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()])
    amounts = [whole(row[1]) for row in rows[:first] if len(row) == 2]
    return sum(a for a in amounts if a is not None) if amounts and None not in amounts else None


def whole(text: str) -> int | None:
    value = number(text)
    return None if value is None else int(value)


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None  # "[N/A]"
