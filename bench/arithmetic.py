"""The formats' arithmetic on this machine's CPU: GB/s of BF16 input, each format on each path, one thread and two.

python bench/arithmetic.py [--rounds 9] [--columns 2560]

Beside them in the same rounds: memcpy, and torch's own casts to binary32 and to E4M3, alone. Strips are those of the
converter (8 MiB); each round does everything once, medians are shown. Without torch, only the native rows are shown.
"""

from __future__ import annotations

import statistics
import threading
import time
from array import array
from collections.abc import Callable
from hashlib import sha256
from typing import TypeAlias

from common import arguments, table

from hubrelease.formats import Format, Strip, formats, paths

STRIP_BYTES = 8 * 2**20
Work: TypeAlias = Callable[[], tuple[float, float]]


def main() -> None:
    asked = arguments("arithmetic", rounds=9, columns=2560)
    strip = strip_of(STRIP_BYTES // 2 // asked.columns // 128 * 128, asked.columns)
    here = paths("cpu")
    works = {f"memcpy, -, {n}": copies(strip, n) for n in (1, 2)}
    if here["torch"] is None:
        works |= torch_casts(strip)
    for form in formats():
        for path, reason in here.items():
            if reason is None and form.name not in ("bf16", "nvfp4"):
                works |= {f"{form.name}, {path}, {n}": encoders(form, path, strip, n) for n in (1, 2)}
    rows = measured(asked.rounds, works, memoryview(strip.data).nbytes)
    title = f"GB/s of BF16 input, medians of {asked.rounds}; strips of {strip.rows} x {strip.columns}"
    table(title, rows, ("", "path", "threads", "GB/s", "GB/s and thread of processor time"))


def strip_of(rows: int, columns: int) -> Strip:
    """Numbers with the exponents of a weight: most between 2^-10 and 2^-5."""
    noise = b"".join(sha256(b"%d" % n).digest() for n in range(rows * columns // 16))
    bits = array("H", noise)
    for place, n in enumerate(bits):
        bits[place] = n & 0x807F | (0x7A - min((n >> 7 & 0xFF) // 32, 6)) << 7
    return Strip(bytearray(bits.tobytes()), "BF16", rows, columns)


def copies(strip: Strip, threads: int) -> Work:
    rooms = [bytearray(len(strip.data)) for _ in range(threads)]

    def copy(room: bytearray) -> None:
        memoryview(room)[:] = strip.data

    return together([lambda room=room: copy(room) for room in rooms])


def torch_casts(strip: Strip) -> dict[str, Work]:
    import torch

    torch.set_num_threads(1)
    weight = torch.frombuffer(strip.data, dtype=torch.bfloat16)
    wide = weight.float() * 1000
    return {
        "torch BF16 to F32, alone, 1": together([lambda: weight.float()]),
        "torch F32 to E4M3, alone, 1": together([lambda: wide.to(torch.float8_e4m3fn)]),
    }


def encoders(form: Format, path: str, strip: Strip, threads: int) -> Work:
    made = [form.encoder("cpu", path) for _ in range(threads)]
    amax = made[0].amax(strip) if form.needs_shared_amax else None
    return together([lambda encoder=encoder: encoder.encode(strip, amax) for encoder in made])


def together(works: list[Callable[[], object]]) -> Work:
    """Runs the works at the same time: seconds a work on the clock, so that two threads on two cores show half, and seconds
    of processor a work, which other programs on the machine do not stretch."""

    def run() -> tuple[float, float]:
        spent: list[float] = []
        threads = [threading.Thread(target=timed, args=(work, spent)) for work in works[1:]]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        timed(works[0], spent)
        for thread in threads:
            thread.join()
        return (time.perf_counter() - started) / len(works), sum(spent) / len(works)

    return run


def timed(work: Callable[[], object], spent: list[float]) -> None:
    started = time.thread_time()
    work()
    spent.append(time.thread_time() - started)


def measured(rounds: int, works: dict[str, Work], size: int) -> list[tuple[str, ...]]:
    for work in works.values():
        work()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            found[name].append(work())
    return [(*name.split(", "), *(f"{size / statistics.median(column) / 1e9:.2f}" for column in zip(*seconds, strict=True)))
            for name, seconds in found.items()]  # fmt: skip


if __name__ == "__main__":
    main()
