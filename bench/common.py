"""What the benchmarks share: releases of any size, made quickly; medians; a table with ratios.

Files are made under --folder (default: ./.bench, removed afterwards). Every script prints the machine and the versions
that made its figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hubrelease.weights import header_bytes

HUBRELEASE = [sys.executable, "-m", "hubrelease"]
MIB, GIB = 2**20, 2**30


def arguments(description: str, **defaults: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--folder", type=Path, default=Path(".bench"))
    for name, value in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    return parser.parse_args()


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """An empty folder, and a cache of its own for hubrelease, both removed at the end."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["XDG_CACHE_HOME"] = str(folder.resolve() / "cache")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_model(folder: Path, size: int, shards: int, sparse: bool = False) -> None:
    """A model folder whose BF16 shards have `size` bytes in all: real headers, an index, the small files of a real model."""
    folder.mkdir(parents=True)
    per_shard, rows = size // shards, 4096
    block = os.urandom(MIB)
    weight_map = {}
    for number in range(1, shards + 1):
        name = f"model-{number:05d}-of-{shards:05d}.safetensors" if shards > 1 else "model.safetensors"
        tensors = [(f"model.layers.{number}.w{k}.weight", "BF16", (per_shard // 8 // 2 // rows, rows)) for k in range(8)]
        header = header_bytes(tensors, {"format": "pt"})
        with (folder / name).open("wb") as out:
            out.write(header)
            data = sum(2 * shape[0] * shape[1] for _, _, shape in tensors)
            if sparse:
                out.truncate(len(header) + data)
            else:
                for _ in range(data // MIB):
                    out.write(block)
                out.write(block[: data % MIB])
        weight_map |= {t[0]: name for t in tensors}
    if shards > 1:
        total = sum(2 * s[0] * s[1] for s in [tensors[0][2]]) * 8 * shards
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps({"architectures": ["BenchModel"], "model_type": "bench"}))
    (folder / "LICENSE").write_text("Text of a licence for a benchmark.\n")


SPEC = """schema: 1
name: example-org/bench
version: 1.0.0
license: apache-2.0
sources: {base_model: {folder: SOURCE}}
weights: {format: as-is, recipe: made for a benchmark}
card: {summary: SUMMARY}
"""


def write_spec(folder: Path, source: str, summary: str = "A benchmark.") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "release.yaml").write_text(SPEC.replace("SOURCE", source).replace("SUMMARY", summary))


def sealed(folder: Path, size: int, shards: int, sparse: bool = False) -> Path:
    """A sealed release of that size, made in place."""
    make_model(folder, size, shards, sparse)
    text = SPEC.replace("sources: {base_model: {folder: SOURCE}}\n", "").replace("SUMMARY", "A benchmark.")
    (folder / "release.yaml").write_text(text)
    subprocess.run([*HUBRELEASE, "seal", str(folder), "-q"], check=True)
    return folder


def files_of(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def hash_with_two_threads(files: list[Path]) -> None:
    """The reference: hashlib, two threads, 1 MiB reads."""
    queue, lock = iter(sorted(files, key=lambda p: -p.stat().st_size)), threading.Lock()

    def run() -> None:
        buffer = bytearray(MIB)
        while True:
            with lock:
                path = next(queue, None)
            if path is None:
                return
            digest = hashlib.sha256()
            with path.open("rb", buffering=0) as stream:
                while got := stream.readinto(buffer):
                    digest.update(memoryview(buffer)[:got])

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def medians(rounds: int, works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each piece of work, taken in turns so that a noisy minute hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(timed(work))
    return {name: statistics.median(values) for name, values in times.items()}


def peak_mib(command: list[str]) -> tuple[float, float]:
    """(peak resident memory in MiB, seconds) of a command and its children, from wait4."""
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, command
    return usage.ru_maxrss / 1024, time.perf_counter() - start


def machine() -> str:
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "?"
    )
    system = f"{platform.system()} {platform.release().split('-')[0]}"
    return f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, {system}"


def table(title: str, rows: list[tuple[str, ...]], head: tuple[str, ...]) -> None:
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    print(f"\n{title}\n{machine()}\n")
    for row in [head, tuple("-" * w for w in widths), *rows]:
        print("  ".join(str(cell).ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())
