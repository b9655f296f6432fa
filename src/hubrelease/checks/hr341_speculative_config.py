"""A configuration for speculative decoding asks for something that does not fit the draft, or changes what is generated.

Why it matters: more tokens than the draft writes are padding; synthetic acceptance takes tokens that the target would refuse.
Mend: Ask for at most block_size - 1 tokens, pin the draft's revision, and leave synthetic acceptance to benchmarks of speed.
Source: vllm 0.32.0 config/speculative.py.

Warnings, but for a number of tokens that is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.adapters import REPOSITORY
from hubrelease.checks import Check
from hubrelease.drafts import Speculation, drafts, speculations
from hubrelease.errors import Problem, Where
from hubrelease.models import as_size
from hubrelease.release import Release

COMMIT = re.compile(r"[0-9a-f]{40}")


def run(release: Release) -> Iterator[Problem]:
    sizes = {d.block_size for d in drafts(release)} - {None}
    block = sizes.pop() if len(sizes) == 1 else None
    for found in speculations(release):
        for message, mend, severity in faults(found, block):
            yield CHECK.problem(Where(found.file, found.line), message, mend, severity)


def faults(found: Speculation, block: int | None) -> Iterator[tuple[str, str, str]]:
    count, model, revision = found.value.get("num_speculative_tokens"), found.value.get("model"), found.value.get("revision")
    if count is not None and not as_size(count, 10_000):
        yield f"num_speculative_tokens is {str(count)[:40]!r}, not a number of tokens", "give a number from 1 on", "error"
    elif block and (wanted := as_size(count)) and wanted > block - 1 and found.value.get("method") in (None, "dflash"):
        message = f"num_speculative_tokens is {wanted}, and the draft's block_size is {block}: {block - 1} tokens at most come of it"
        yield message, f"ask for at most {block - 1}", "warning"
    synthetic = found.value.get("rejection_sample_method") == "synthetic" or any(k.startswith("synthetic_acceptance") for k in found.value)
    if synthetic:
        yield "accepts tokens by a schedule (synthetic): the output is no longer the target's", "leave it to benchmarks of speed", "warning"
    is_repository = isinstance(model, str) and "/" in model and REPOSITORY.fullmatch(model) is not None
    if is_repository and not (isinstance(revision, str) and COMMIT.fullmatch(revision)):
        yield (
            f"takes the draft {str(model)[:100]} at {str(revision or 'whatever revision')[:60]}",
            "give the draft's 40-digit commit",
            "warning",
        )


CHECK = Check("HR341", "speculative-config", "speculative decoding that does not fit", run)
