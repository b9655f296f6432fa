"""Counters for /metrics in Prometheus' text format 0.0.4: queue, latency, memory. Nothing that a caller sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
PREFIX = "systemone_"


class Histogram:
    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[next((n for n, bound in enumerate(SECONDS) if value <= bound), len(SECONDS))] += 1
        self.total += value

    def lines(self, name: str) -> Iterator[str]:
        below = 0
        for bound, count in zip((*map(str, SECONDS), "+Inf"), self.counts, strict=True):
            below += count
            yield f'{name}_bucket{{le="{bound}"}} {below}'
        yield f"{name}_sum {self.total:.6f}"
        yield f"{name}_count {below}"


class Metrics:
    """Touched by the event loop's thread alone."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.disconnects = 0
        self.input_tokens = 0
        self.questions: Counter[str] = Counter()
        self.request_seconds, self.queue_seconds, self.engine_seconds = Histogram(), Histogram(), Histogram()
        self.device_memory: Mapping[str, float | None] = {}

    def text(self, gauges: Mapping[str, float]) -> str:
        """The whole page; `gauges` are what the server knows of itself now."""
        return "".join(line + "\n" for line in self.lines(gauges))

    def lines(self, gauges: Mapping[str, float]) -> Iterator[str]:
        yield from header("requests_total", "counter", "Answers by route and status.")
        for (route, status), count in sorted(self.requests.items()):
            yield f'{PREFIX}requests_total{{route="{route}",status="{status}"}} {count}'
        yield from header("questions_total", "counter", "Answered questions by type.")
        for kind, count in sorted(self.questions.items()):
            yield f'{PREFIX}questions_total{{type="{kind}"}} {count}'
        yield from single("disconnects_total", "counter", "Callers that left before their answer.", self.disconnects)
        yield from single("input_tokens_total", "counter", "Prompt tokens of all rotations.", self.input_tokens)
        for name, what, found in (
            ("request_seconds", "From the head of a request to its answer.", self.request_seconds),
            ("queue_seconds", "Waiting for the device.", self.queue_seconds),
            ("engine_seconds", "On the device.", self.engine_seconds),
        ):
            yield from header(name, "histogram", what)
            yield from found.lines(PREFIX + name)
        for name, value in gauges.items():
            yield from single(name, "gauge", name.replace("_", " ") + ".", value)
        yield from header("device_memory_mib", "gauge", "The engine's own account of its device memory.")
        for kind, mib in sorted(self.device_memory.items()):
            if mib is not None:  # what the device does not count, as a CPU its weights
                yield f'{PREFIX}device_memory_mib{{kind="{kind}"}} {mib:g}'


def header(name: str, kind: str, what: str) -> Iterator[str]:
    yield f"# HELP {PREFIX}{name} {what}"
    yield f"# TYPE {PREFIX}{name} {kind}"


def single(name: str, kind: str, what: str, value: float) -> Iterator[str]:
    yield from header(name, kind, what)
    yield f"{PREFIX}{name} {value:g}"


def resident_bytes() -> int:
    """Memory of this process, as Linux counts it; 0 where it does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return 0
