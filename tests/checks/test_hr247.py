from __future__ import annotations

import pytest
from weight_files import judged

KIND = "training-leftover"


@pytest.mark.parametrize("path", ["trainer_state.json", "optimizer.bin", "scheduler.pt", "rng_state_0.pth", "scaler.pt", "sub/optimizer.safetensors.txt", "events.out.tfevents.17.host.1.0",
                                  "runs/Jan01/events.out.tfevents.17.host.1.0", "data/train.arrow", "zero_to_fp32.py", "random_states_0.pkl", "optimizer_1.bin"])  # fmt: skip
def test_bad_names_of_leftovers(tmp_path, path):
    if path.endswith(".txt"):
        assert not judged(tmp_path, {path: b"x"})
    else:
        assert judged(tmp_path, {path: b"{}"}) == [(KIND, "warning", path)]


@pytest.mark.parametrize(
    "folder", ["global_step100", "checkpoint-500", "wandb", "a/.ipynb_checkpoints", "mlruns", "src/__pycache__", "pytorch_model_fsdp_0"]
)
def test_bad_folders_are_told_of_once(tmp_path, folder):
    assert judged(tmp_path, {f"{folder}/{n}/x.txt": b"x" for n in range(5)}) == [(KIND, "warning", folder)]


def test_good_other_files(tmp_path):
    names = (
        "optimizer.md",
        "docs/scheduler.md",
        "wandb.md",
        "checkpoint.json",
        "trainer.json",
        "all_results.json",
        "train_results.json",
        "arrow.txt",
        "global_step.json",
        "runs/readme.md",
    )
    assert not judged(tmp_path, dict.fromkeys(names, b"{}"))
