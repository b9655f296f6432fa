"""Memory and power of this machine's GPUs, sampled once a second by asking nvidia-smi. Without it, or where it fails, nothing is known.

Each sample is a process of its own: what is not printed at once by one that runs on can be lost with it. Memory is that of
whole devices, for which process of a container serves can't be told from outside.
"""

from __future__ import annotations

import math
import subprocess
import threading
from types import TracebackType
from typing import Any, NamedTuple

PERIOD_S = 1.0
COMMAND = ("nvidia-smi", "--query-gpu=name,memory.used,power.draw,power.limit", "--format=csv,noheader,nounits")


class Gpu(NamedTuple):
    """One GPU now; None for what it does not tell."""

    name: str
    used_mib: float | None
    draw_w: float | None
    limit_w: float | None


class Sampler:
    """Samples while it is entered. `here` is whether the server's device is one of this machine's."""

    def __init__(self, here: bool, device: str | None = None) -> None:
        self.here, self.device = here, device
        self.last: list[Gpu] = []
        self.used: list[float] = []  # peak and count are taken of it: a day has 86,400
        self.drawn: list[float] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.sample_on, daemon=True)

    def __enter__(self) -> Sampler:
        if self.here and self.sample() and self.device in (None, *(gpu.name for gpu in self.last)):
            self.thread.start()
        else:
            self.last, self.used, self.drawn = [], [], []
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.over.set()

    def sample_on(self) -> None:
        while not self.over.wait(PERIOD_S):
            self.sample()

    def sample(self) -> bool:
        """Takes one sample; False where there is none to take."""
        found = read()
        if not found:
            return False
        self.last = found
        for values, one in ((self.used, [gpu.used_mib for gpu in found]), (self.drawn, [gpu.draw_w for gpu in found])):
            if known := [value for value in one if value is not None]:
                values.append(math.fsum(known))
        return True

    def facts(self) -> dict[str, Any]:
        """What a session record says of it."""
        limits = [gpu.limit_w for gpu in self.last]
        found: dict[str, Any] = {}
        if limits and None not in limits:
            found["powerLimitW"] = limits
        if used := list(self.used):
            found["memory"] = {"scope": "device", "peakMiB": max(used), "samplePeriodS": PERIOD_S, "samples": len(used)}
        if drawn := list(self.drawn):
            found["powerDrawW"] = {"mean": round(math.fsum(drawn) / len(drawn), 3), "peak": max(drawn), "samples": len(drawn)}
        return found


def read() -> list[Gpu]:
    """Every GPU as it is now."""
    try:
        done = subprocess.run(COMMAND, capture_output=True, check=False, timeout=10, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [line.split(", ") for line in done.stdout.decode("utf-8", "replace").splitlines()] if done.returncode == 0 else []
    return [Gpu(", ".join(row[:-3]), *map(number, row[-3:])) for row in rows if len(row) >= 4]


def number(word: str) -> float | None:
    """A number that nvidia-smi printed; it says [N/A] and the like for what a GPU does not tell."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
