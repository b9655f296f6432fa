"""A module of a LoRA adapter lacks one of its tensors: lora_A, lora_B, or the magnitude vector of DoRA.

Why it matters: PEFT fills the gap with its start values, so that the module is unchanged or changed at random, without an error.
Mend: Save the adapter again with save_pretrained, or copy it whole.
Source: huggingface/peft utils/save_and_load.py (0.21.2), which only warns of missing keys; deepspeedai/DeepSpeed issue 7900.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.adapters import Adapter
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.expected_tensors import grouped
from hubrelease.release import Release

PAIRS = (("A", "B"), ("B", "A"), ("embedding A", "embedding B"), ("embedding B", "embedding A"))
MEND = "save the adapter again, or copy it whole"


def run(release: Release) -> Iterator[Problem]:
    for adapter in release.adapters:
        for part, names in lacking(adapter).items():
            for _, first, count in grouped(names, 4):
                more = f", and {count - 1} more of its kind" if count > 1 else ""
                where = Where(adapter.weights_file, tensor=first)
                yield CHECK.problem(where, f"{first} has no lora_{part.replace(' ', '_')}{more}", MEND)
        if missing := adapter_promises(adapter):
            yield CHECK.problem(adapter.weights_file, missing, MEND)


def lacking(adapter: Adapter) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    dora = adapter.config.get("use_dora") is True
    for name, module in adapter.modules.items():
        for part, other in PAIRS:
            if part in module.parts and other not in module.parts:
                found.setdefault(other, []).append(name)
        if dora and {"A", "B"} <= module.parts.keys() and "magnitude" not in module.parts:
            found.setdefault("magnitude_vector", []).append(name)
    return found


def adapter_promises(adapter: Adapter) -> str | None:
    """A module of modules_to_save that is nowhere among the tensors."""
    saved = adapter.config.get("modules_to_save")
    for word in saved if isinstance(saved, list) and adapter.tensors else ():
        if isinstance(word, str) and word and not any(f".{word}." in f".{t.name}." for t in adapter.tensors):
            return f"modules_to_save names {word[:80]!r}, and no tensor belongs to it"
    return None


CHECK = Check("HR332", "adapter-tensor-missing", "half of a LoRA pair", run)
