"""SGLang: the JSONL of `python -m sglang.bench_serving`, bench_offline_throughput and bench_one_batch, one run a line.

Written by sglang/bench_serving.py (to the file of --output-file, appended) and its siblings. `request_rate` is Infinity where all
requests were sent at once, so such a line is no strict JSON. The model and the version stand only under `server_info`, which newer
versions add; --output-details adds lists of every request, which are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hubrelease.benchmarks._reading import conditions_of, first_text, mapping, precision_of, seed_of
from hubrelease.benchmarks._serving import LOAD, UNITS, failures, metrics_of, rate
from hubrelease.evaluations import Evaluation

SERVING, OFFLINE, BATCH = "sglang.bench_serving", "sglang.bench_offline_throughput", "sglang.bench_one_batch"
OWN_KEYS = ("total_output_tokens_retokenized", "random_range_ratio", "server_info", "sharegpt_output_len", "mean_e2e_latency_ms")
OFFLINE_UNITS = {**UNITS, "successful_requests": "requests", "total_latency": "s", "last_gen_throughput": "tok/s"}
BATCH_UNITS = {
    **dict.fromkeys(("prefill_latency", "median_decode_latency", "total_latency", "latency", "ttft", "last_ttft"), "s"),
    **dict.fromkeys(("prefill_throughput", "median_decode_throughput", "overall_throughput"), "tok/s"),
    **dict.fromkeys(("input_throughput", "output_throughput", "last_gen_throughput"), "tok/s"),
    "acc_length": "tokens",
}
LENGTHS = {
    "random_input_len": "input tokens at most",
    "random_output_len": "output tokens at most",
    "random_range_ratio": "range ratio",
}
BATCH_LOAD = {"run_name": "run", "batch_size": "batch size", "input_len": "input tokens", "output_len": "output tokens"}
SERVER = {"tp_size": "tensor parallel", "dp_size": "data parallel", "attention_backend": "attention", "kv_cache_dtype": "KV cache",
          "speculative_algorithm": "speculation", "speculative_num_steps": "speculative steps"}  # fmt: skip


@dataclass(frozen=True)
class Sglang:
    """The adapter."""

    name: str = "sglang"

    def recognises(self, value: Any) -> bool:
        return isinstance(value, dict) and task_of(value) is not None

    def read(self, file: str, value: Any) -> Iterator[Evaluation]:
        task = task_of(value) or SERVING
        server = server_of(value)
        units, load = {SERVING: (UNITS, LOAD), OFFLINE: (OFFLINE_UNITS, LOAD), BATCH: (BATCH_UNITS, BATCH_LOAD)}[task]
        backend = str(value.get("backend", ""))
        yield Evaluation(
            file=file,
            harness=task,
            model=first_text(server, "model_path", "served_model_name") or first_text(value, "model", "model_path", "model_id"),
            metrics=tuple(metrics_of(value, task, units)),
            revision=first_text(server, "revision"),
            engine="sglang" if task != SERVING or backend.startswith("sglang") or server else None,
            engine_version=first_text(server, "version"),
            precision=precision_of(server.get("quantization"), server.get("dtype")),
            seed=seed_of(server.get("random_seed", value.get("seed"))),
            conditions=(
                *rate(value),
                *failures(value),
                *conditions_of(value, load),
                *conditions_of(value, lengths(value)),
                *conditions_of(server, SERVER),
            ),
            has_tasks=False,
        )


def server_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the server says of itself; of several that work together (prefill and decode apart) what all of them say."""
    told = mapping(value, "server_info")
    listed = [told[key] for key in ("prefill", "decode") if isinstance(told.get(key), list)]
    parts = [part for servers in listed for part in servers if isinstance(part, dict)]
    return {key: said for key, said in parts[0].items() if all(part.get(key) == said for part in parts)} if parts else told


def lengths(value: Mapping[str, Any]) -> Mapping[str, str]:
    """The lengths that held: SGLang writes the options of every kind of data set, used or not."""
    dataset = str(value.get("dataset_name", ""))
    return LENGTHS if dataset.startswith("random") else {"sharegpt_output_len": "output tokens"} if dataset == "sharegpt" else {}


def task_of(value: Mapping[str, Any]) -> str | None:
    """Which of SGLang's benchmarks wrote this; None for anything else."""
    if "run_name" in value and "batch_size" in value and "input_len" in value and not value.keys().isdisjoint(BATCH_UNITS):
        return BATCH
    if "successful_requests" in value and "total_latency" in value and "total_throughput" in value:
        return OFFLINE
    is_run = "completed" in value and "duration" in value and "output_throughput" in value
    return SERVING if is_run and "tokenizer_id" not in value and not value.keys().isdisjoint(OWN_KEYS) else None


ADAPTER = Sglang()
