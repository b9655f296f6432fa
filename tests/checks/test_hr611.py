"""HR611 results-non-finite: NaN and infinities among results."""

import json

import pytest
from cards import RECEIPT, judged, kinds, lm_eval

PLACE = ("results-non-finite", "error", RECEIPT)


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("path", [RECEIPT, "results_2026-01-01.json", "benchmarks/vllm/serve.json", "eval_results.json", "evals/a.jsonl"])
def test_bad_tokens(tmp_path, token, path):
    found = judged(tmp_path, receipts={path: f'{{"results": {{"gsm8k": [1, {{"acc,none": {token}}}]}}}}'.encode()})
    assert kinds(found) == {("results-non-finite", "error", path)}
    assert found[0].where.pointer.endswith("/results/gsm8k/1/acc,none")


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf"])
def test_bad_text_for_a_value(tmp_path, value):
    receipt = lm_eval(results={"gsm8k": {"exact_match,strict-match": value, "exact_match,flexible-extract": 0.4}})
    assert kinds(judged(tmp_path, receipts={RECEIPT: receipt})) == {PLACE}


def test_bad_only_the_standard_error(tmp_path):
    receipt = lm_eval(results={"a": {"mae,none": 0.5, "mae_stderr,none": float("nan")}})
    assert kinds(judged(tmp_path, receipts={RECEIPT: receipt})) == {PLACE}


def test_bad_card_and_eval_results(tmp_path):
    index = json.dumps(
        [
            {
                "name": "t",
                "results": [{"task": {"type": "a"}, "dataset": {"type": "b", "name": "c"}, "metrics": [{"type": "acc", "value": 1}]}],
            }
        ]
    )
    assert kinds(judged(tmp_path / "a", front={"model-index": index.replace(": 1}", ": .nan}")})) == {
        ("results-non-finite", "error", "README.md")
    }
    text = b"- dataset: {id: a/b, task_id: c}\n  value: .inf\n"
    file = ".eval_results/a.yaml"
    assert kinds(judged(tmp_path / "b", files={file: text})) == {("results-non-finite", "error", file)}


def test_bad_many_are_counted(tmp_path):
    found = judged(tmp_path, receipts={RECEIPT: json.dumps({"x": [float("nan")] * 500}).encode()})
    assert len(found) == 11
    assert "490 more" in found[-1].message


def test_bad_does_not_hide_other_faults(tmp_path):
    results = {"gsm8k": {"exact_match,strict-match": 0.42}, "hellaswag": {"acc_norm,none": float("nan")}}
    found = judged(tmp_path, receipts={RECEIPT: lm_eval(results=results)}, body="| Task | Value |\n|---|---|\n| gsm8k | 0.44 |")
    assert {p.kind for p in found} == {"results-non-finite", "card-number"}


@pytest.mark.parametrize("value", ["N/A", "", " ", None])
def test_good_values(tmp_path, value):
    rows = {"mmlu": {"alias": "mmlu", "acc,none": 0.2295, "acc_stderr,none": value}, "mmlu_stem": {"alias": " - stem", " ": " "}}
    assert not judged(
        tmp_path, receipts={RECEIPT: lm_eval(results=rows), "benchmarks/b.json": b'{"nauc": "nan", "request_rate": "inf", "x": null}'}
    )


def test_good_zero_and_huge(tmp_path):
    assert not judged(tmp_path, receipts={RECEIPT: b'{"a": 0.0, "b": 1e308, "c": -5, "d": 123456789012345678901234567890}'})
