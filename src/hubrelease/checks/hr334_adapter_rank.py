"""The rank of an adapter's tensors is not the one that adapter_config.json gives.

Why it matters: loading stops with a size mismatch; a runtime that trusts the tensors scales by another lora_alpha / r.
Mend: Correct r or rank_pattern, or save the adapter again.
Source: huggingface/peft tuners/lora/layer.py (0.21.2); huggingface/peft issue 1710.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.expected_tensors import grouped
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for adapter in release.adapters:
        if not adapter.modules:
            continue
        if adapter.rank is None:
            where = Where(adapter.config_file, pointer="/r")
            yield CHECK.problem(
                where, f"is {str(adapter.config.get('r'))[:40]!r}, not a rank", "give the rank that the adapter was trained with"
            )
            continue
        stacked = bool(adapter.config.get("target_parameters"))  # one factor for each expert: a multiple of r
        shown = {name: module.rank for name, module in adapter.modules.items()}
        ranks = adapter.ranks or {}
        wrong = [n for n, rank in shown.items() if rank and n in ranks and rank != ranks[n] and not (stacked and rank % ranks[n] == 0)]
        for _, first, count in grouped(wrong, 4):
            more = f", and {count - 1} more of its kind differ" if count > 1 else ""
            message = f"{first} has the rank {shown[first]}, {adapter.config_file} says {ranks[first]}{more}"
            yield CHECK.problem(Where(adapter.weights_file, tensor=first), message, "correct r or rank_pattern, or save the adapter again")


CHECK = Check("HR334", "adapter-rank", "rank other than the config's", run)
