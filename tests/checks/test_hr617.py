"""HR617 card-average: averages and recoveries that the cells do not give."""

import pytest
from cards import RECEIPT, judged, kinds, lm_eval, table

RECEIPTS = {RECEIPT: lm_eval(results={task: {"acc,none": value} for task, value in (("arc", 0.6), ("mmlu", 0.7), ("piqa", 0.8))})}
BAD = [
    table("Model | arc | mmlu | piqa | Average", "tiny-llama | 60.0 | 70.0 | 80.0 | 90.0"),
    table("Model | arc | mmlu | piqa | Avg", "Another | 61.0 | 71.0 | 81.0 | 79.9"),
    table("Task | Score", "arc | 60.0", "mmlu | 70.0", "Average | 66.0"),
    table("Task | x | y", "arc | 60.0 | 1", "mmlu | 70.0 | 3", "**Average** | 65.0 | 2.9"),
    table("Question | Score", "a | 60.0", "b | 70.0", "Macro average | 66.0"),
    table("Model | A | B | Unweighted mean", "x | 60.0 | 70.0 | 66.0"),
    table("Benchmark | Base | This | Recovery", "a | 80.0 | 79.0 | 99.9%", "b | 50.0 | 49.0 | 98.0%"),
    table("Benchmark | Base | This | Recovery (%)", "a | 0.800 | 0.790 | 97.0"),
]
GOOD = [
    table(
        "Model | arc | mmlu | piqa | Average", "x | 60.0 | 70.0 | 80.0 | 70.0", "y | 60.0 | – | 80.0 | 71.0", "z | 60.0 | 70.0 | 80.0 | –"
    ),
    table("Model | arc | mmlu | piqa | Average", "x | 60.0 | 70.0 | 80.0 | 75.0"),
    table("Model | Params | arc | mmlu | Avg", "x | 7 | 60.0 | 70.0 | 65.0"),
    table("Model | Avg | arc | mmlu", "x | 65.0 | 60.0 | 70.0"),
    table("Model | Effective | NIAH | VT | Aggregation | QA | Avg.", "Llama3.1 | 32K | 92.6 | 70.4 | 36.2 | 58.8 | 77.0"),
    table("Model | Avg (56 tasks) | arc | mmlu", "x | 61.0 | 60.0 | 70.0"),
    table("Model | arc | mmlu | Average (weighted)", "x | 60.0 | 70.0 | 61.0"),
    table("Task | Score", "arc | 60.0", "mmlu | 70.0", "Average | 65.0", "piqa | 80", "Average | 70.0"),
    table("Task | Score", "arc | 60.04", "mmlu | 70.04", "Average | 65.0"),
    table("Task | Metric | Score", "arc | acc | 60.0", "Average | | 90.0"),
    table("Benchmark | Base | This | Recovery", "a | 80.0 | 79.0 | 98.75%", "b | 50.0 | 49.0 | 98.0", "Average | 65.0 | 64.0 | 98.4"),
    table("Benchmark | Base | This | Recovery", "a | 80.0 | 79.0 | 0.9875", "b | – | 49.0 | 98.0"),
    table("Benchmark | A | B | C | Recovery", "a | 80.0 | 79.0 | 50 | 3%"),
    table("Metric | Mean", "latency | 3.2", "ttft | 5"),
    table("Run | Time", "1 | 3.2", "2 | 5.0", "Average | 9.0"),
]


@pytest.mark.parametrize("body", BAD)
def test_bad_tables(tmp_path, body):
    found = [p for p in judged(tmp_path, body=body, receipts=RECEIPTS) if p.kind != "card-number"]
    assert kinds(found) == {("card-average", "warning", "README.md")}
    assert len(found) == 1


@pytest.mark.parametrize("body", GOOD)
def test_good_tables(tmp_path, body):
    assert "card-average" not in {p.kind for p in judged(tmp_path / "a", body=body, receipts=RECEIPTS)}
    assert not judged(tmp_path / "b", body=body)
