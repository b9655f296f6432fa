"""config.json promises multi-token-prediction layers, and no tensor belongs to one.

Why it matters: a runtime that is asked for speculative decoding fails to load, or drafts from random numbers.
Mend: Carry the MTP tensors over from the base, or set the number in config.json to 0.
Source: modelscope/ms-swift issue 7848; intel/auto-round PR 1526; NVIDIA/Model-Optimizer PR 860.

Only keys whose models do ship the layers count: MiniMax-M2's num_mtp_modules promises layers that its maker never published.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import Model, as_size
from hubrelease.release import Release

KEYS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "mtp_num_layers", "n_mtp_layers", "num_mtp_heads")


def run(release: Release) -> Iterator[Problem]:
    for model in release.models:
        for pointer, key, count in promised(model):
            if model.whole and model.layers is not None and (seen := model.mtp_layers) < count:
                severity = "warning" if model.is_mlx else "error"  # mlx has no use for them, and leaves them out
                names = f"mtp.* or layers.{model.layers} and beyond"
                message = f"promises {count} MTP layers, and the weights have {seen or 'none'} ({names})"
                mend = f"carry the MTP tensors over from the base, or set {key} to {seen}"
                yield CHECK.problem(Where(model.config_file, pointer=pointer), message, mend, severity)


def promised(model: Model) -> Iterator[tuple[str, str, int]]:
    """(pointer, key, number) of what the config promises."""
    holders = [("", model.config)] + [(f"/{k}", v) for k, v in model.config.items() if v is model.text and v is not model.config]
    for place, holder in holders:
        for key in KEYS:
            if count := as_size(holder.get(key), 1000):
                yield f"{place}/{key}", key, count


CHECK = Check("HR307", "mtp-missing", "promised MTP layers are absent", run)
