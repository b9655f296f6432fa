"""Names of what training and its tools leave behind: state, data, logs, caches. No loader of a finished model reads them."""

from __future__ import annotations

import re

# A checkpoint of transformers' Trainer, accelerate, DeepSpeed, FSDP.
STATE = re.compile(
    r"(optimizer(_\d+)?|scheduler(_\d+)?|scaler|rng_state(_\d+)?|random_states_\d+|training_args)\.(pt|pth|bin|pkl|safetensors|npz)"
    r"|.*_optim_states\.pt|mp_rank_\d+.*_model_states\.pt|zero_pp_rank_.*\.pt|custom_checkpoint_\d+\.pkl"
)
REASONS = (
    (re.compile(r"trainer_state\.json|trainer_log\.jsonl"), "the log of a training run"),
    (re.compile(r"events\.out\.tfevents\..*"), "a TensorBoard log"),
    (re.compile(r".*\.arrow"), "a data set's cache (Arrow)"),
    (re.compile(r"zero_to_fp32\.py"), "DeepSpeed's script for its own checkpoints"),
)
FOLDERS = re.compile(
    r"(global_step\d+|checkpoint-\d+|tmp-checkpoint-\d+|wandb|mlruns|lightning_logs|\.hydra|\.ipynb_checkpoints|__pycache__|\.pytest_cache"
    r"|pytorch_model_fsdp_\d+|optimizer_\d+|\.mypy_cache|\.ruff_cache|\.aim|\.neptune|\.comet)"
)


def is_training_state(path: str) -> bool:
    return STATE.fullmatch(path.rpartition("/")[2]) is not None or leftover_folder(path) is not None


def leftover_reason(path: str) -> str | None:
    """What a file is, where its name says that it was left behind."""
    name = path.rpartition("/")[2]
    if STATE.fullmatch(name):
        return "state of a training run"
    return next((reason for form, reason in REASONS if form.fullmatch(name)), None)


def leftover_folder(path: str) -> str | None:
    """The outermost folder above `path` that training or a tool made."""
    steps = path.split("/")[:-1]
    for depth, step in enumerate(steps, 1):
        if FOLDERS.fullmatch(step):
            return "/".join(steps[:depth])
    return None
