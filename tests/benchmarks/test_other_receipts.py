"""Receipts of other people: forms and faults that turned up when files were invented for each harness, and what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import samples
from specs import MINIMAL, load

from hubrelease.cards import rendered
from hubrelease.checker import check
from hubrelease.errors import CheckFailed
from hubrelease.evaluations import Evaluation, evaluations_of, parse
from hubrelease.facts import Facts
from hubrelease.footnotes import footnote
from hubrelease.lock import Lock
from hubrelease.phrases import Say
from hubrelease.receipts import read_all


def run_of(value: Any) -> Evaluation:
    (found,) = evaluations_of(parse("r.json", json.dumps(value).encode()))
    return found


def card(root: Path, value: Any, **asked: Any) -> str:
    row = ["x", {"receipt": "benchmarks/r.json", **asked}]
    spec = {**MINIMAL, "benchmarks": [{"receipt": "r.json"}], "card": {"tables": [{"title": "t", "columns": ["a", "b"], "rows": [row]}]}}
    return rendered(Facts(load(root, spec, r__json=value), Lock(), {"benchmarks/r.json": value}, None)).text


# ------------------------------------------------------------------------------------------------- text for a number


@pytest.mark.parametrize("text", ["0.42", " 42 ", "42%", "-1.5e-3", "+7", "1,234.5", "99.2 %", ".5", "０.４２"])
@pytest.mark.parametrize("form", [{}, {"unit": "ms"}, {"as": "percent", "decimals": 1}, {"decimals": 1}], ids=repr)
def test_a_number_that_a_receipt_gives_as_text_is_refused(tmp_path: Path, text: str, form: dict[str, Any]) -> None:
    """It would stand in the card as if it had been measured, in a form that nobody looked at."""
    with pytest.raises(CheckFailed) as caught:
        card(tmp_path, {"v": text}, pointer="/v", **form)
    (found,) = caught.value.problems
    assert "benchmarks/r.json/v" in found.message
    assert found.where.pointer == "/card/tables/0/rows/0/1"


@pytest.mark.parametrize(
    "text", ["v0.29.0", "0.1.2", "1,446 rows", "128x128", "8 × H200", "2026-04-28", "851bf6e806efd8d0a36b00ddf55e13ccb7b8cd0a", "-", "%"]
)
def test_words_with_digits_are_words(tmp_path: Path, text: str) -> None:
    assert f"| x | {text} |".replace("-", "") in card(tmp_path, {"v": text}, pointer="/v").replace("\\", "").replace("-", "")


def test_whoever_says_that_it_is_text_is_believed(tmp_path: Path) -> None:
    assert "| x | 1.10 |" in card(tmp_path, {"v": "1.10"}, pointer="/v", **{"as": "text"})


def test_a_score_that_is_in_percent_already_is_not_multiplied_again(tmp_path: Path) -> None:
    """squadv2 and its like go to 100 in lm_eval; 6,320% is nobody's score."""
    value = {**samples.LM_EVAL, "results": {"squadv2": {"f1,none": 63.2}, "arc": {"acc,none": 1.0}}}
    with pytest.raises(CheckFailed) as caught:
        card(tmp_path, value, task="squadv2", **{"as": "percent", "decimals": 1})
    assert "is 63.2, and `as: percent` would show 6,320.0%" in caught.value.problems[0].message
    assert "| x | 63.2% |" in card(tmp_path, {"v": 0.632}, pointer="/v", **{"as": "percent", "decimals": 1})
    assert "| x | 100.0% |" in card(tmp_path, value, task="arc", **{"as": "percent", "decimals": 1})
    assert "| x | 105.0% |" in card(tmp_path, {"growth": 1.05}, pointer="/growth", **{"as": "percent", "decimals": 1})


# ------------------------------------------------------------------------------------------------------------ lm_eval


def test_values_of_a_group_whose_row_is_a_heading_are_read_from_groups() -> None:
    value = {**samples.LM_EVAL, "results": {"mmlu": {"alias": "mmlu", " ": " "}}, "groups": {"mmlu": {"acc,none": 0.61, "alias": "mmlu"}}}
    assert [(m.task, m.value, m.pointer) for m in run_of(value).metrics] == [("mmlu", 0.61, "/groups/mmlu/acc,none")]


def test_results_without_options_as_the_library_returns_them() -> None:
    """lm_eval 0.3's evaluate() gives results and versions, and nothing else."""
    value = {"results": {"hellaswag": {"acc": 0.5, "acc_stderr": 0.01}}, "versions": {"hellaswag": 0}}
    assert [(m.task, m.metric, m.value, m.stderr) for m in run_of(value).metrics] == [("hellaswag", "acc", 0.5, 0.01)]
    assert list(evaluations_of(parse("r.json", b'{"results": {"a": {"b": 1}}, "versions": {"c": 1}}'))) == []


@pytest.mark.parametrize("shots", [-3, 1e300, "five", True, 2.5])
def test_shots_that_are_none_are_not_said(shots: Any) -> None:
    value = {**samples.LM_EVAL_3, "config": {**samples.LM_EVAL_3["config"], "num_fewshot": shots}}
    assert "shot" not in footnote(run_of(value), Say("en"))


# ------------------------------------------------------------------------------------------------------------ serving


@pytest.mark.parametrize("sample", [samples.VLLM, samples.SGLANG], ids=["vllm", "sglang"])
def test_requests_that_failed_are_said(sample: dict[str, Any]) -> None:
    said = footnote(run_of({**sample, "failed": 3}), Say("en"))
    assert "failed requests 3" in said
    assert "failed" not in footnote(run_of({**sample, "failed": 0}), Say("en"))


def test_a_run_in_which_nothing_completed_is_a_warning(tmp_path: Path) -> None:
    """Its latencies are 0: nobody measured them."""
    nothing = {**samples.VLLM, "completed": 0, "failed": 160, "mean_ttft_ms": 0.0}
    load(tmp_path, {**MINIMAL, "benchmarks": [{"receipt": "r.json"}]}, r__json=nothing)
    (found,) = check(tmp_path)
    assert (found.code, found.severity, found.where.file, found.where.pointer) == ("HR605", "warning", "r.json", "/completed")
    assert "no request completed" in found.message
    load(tmp_path / "good", {**MINIMAL, "benchmarks": [{"receipt": "r.json"}]}, r__json=samples.VLLM)
    assert check(tmp_path / "good") == []


# ------------------------------------------------------------------------------------------------------------- no JSON


@pytest.mark.parametrize(
    ("data", "said"),
    [('{"a": 1}'.encode("utf-32"), "is UTF-32"), ('{"a": 1}'.encode("utf-16"), "is UTF-16"), ('{"a": 1}'.encode("utf-16-be"), "is UTF-16"),
     (b'{"a": ' + b"9" * 5000 + b"}", "holds a whole number of more digits than can be read (5,000)"), (b" \n", "the file is empty"),
     (b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 9\n", "is a git-lfs pointer"),
     (b"\x1f\x8b\x08\0\0\0\0\0", "is compressed (gzip)")],
    ids=["UTF-32", "UTF-16", "UTF-16 without a mark", "digits", "empty", "git-lfs", "gzip"],
)  # fmt: skip
def test_what_can_not_be_read_is_said_in_our_own_words(tmp_path: Path, data: bytes, said: str) -> None:
    spec = load(tmp_path, {**MINIMAL, "benchmarks": [{"receipt": "r.json"}]}, r__json=data)
    with pytest.raises(CheckFailed) as caught:
        read_all(spec)
    (found,) = caught.value.problems
    assert said in found.message
    assert "sys." not in found.message
