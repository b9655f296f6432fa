"""Memory while a validation runs, sampled once per second in a thread: of the GPUs as a whole, else of a process and its children.

On a GPU what was taken before the engine started is told too: nvidia-smi counts for the whole device, and inside a
container it can't say whose it is. Kills by the kernel for want of memory are counted beside it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hubrelease import gpus

PERIOD_S = 1.0
MIB = 2**20


class Sampler:
    """Of the first `gpu_count` GPUs; where that is 0, of the process `pid()` (None: this one) with its children."""

    def __init__(self, gpu_count: int, pid: Callable[[], int | None], period_s: float = PERIOD_S) -> None:
        self.gpu_count, self.pid, self.period_s = gpu_count, pid, period_s
        self.samples: list[float] = []
        self.before = gpus.memory_used_mib(gpu_count) if gpu_count else None
        self.ooms = oom_kills()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self) -> Sampler:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join()

    def run(self) -> None:
        while True:
            self.sample()
            if self.stop.wait(self.period_s):
                self.sample()
                return

    def sample(self) -> None:
        found = gpus.memory_used_mib(self.gpu_count) if self.gpu_count else resident_mib(self.pid())
        if found is not None:
            self.samples.append(found)

    @property
    def found(self) -> dict[str, Any]:
        """`memory` of the report."""
        value: dict[str, Any] = {
            "scope": "device" if self.gpu_count else "process",
            "samplePeriodS": self.period_s,
            "samples": len(self.samples),
        }
        if self.samples:
            value["peakMiB"] = round(max(self.samples), 1)
        if self.before is not None:
            value["beforeMiB"] = self.before
        kills = oom_kills()
        if kills is not None and self.ooms is not None:
            value["hostOomEvents"] = max(0, kills - self.ooms)
        return value


def resident_mib(pid: int | None) -> float | None:
    """Of a process and all that it started. None where there is no /proc, or it has ended."""
    root = pid or os.getpid()
    amounts = [resident_of(one) for one in family_of(root)]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) / MIB if known else None


def resident_of(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def family_of(root: int) -> list[int]:
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                todo += [int(child) for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
        except (OSError, ValueError):
            continue
    return found


def oom_kills() -> int | None:
    """Processes that the kernel killed for want of memory so far: of this control group, else of the machine."""
    for file in ("/sys/fs/cgroup/memory.events", "/proc/vmstat"):
        try:
            rows = dict(line.split() for line in Path(file).read_text().splitlines() if len(line.split()) == 2)
            return int(rows["oom_kill"])
        except (OSError, KeyError, ValueError):
            continue
    return None
