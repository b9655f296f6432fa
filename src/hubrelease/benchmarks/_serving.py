"""What the serving benchmarks of vLLM and SGLang have in common: names of latencies and throughputs, and their units.

Both go back to vLLM's benchmarks/benchmark_serving.py: ttft (time to first token), tpot (time per output token), itl (between
tokens), e2el or e2e_latency (whole answer), each with mean, median, std and percentiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hubrelease.evaluations import Metric, number
from hubrelease.strict_yaml import pointer_to

LATENCY = re.compile(
    r"(?:probe_)?(?:mean|median|std|min|max|p(?:100|\d{1,2}(?:\.\d{1,4})?))_"
    r"(?:ttft|tpot|itl|e2el|e2e_latency|ntpot|latency|client_queue_time|e2el_including_client_queue)(_ms)?"
)
UNITS = {
    "duration": "s",
    "completed": "requests",
    "failed": "requests",
    "good_completed": "requests",
    "total_input_tokens": "tokens",
    "total_input_text_tokens": "tokens",
    "total_input_vision_tokens": "tokens",
    "total_output_tokens": "tokens",
    "total_output_tokens_retokenized": "tokens",
    "request_throughput": "req/s",
    "request_goodput": "req/s",
    "input_throughput": "tok/s",
    "output_throughput": "tok/s",
    "output_throughput_retokenized": "tok/s",
    "total_throughput": "tok/s",
    "total_throughput_retokenized": "tok/s",
    "total_token_throughput": "tok/s",
    "max_output_tokens_per_s": "tok/s",
    "max_concurrent_requests": "requests",
    "concurrency": "requests",
    "accept_length": "tokens",
    "rtfx": "",
    "total_input_sequences": "inputs",
    "input_sequence_throughput": "inputs/s",
    "probe_completed": "requests",
    "probe_failed": "requests",
    "diffusion_committed_throughput": "tok/s",
    "diffusion_committed_tokens": "tokens",
    "diffusion_denoising_steps": "",
    "diffusion_canvas_positions": "",
    "diffusion_steps_per_canvas": "",
    "diffusion_committed_per_step": "",
    "spec_decode_acceptance_rate": "%",
    "spec_decode_acceptance_length": "tokens",
    "spec_decode_num_drafts": "",
    "spec_decode_draft_tokens": "tokens",
    "spec_decode_accepted_tokens": "tokens",
}
LOAD = {
    "backend": "backend",
    "endpoint_type": "endpoint",
    "dataset_name": "dataset",
    "num_prompts": "prompts",
    "max_concurrency": "concurrency at most",
    "burstiness": "burstiness",
    "label": "label",
    "tag": "tag",
}


def metrics_of(row: Mapping[str, Any], task: str, units: Mapping[str, str] = UNITS) -> Iterator[Metric]:
    """Every figure of a run, in the order of the file."""
    for key, found in row.items():
        name = key.removesuffix(":")  # vLLM before 0.10 wrote "request_goodput:"
        latency = LATENCY.fullmatch(name)
        if (latency is None and name not in units) or found is None or isinstance(found, (dict, list, bool)):
            continue
        unit = ("ms" if latency[1] else "s") if latency else units[name]
        given = found if isinstance(found, str) else ""
        is_sure = latency is None or bool(latency[1])  # a later tool took the suffix off: in seconds mostly
        yield Metric(task, name, "none", number(found), pointer_to(key), text=given, unit=unit, is_unit_sure=is_sure)


def failures(row: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """How many requests failed, where any did."""
    found = number(row.get("failed"))
    return (("failed requests", f"{found:,g}"),) if found else ()


def rate(row: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The rate of requests: a number, none where all were sent at once ("inf", Infinity), or from where to where it was raised."""
    given = row.get("request_rate")
    if (strategy := row.get("ramp_up_strategy")) is not None:
        first, last = number(row.get("ramp_up_start_rps")), number(row.get("ramp_up_end_rps"))
        known = first is not None and last is not None and isinstance(strategy, str)
        return (("request rate", f"{first:g} to {last:g} req/s, {strategy[:40]}"),) if known else ()
    if given.strip().lower() in ("inf", "infinity") if isinstance(given, str) else given == float("inf"):
        return (("request rate", "unlimited"),)
    found = number(given)
    return (("request rate", f"{found:g} req/s"),) if found is not None else ()
