"""An adapter holds tensors under names that PEFT does not load.

Why it matters: PEFT drops them with a remark at most: the adapter seems to load and changes nothing.
Mend: Save the adapter with PeftModel.save_pretrained, which takes the adapter's own name out and puts base_model.model. in front.
Source: huggingface/peft utils/save_and_load.py (0.21.2): keys without the prefix, or with an adapter name, are unexpected.

DoRA's magnitude vectors count too where use_dora is not set.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.adapters import PREFIX, SAVED, Adapter
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.expected_tensors import grouped
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for adapter in release.adapters:
        reasons: dict[str, list[str]] = {}
        for tensor in adapter.tensors:
            if why := unused(adapter, tensor.name):
                reasons.setdefault(why, []).append(tensor.name)
        for why, names in reasons.items():
            _, first, count = grouped(names, 1)[0]
            more = f", and {count - 1} more" if count > 1 else ""
            where = Where(adapter.weights_file, tensor=first)
            yield CHECK.problem(where, f"{first} {why}{more}", "save the adapter with PeftModel.save_pretrained")


def unused(adapter: Adapter, name: str) -> str | None:
    """Why PEFT would not load the tensor, or None."""
    _, rest, part = adapter.split(name)
    if SAVED.match(name):
        return None
    if not name.startswith(PREFIX):
        return f"does not begin with {PREFIX}" if ".lora_" in name or "lora_" in rest else None
    if part == "magnitude" and adapter.config.get("use_dora") is False:
        return "belongs to DoRA, and use_dora is false"
    pieces = rest.split(".")
    if part is None and pieces[0] in ("A", "B") and len(pieces) == 3 and pieces[2] in ("weight", "bias"):
        return f"still carries the adapter's name {pieces[1][:40]!r}"
    return None


CHECK = Check("HR333", "adapter-tensor-unused", "adapter tensor that is not loaded", run)
