"""vLLM: the JSON of `vllm bench serve --save-result` (and of benchmark_serving.py), `bench latency` and `bench throughput`.

Written by vllm/benchmarks/serve.py, latency.py, throughput.py. Times of `serve` are in ms where the key says so (`median_ttft_ms`)
and in seconds where a later tool took the suffix off. `request_rate` is the text inf where all requests were sent at once. `--metadata
KEY=VALUE` adds keys of the user's own: those that name hardware, engine or versions are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease.benchmarks._reading import conditions_of, first_text, mapping, precision_of, seed_of, text
from hubrelease.benchmarks._serving import LATENCY as TIMED
from hubrelease.benchmarks._serving import LOAD, UNITS, failures, metrics_of, rate
from hubrelease.evaluations import Evaluation, Metric, number
from hubrelease.strict_yaml import pointer_to

SERVE, LATENCY, THROUGHPUT = "vllm bench serve", "vllm bench latency", "vllm bench throughput"
METADATA = {
    "tensor_parallel_size": "tensor parallel",
    "tp": "tensor parallel",
    "input_len": "input tokens",
    "output_len": "output tokens",
    "random_input_len": "input tokens",
    "random_output_len": "output tokens",
    "num_speculative_tokens": "speculative tokens",
}
OFFLINE = {"elapsed_time": "s", "num_requests": "requests", "total_num_tokens": "tokens", "requests_per_second": "req/s",
           "tokens_per_second": "tok/s", "avg_latency": "s"}  # fmt: skip


@dataclass(frozen=True)
class Vllm:
    """The adapter."""

    name: str = "vllm"

    def recognises(self, value: Any) -> bool:
        return isinstance(value, dict) and task_of(value) is not None

    def read(self, file: str, value: Any) -> Iterator[Evaluation]:
        task = task_of(value) or SERVE
        engine = first_text(value, "engine", "server") or ("vllm" if value.get("backend") == "vllm" or task != SERVE else None)
        yield Evaluation(
            file=file,
            harness=task,
            model=first_text(value, "model_id", "model"),
            metrics=tuple(figures_of(value, task)),
            revision=first_text(value, "revision", "model_revision"),
            engine=engine,
            engine_version=first_text(value, "vllm_version", "engine_version", "version"),
            precision=precision_of(value.get("dtype"), value.get("quantization")),
            seed=seed_of(value.get("seed")),
            hardware=first_text(value, "hardware", "gpu", "gpu_name", "gpu_type", "accelerator"),
            conditions=(*rate(value), *failures(value), *conditions_of(value, {**LOAD, **METADATA})),
            has_tasks=False,
        )


def task_of(value: Mapping[str, Any]) -> str | None:
    """Which of vLLM's benchmarks wrote this; None for anything else."""
    if ("model_id" in value or "tokenizer_id" in value) and not value.keys().isdisjoint(("completed", "num_prompts", "max_concurrency")):
        return SERVE if any(key.endswith("_throughput") or TIMED.fullmatch(key) for key in value) else None
    if isinstance(value.get("latencies"), list) and "avg_latency" in value and isinstance(value.get("percentiles"), dict):
        return LATENCY
    return THROUGHPUT if {"elapsed_time", "num_requests", "requests_per_second", "tokens_per_second"} <= value.keys() else None


def figures_of(value: Mapping[str, Any], task: str) -> Iterator[Metric]:
    yield from metrics_of(value, task, UNITS if task == SERVE else OFFLINE)
    if task == LATENCY:
        for level, found in mapping(value, "percentiles").items():
            if text(level) and number(found) is not None:
                yield Metric(task, f"p{level[:8]}_latency", "none", number(found), pointer_to("percentiles", level), unit="s")


ADAPTER = Vllm()
