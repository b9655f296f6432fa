"""HR614 card-number: figures of tables, model-index and .eval_results/ against receipts."""

import json

import pytest
from cards import RECEIPT, judged, kinds, lm_eval, table

CARD = ("card-number", "error", "README.md")
BASE = "example-org/tiny-base"
HARNESS = """|  Tasks  |Version|     Filter     |n-shot|  Metric   |   |Value |   |Stderr|
|---------|------:|----------------|-----:|-----------|---|-----:|---|-----:|
|gsm8k    |      1|flexible-extract|     5|exact_match|↑  |{flexible}|±  |0.0137|
|         |       |strict-match    |     5|exact_match|↑  |{strict}|±  |0.0136|
|hellaswag|      1|none            |     5|acc        |↑  |0.5013|±  |0.0050|
|         |       |none            |     5|acc_norm   |↑  |0.6125|±  |{error}|
"""

BAD = [
    table("Task | Metric | Value", "gsm8k | exact_match (strict-match) | 0.4400"),
    table("Task | Metric | Value", "gsm8k | exact_match,flexible-extract | 0.4200"),
    table("Task | Metric | Value | Stderr", "gsm8k | exact_match (strict-match) | 0.4200 | 0.0236"),
    table("Benchmark | Score", "GSM8K (5-shot) | 44.0"),
    table("Benchmark | Score", "**GSM8K** | **44.0%**"),
    table("Benchmark | Accuracy (%)", "[HellaSwag](https://example.org) | 60.25"),
    table("Benchmark | tiny-llama", "gsm8k | 0.41"),
    table("Benchmark | tiny-base | tiny-llama", "gsm8k | 0.50 | 0.41"),
    table("Benchmark | This model", "HellaSwag | 0.62"),
    table("Benchmark | tiny-llama (this model)", "hella_swag | 62.5"),
    table("Model | GSM8K | HellaSwag", "tiny-llama | 42.0 | 62.0"),
    table("Model | gsm8k (strict-match) | hellaswag acc_norm", "tiny-llama | 0.45 | 0.6125"),
    table("| gsm8k | hellaswag", "Score | 0.44 | 0.61"),
    table("Task | strict-match | flexible-extract", "gsm8k | 0.42 | 0.42"),
    table("Task | acc | acc_norm", "hellaswag | 0.6125 | 0.6125"),
    table("Task | Value", "hellaswag | 0.614"),
    table("Task | Value", "hellaswag | 0.61249"),
    table("Task | Shots | Value", "gsm8k | 5 | 0.43"),
    table("Task \\| name | Value", "gsm8k | 0.43"),
    HARNESS.format(flexible="0.4600", strict="0.4200", error="0.0049"),
    HARNESS.format(flexible="0.4500", strict="0.4500", error="0.0049"),
    HARNESS.format(flexible="0.4500", strict="0.4200", error="0.0149"),
]
GOOD = [
    table("Task | Metric | Value | Stderr", "gsm8k | exact_match (strict-match) | 0.4200 | 0.0136", "hellaswag | acc\\_norm | 0.6125 | –"),
    table("Benchmark | Score", "GSM8K | 42.0", "HellaSwag | 61.25%"),
    table("Benchmark | Score", "GSM8K (strict) | 42", "HellaSwag | 61.2", "hellaswag | 61.3"),
    table("Task | Value", "gsm8k | 42.00 ± 1.36", "hellaswag | 0.6125 (±0.0049)"),
    table("Task | Value", "gsm8k | ~0.44", "hellaswag | about 60", "gsm8k | n/a", "gsm8k | –"),
    table("Task | Value", "gsm8k | 0.50 (stated)"),
    table("Task | Value", "mmlu | 0.9", "gsm8k_cot | 0.9", "GSM8K (Spanish) | 0.9", "gsm8k hard | 0.9", "hellaswag_de | 0.9"),
    table("Task | Value | tiny-base", "gsm8k | 0.42 | 0.90"),
    table("Benchmark | GPT-4 | Llama-2-7B | tiny-llama", "gsm8k | 0.92 | 0.14 | 0.42"),
    table("Model | GSM8K", "GPT-4 | 92.0", "Llama 2 7B | 14.6", "tiny-llama | 42.0"),
    table("Model | Task | Score", "GPT-4 | gsm8k | 92.0", "tiny-llama | gsm8k | 42.0"),
    table("Task | Precision | Score", "gsm8k | BF16 | 47.0", "gsm8k | FP8 | 42.0"),
    table("Task | Score | Δ", "gsm8k | 42.0 | -3.1"),
    table("Task | Shots | Value", "gsm8k | 8 | 0.55", "gsm8k | 5 | 0.42"),
    table("Benchmark | Score", "gsm8k (8-shot) | 55.0"),
    table("Task | Metric | Value", "gsm8k | pass@1 | 0.77", "hellaswag | f1 | 0.3"),
    table("Hyperparameter | Value", "learning rate | 0.44", "epochs | 3", "hellaswag weight | 0.1"),
    table("Dataset | Number of samples", "gsm8k | 7473", "hellaswag | 39905"),
    table("Dataset | Value | Time (s)", "gsm8k | 0.42 | 812"),
    table("GPU | Memory", "H100 | 80"),
    table("Task | Score (BF16)", "gsm8k | 47.0"),
    "## Base model results\n\n" + table("Task | Value", "gsm8k | 0.50"),
    "## Results of tiny-base\n\n" + table("Task | Value", "gsm8k | 0.50"),
    "These are upstream's own figures. They were not measured on the files of this release.\n\n" + table("Task | Value", "gsm8k | 0.50"),
    "Scores as reported by the authors:\n\n" + table("Task | Value", "gsm8k | 0.50"),
    "```\n" + table("Task | Value", "gsm8k | 0.50") + "\n```",
    "<!--\n" + table("Task | Value", "gsm8k | 0.50") + "\n-->",
    "Text with 0.99 on gsm8k | and a bar\n\n| not a table | gsm8k 0.99 |",
    HARNESS.format(flexible="0.4500", strict="0.4200", error="0.0049"),
]  # fmt: skip


@pytest.mark.parametrize("body", BAD)
def test_bad_tables(tmp_path, body):
    found = judged(tmp_path, body=body, receipts={RECEIPT: lm_eval()})
    assert kinds(found) == {CARD}
    assert len(found) == 1
    assert RECEIPT in found[0].message
    assert "/results/" in found[0].message


@pytest.mark.parametrize("body", GOOD)
def test_good_tables(tmp_path, body):
    assert not judged(tmp_path, body=body, receipts={RECEIPT: lm_eval()})


def test_good_tables_of_somebody_else_with_no_receipt_of_theirs(tmp_path):
    """Nothing is said of tasks that no receipt has."""
    assert not judged(tmp_path / "a", body=BAD[0])
    assert not judged(tmp_path / "b", body=BAD[0], receipts={RECEIPT: lm_eval(results={"mmlu": {"acc,none": 0.5}})})


def test_bad_line_and_value(tmp_path):
    (found,) = judged(tmp_path, body=table("Task | Value", "mmlu | 1", "gsm8k | 0.44"), receipts={RECEIPT: lm_eval()})
    assert found.where.line == 14
    assert "0.44" in found.message
    assert "0.42 at /results/gsm8k/exact_match,strict-match" in found.message


def test_bad_layout_of_0_3(tmp_path):
    receipt = {"results": {"arc_challenge": {"acc": 0.25, "acc_stderr": 0.01, "acc_norm": 0.29, "acc_norm_stderr": 0.01}}, "versions": {"arc_challenge": 0},
               "config": {"model": "hf-causal", "model_args": "pretrained=./tiny-llama", "num_fewshot": 25}}  # fmt: skip
    data = {RECEIPT: json.dumps(receipt).encode()}
    assert kinds(judged(tmp_path / "a", body=table("Task | acc_norm", "ARC-Challenge (25-shot) | 28.0"), receipts=data)) == {CARD}
    assert not judged(tmp_path / "b", body=table("Task | acc_norm", "ARC-C (25-shot) | 29.0"), receipts=data)


def test_bad_other_pages(tmp_path):
    page = {"docs/results.md": BAD[0].encode(), "README.de.md": GOOD[0].encode()}
    assert kinds(judged(tmp_path, receipts={RECEIPT: lm_eval()}, files=page)) == {("card-number", "error", "docs/results.md")}


@pytest.mark.parametrize(("shown", "is_good"), [("42.0", True), ("44.0", False)])
def test_bad_tables_in_html(tmp_path, shown, is_good):
    body = f"""<table>
<tr><th>Category</th><th>Benchmark</th><th>tiny-base</th><th>tiny-llama</th></tr>
<tr><td rowspan="2">Maths</td><td>GSM8K (Strict-Match, 5-shot)</td><td>50.1</td><td>{shown}</td></tr>
<tr><td>HellaSwag (acc_norm, 5-shot)</td><td>60.1</td><td>61.25</td></tr>
</table>"""
    found = judged(tmp_path, body=body, receipts={RECEIPT: lm_eval()})
    assert kinds(found) == (set() if is_good else {CARD})
    assert is_good or found[0].where.line == 13


def test_bad_one_of_two_tables_is_a_warning(tmp_path):
    """Two tables of one page can be of two settings, of which only one has a receipt."""
    body = "## Thinking off\n\n" + table("Task | Value", "gsm8k | 0.42") + "\n\n## Thinking on\n\n" + table("Task | Value", "gsm8k | 0.71")
    assert kinds(judged(tmp_path, body=body, receipts={RECEIPT: lm_eval()})) == {("card-number", "warning", "README.md")}


def test_bad_figure_of_a_declared_other_model(tmp_path):
    spec = {"benchmarks": [{"receipt": "base.json", "of": BASE}]}
    receipts = {RECEIPT: lm_eval(), "benchmarks/base.json": lm_eval(BASE, results={"gsm8k": {"exact_match,strict-match": 0.55}})}
    body = table("Benchmark | tiny-base | tiny-llama", "gsm8k (strict-match) | {} | 0.42")
    assert kinds(judged(tmp_path / "a", body=body.format("0.59"), receipts=receipts, spec=spec)) == {CARD}
    assert not judged(tmp_path / "b", body=body.format("0.55"), receipts=receipts, spec=spec)


@pytest.mark.parametrize("shown", ["42", "42.0", "42.00", "0.42", "0.420", ".42", "42 %"])
def test_good_roundings(tmp_path, shown):
    assert not judged(tmp_path, body=table("Task | Value", f"gsm8k (strict-match) | {shown}"), receipts={RECEIPT: lm_eval()})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.425, "0.42"),
        (0.425, "0.43"),
        (0.42999, "43.0"),
        (-0.0127, "-0.013"),
        (28.678, "28.68"),
        (6212.81, "6,212.8"),
        (73.2, "0.732"),
        (0.0, "0"),
    ],
)
def test_good_values(tmp_path, value, shown):
    receipt = lm_eval(results={"task": {"metric,none": value}})
    assert not judged(tmp_path, body=table("Task | Value", f"task | {shown}"), receipts={RECEIPT: receipt})


# ------------------------------------------------------------------------------------------ model-index, .eval_results/


def index(task="gsm8k", metric="exact_match", value=0.42, **more):
    dataset = {"type": f"openai/{task}", "name": task.upper(), **more.pop("dataset", {})}
    result = {"task": {"type": "text-generation"}, "dataset": dataset, "metrics": [{"type": metric, "value": value}], **more}
    return {"model-index": json.dumps([{"name": "tiny", "results": [result]}])}


@pytest.mark.parametrize(
    "front",
    [index(value=0.44), index(value=44.0), index(metric="acc_norm", task="hellaswag", value=0.5), index(metric="accuracy", value=0.51)],
)
def test_bad_model_index(tmp_path, front):
    found = judged(tmp_path, front=front, receipts={RECEIPT: lm_eval()})
    assert kinds(found) == {CARD}
    assert found[0].where.pointer == "/model-index/0/results/0/metrics/0/value"


@pytest.mark.parametrize(
    "front",
    [
        index(), index(value=45.0), index(value=42), index(metric="pass@1", value=0.9), index(task="mmlu", value=0.9), index(value="0.42"),
        index(value=0.9, source={"url": "https://example.org", "name": "Open LLM Leaderboard"}), index(value=0.9, dataset={"args": {"num_few_shot": 25}}),
        index(metric="accuracy", task="hellaswag", value=61.25),
    ],
)  # fmt: skip
def test_good_model_index(tmp_path, front):
    assert not judged(tmp_path, front=front, receipts={RECEIPT: lm_eval()})


def test_bad_table_against_model_index(tmp_path):
    """No receipt: the card must at least not contradict itself."""
    body = table("Task | Metric | Value", "gsm8k | exact_match | 0.44")
    assert kinds(judged(tmp_path / "a", front=index(), body=body)) == {CARD}
    assert not judged(
        tmp_path / "b", front=index(), body=table("Task | Metric | Value", "gsm8k | exact_match | 0.45", "gsm8k | exact_match | 42.0")
    )
    assert not judged(tmp_path / "c", front=index(), body=table("Task | Value", "gsm8k | 0.44"))


def test_bad_eval_results(tmp_path):
    file = ".eval_results/gsm8k.yaml"
    text = "- dataset: {id: openai/gsm8k, task_id: gsm8k}\n  value: %s\n"
    found = judged(tmp_path / "a", files={file: (text % 0.44).encode()}, receipts={RECEIPT: lm_eval()})
    assert kinds(found) == {("card-number", "error", file)}
    assert (found[0].where.line, found[0].where.pointer) == (2, "/0/value")
    assert not judged(tmp_path / "b", files={file: (text % 42.0).encode()}, receipts={RECEIPT: lm_eval()})
    elsewhere = (text % 0.9 + "  source: {url: https://huggingface.co/spaces/other/x}\n").encode()
    assert not judged(tmp_path / "c", files={file: elsewhere}, receipts={RECEIPT: lm_eval()})


# ------------------------------------------------------------------------------------------------- tables of release.yaml


def asked(**figure):
    row = ["GSM8K", {"receipt": RECEIPT, "pointer": "/results/gsm8k/exact_match,strict-match", **figure}]
    return {"card": {"tables": [{"title": "Our scores", "columns": ["benchmark", "share solved"], "rows": [row]}]}}


@pytest.mark.parametrize(
    ("figure", "shown"),
    [
        ({"as": "percent", "decimals": 1}, "44.0%"),
        ({"decimals": 2}, "0.41"),
        ({"decimals": 4}, "0.42"),
        ({"as": "percent", "decimals": 1, "unit": "points"}, "42.0 %"),
        ({}, "about 0.42"),
    ],
)
def test_bad_cell_that_the_spec_traces(tmp_path, figure, shown):
    body = "## Our scores\n\n" + table("benchmark | share solved", f"GSM8K | {shown}")
    found = judged(tmp_path, body=body, spec=asked(**figure), receipts={RECEIPT: lm_eval()})
    assert kinds(found) == {CARD}
    assert len(found) == 1
    assert "/results/gsm8k/exact_match,strict-match" in found[0].message


@pytest.mark.parametrize(
    ("figure", "shown"),
    [
        ({"as": "percent", "decimals": 1}, "42.0%"),
        ({"decimals": 2}, "0.42"),
        ({}, "0.42"),
        ({"as": "percent", "decimals": 1, "unit": "points"}, "42.0 points"),
    ],
)
def test_good_cell_that_the_spec_traces(tmp_path, figure, shown):
    body = "## Our scores\n\n" + table("benchmark | share solved", f"GSM8K | {shown}")
    assert not judged(tmp_path / "a", body=body, spec=asked(**figure), receipts={RECEIPT: lm_eval()})
    assert not judged(
        tmp_path / "b", body=body.replace("Our scores", "Other scores"), spec=asked(decimals=4), receipts={RECEIPT: lm_eval()}
    )


@pytest.mark.parametrize(
    "figure", [{"pointer": "/none"}, {"receipt": "absent.json"}, {"decimals": "x"}, {"pointer": "/results"}, {"as": 7}, {"decimals": -5}]
)
def test_good_spec_that_says_nonsense(tmp_path, figure):
    body = "## Our scores\n\n" + table("benchmark | share solved", "GSM8K | 42.0%")
    assert not judged(tmp_path, body=body, spec=asked(**figure), receipts={RECEIPT: lm_eval()})
