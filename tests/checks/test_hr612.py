"""HR612 results-subject: receipts of another model."""

import json

import pytest
from cards import RECEIPT, judged, kinds, lm_eval

ERROR = {("results-subject", "error", RECEIPT)}
SNAPSHOT = "/data/hub/models--example-org--tiny-base/snapshots/" + "a" * 40


@pytest.mark.parametrize(
    "model",
    [
        "example-org/tiny-base", "example-org/tiny-llama-v2", "other/model", "example-org/tiny-base@main", SNAPSHOT, "/models/tiny-base", "tiny-base",
        {"pretrained": "example-org/tiny-base", "dtype": "auto"}, "https://huggingface.co/example-org/tiny-base", "hf://example-org/tiny-base",
        {"model": "example-org/tiny-base"}, "example-org/tiny-llama-GGUF", "example-org__tiny-base", "'example-org/tiny-base'",
    ],
)  # fmt: skip
def test_bad_models(tmp_path, model):
    assert kinds(judged(tmp_path, receipts={RECEIPT: lm_eval(model)})) == ERROR


def test_bad_name_alone(tmp_path):
    assert kinds(judged(tmp_path, receipts={RECEIPT: lm_eval(None, model_name="example-org/tiny-base")})) == ERROR


def test_bad_layout_of_0_3(tmp_path):
    receipt = {
        "results": {"gsm8k": {"acc": 0.4}},
        "versions": {"gsm8k": 0},
        "config": {"model": "hf", "model_args": "pretrained=example-org/tiny-base"},
    }
    assert kinds(judged(tmp_path, receipts={RECEIPT: json.dumps(receipt).encode()})) == ERROR


def test_bad_vendors_model(tmp_path):
    receipt = lm_eval("gpt-4o-mini", config={"model": "openai-chat-completions", "model_args": "model=gpt-4o-mini"})
    assert kinds(judged(tmp_path, receipts={RECEIPT: receipt})) == ERROR


def test_bad_other_harness(tmp_path):
    receipt = json.dumps({"model_id": "example-org/tiny-base", "num_prompts": 10, "completed": 10, "duration": 2.0}).encode()
    assert kinds(judged(tmp_path, receipts={RECEIPT: receipt})) == ERROR


def test_bad_one_of_two_tasks(tmp_path):
    """The release's own receipt is of another task, so the base's is no comparison."""
    own, base = lm_eval(results={"mmlu": {"acc,none": 0.5}}), lm_eval("example-org/tiny-base")
    assert kinds(judged(tmp_path, receipts={RECEIPT: base, "benchmarks/own.json": own})) == ERROR


def test_bad_baseline_by_its_name_is_a_warning(tmp_path):
    path = "benchmarks/baseline.json"
    assert kinds(judged(tmp_path, receipts={path: lm_eval("example-org/tiny-base")})) == {("results-subject", "warning", path)}


def test_bad_declared_as_yet_another(tmp_path):
    spec = {"benchmarks": [{"receipt": "raw/results.json", "of": "example-org/tiny-base"}]}
    assert kinds(judged(tmp_path, spec=spec, receipts={RECEIPT: lm_eval("other/model")})) == ERROR


def test_bad_without_provenance_is_a_warning(tmp_path):
    found = judged(tmp_path, receipts={RECEIPT: lm_eval("example-org/tiny-base")}, bare=True)
    assert kinds(found) == {("results-subject", "warning", RECEIPT)}


@pytest.mark.parametrize(
    "model",
    [
        "example-org/tiny-llama", "Example-Org/Tiny-Llama", "example-org/tiny-llama@" + "b" * 40, "/data/models--example-org--tiny-llama/snapshots/" + "c" * 40 + "/",
        "./tiny-llama", "/home/user/dist/tiny-llama/", "staging-org/tiny-llama", "tiny-llama", "example-org__tiny-llama", "/tmp/out", "./checkpoint-500",
        "outputs/final", "default", "/dist/tiny-llama/merged", None, {"pretrained": "example-org/tiny-llama"}, {"pretrained": 7}, {},
        {"pretrained": "example-org/tiny-base", "peft": "example-org/tiny-llama"}, {"pretrained": "example-org/tiny-base", "lora_local_path": "./adapter"},
    ],
)  # fmt: skip
def test_good_models(tmp_path, model):
    assert not judged(tmp_path, receipts={RECEIPT: lm_eval(model)})


def test_good_declared(tmp_path):
    for number, row in enumerate(
        [{"receipt": "x.json", "as": RECEIPT, "of": "example-org/tiny-base"}, {"receipt": "raw/results.json", "of": "the base, revision 1"}]
    ):
        assert not judged(tmp_path / str(number), spec={"benchmarks": [row]}, receipts={RECEIPT: lm_eval("example-org/tiny-base")})


def test_good_comparison(tmp_path):
    assert not judged(tmp_path, receipts={RECEIPT: lm_eval(), "benchmarks/of_tiny-base.json": lm_eval("example-org/tiny-base")})


@pytest.mark.parametrize("rows", [7, [7], [{"receipt": 7, "of": "x"}], [{"of": "x"}], [{"receipt": "a", "as": [], "of": "x"}]])
def test_good_odd_specs(tmp_path, rows):
    assert not judged(tmp_path, spec={"benchmarks": rows}, receipts={RECEIPT: lm_eval()})
