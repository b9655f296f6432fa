"""The footnote of a receipt: what it says, and that nothing of a hostile receipt gets through."""

from __future__ import annotations

import json
from typing import Any

import pytest
import samples

from hubrelease.evaluations import Evaluation, Metric, evaluations_of, parse
from hubrelease.footnotes import footnote
from hubrelease.phrases import Say


def note(value: Any) -> str:
    (found,) = evaluations_of(parse("r.json", json.dumps(value).encode()))
    return footnote(found, Say("en"))


def test_a_harness() -> None:
    assert note(samples.LM_EVAL) == (
        "Measured by lm-evaluation-harness 0.4.9.2 of org/tiny at 8faed761d45a, engine vllm, bfloat16, shots by task, at most 200 samples of each task,"
        " chat template abababababab, seed 7, torch 2.9.0+cu128, transformers 4.57.3, 2 × NVIDIA H100."
    )


def test_a_serving_benchmark() -> None:
    assert note(samples.VLLM) == (
        "Measured by vllm bench serve of org/tiny at 8faed761d45a, engine vllm 0.11.0, request rate unlimited, prompts 160, concurrency at most 16,"
        " burstiness 1, 8 × H200."
    )


def test_figures_without_a_tool() -> None:
    assert note(samples.FIGURES) == "Measured on org/tiny at 8faed761d45a, engine sm120 1.0, seed 3, torch 2.9.0, 1 × RTX 5090."


def test_nothing_known_says_nothing() -> None:
    assert footnote(Evaluation("r.json", "unknown", None, ()), Say("en")) == ""


@pytest.mark.parametrize(
    ("model", "shown"), [("/home/somebody/out/tiny-fp8", "tiny-fp8"), ("./runs/x", "x"), ("served-name", "served-name")]
)
def test_a_folder_of_somebodys_machine_is_not_shown(model: str, shown: str) -> None:
    assert footnote(Evaluation("r.json", "mteb", model, ()), Say("en")) == f"Measured by MTEB of {shown}."


@pytest.mark.parametrize(("shots", "said"), [([5, 5], ", 5 shots"), ([1], ", 1 shot"), ([0, 5], ", shots by task"), ([None], "")])
def test_shots(shots: list[int | None], said: str) -> None:
    metrics = tuple(Metric("t", "acc", "none", 0.5, "/a", shots=count) for count in shots)
    assert footnote(Evaluation("r.json", "mteb", "org/x", metrics), Say("en")) == f"Measured by MTEB of org/x{said}."


def test_what_can_not_be_seen_and_what_is_too_long_is_taken_out() -> None:
    hostile = Evaluation(
        "r.json", "mteb", "org/x", (), engine="a\u202eb\n\n# c\x00\u200b", hardware="H" * 5000, conditions=(("n", "1"),) * 500
    )
    said = footnote(hostile, Say("en"))
    assert "engine a b # c" in said
    assert len(said) < 1000
    assert not set(said) & set("\n\x00\u202e\u200b")
