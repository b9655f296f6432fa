"""HR613 results-partial: runs over a part of a task."""

import json

import pytest
from cards import RECEIPT, judged, kinds, lm_eval, table

WARNING = {("results-partial", "warning", RECEIPT)}
PART = {"n-samples": {"gsm8k": {"original": 1319, "effective": 200}, "hellaswag": {"original": 10042, "effective": 10042}}}


def test_bad_fewer_samples(tmp_path):
    (found,) = judged(tmp_path, receipts={RECEIPT: lm_eval(**PART)})
    assert (found.kind, found.severity, found.where.pointer) == ("results-partial", "warning", "/n-samples/gsm8k")
    assert "200 of 1319" in found.message


@pytest.mark.parametrize("limit", [200, 200.0, 0.1])
def test_bad_limit_alone(tmp_path, limit):
    receipt = {
        "results": {"gsm8k": {"acc": 0.4}},
        "versions": {"gsm8k": 0},
        "config": {"model": "hf", "model_args": "pretrained=./tiny-llama", "limit": limit},
    }
    assert kinds(judged(tmp_path, receipts={RECEIPT: json.dumps(receipt).encode()})) == WARNING


def test_bad_group_without_its_tasks(tmp_path):
    rows = {"mmlu": {"alias": "mmlu", "acc,none": 0.5}, "mmlu_stem": {"alias": " - stem", "acc,none": 0.5}}
    receipt = lm_eval(results=rows, group_subtasks={"mmlu": ["mmlu_stem", "mmlu_humanities", "mmlu_other"]}, groups={"mmlu": rows["mmlu"]})
    (found,) = judged(tmp_path, receipts={RECEIPT: receipt})
    assert "2 of its tasks" in found.message


def test_bad_many_are_counted(tmp_path):
    rows = {f"task_{n}": {"acc,none": 0.5} for n in range(40)}
    receipt = lm_eval(results=rows, **{"n-samples": {task: {"original": 100, "effective": 10} for task in rows}})
    found = judged(tmp_path, receipts={RECEIPT: receipt})
    assert len(found) == 6
    assert "35 more" in found[-1].message


@pytest.mark.parametrize(
    "text", ["gsm8k: the first 200 questions.", "Run on 200 of 1,319 items.", "limit=200", "(n = 200)", "200 random samples", "200/1319"]
)
def test_good_said_in_the_card(tmp_path, text):
    assert not judged(tmp_path, receipts={RECEIPT: lm_eval(**PART)}, body=text)


def test_good_said_in_a_table(tmp_path):
    assert not judged(tmp_path, receipts={RECEIPT: lm_eval(**PART)}, body=table("Task | n | Value", "gsm8k | 200 | 0.42"))


def test_bad_another_number_in_the_card(tmp_path):
    assert kinds(judged(tmp_path, receipts={RECEIPT: lm_eval(**PART)}, body="Trained for 200 steps on 1319 files.")) == WARNING


def test_good_whole_runs(tmp_path):
    assert not judged(tmp_path / "a", receipts={RECEIPT: lm_eval()})
    whole = {
        "n-samples": {"gsm8k": {"original": 24, "effective": 24}},
        "config": {"model": "hf", "model_args": "pretrained=./tiny-llama", "limit": 200},
    }
    assert not judged(tmp_path / "b", receipts={RECEIPT: lm_eval(**whole)})
    rows = {"mmlu": {"alias": "mmlu", "acc,none": 0.5}, "mmlu_stem": {"alias": " - stem", " ": " "}, "heading": {" ": " "}}
    groups = {"mmlu": ["mmlu_stem"], "heading": ["absent"]}
    assert not judged(tmp_path / "c", receipts={RECEIPT: lm_eval(results=rows, group_subtasks=groups)})


@pytest.mark.parametrize("samples", [7, {"gsm8k": 7}, {"gsm8k": {"original": "a", "effective": None}}, {"gsm8k": {"effective": 5}}, [1]])
def test_good_odd_samples(tmp_path, samples):
    assert not judged(tmp_path, receipts={RECEIPT: lm_eval(**{"n-samples": samples})})
