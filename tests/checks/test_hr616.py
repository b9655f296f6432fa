"""HR616 counts-mismatch: counts that do not add up, in receipts and in the card."""

import json

import pytest
from cards import RECEIPT, judged, kinds, table

BUCKETS = {"a": {"correct": 30, "total": 50}, "b": {"correct": 12, "total": 50}}
BAD = [
    {"correct": 42, "total": 100, "accuracy": 0.44},
    {"correct": 42, "total": 100, "accuracy": 44.0},
    {"results": [{"num_correct": 1, "num_total": 3, "acc": 0.34}]},
    {"passed": 5, "total": 4},
    {"correct": 42, "total": 101, "buckets": BUCKETS},
    {"correct": 43, "total": 100, "accuracy": 0.43, "buckets": BUCKETS},
    {"total": 99, "buckets": list(BUCKETS.values())},
    {"wins": 10, "losses": 4, "ties": 1, "total": 16},
    {"wins": 10, "losses": 4, "difference": 5},
]
GOOD = [
    {"correct": 42, "total": 100, "accuracy": 0.42},
    {"correct": 42, "total": 100, "accuracy": 42.0},
    {"correct": 1, "total": 3, "accuracy": 0.333},
    {"correct": 1, "total": 3, "accuracy": 0.3333333333333333},
    {"correct": 2, "total": 3, "acc": 0.67},
    {"correct": 0, "total": 0, "accuracy": 0.0},
    {"correct": 42, "total": 100, "accuracy": 0.42, "buckets": BUCKETS},
    {"total": 100, "buckets": {**BUCKETS, "note": "x"}},
    {"total": 100, "buckets": [1, 2]},
    {"wins": 10, "losses": 4, "ties": 2, "total": 16, "difference": 6},
    {"wins": 10, "losses": 4, "total": 100},
    {"correct": "many", "total": None, "accuracy": True},
    {"correct": 10**30, "total": 3, "accuracy": 0.1},
    {"correct": True, "total": 2, "accuracy": 0.9},
]


@pytest.mark.parametrize("value", BAD)
def test_bad_receipts(tmp_path, value):
    found = judged(tmp_path, receipts={RECEIPT: json.dumps(value).encode()})
    assert kinds(found) == {("counts-mismatch", "error", RECEIPT)}
    assert found[0].where.pointer is not None


@pytest.mark.parametrize("value", GOOD)
def test_good_receipts(tmp_path, value):
    assert not judged(tmp_path, receipts={RECEIPT: json.dumps(value).encode(), "benchmarks/a.jsonl": json.dumps(value).encode()})


BAD_TEXTS = [
    "It solves 42 of 100 (44.0%).",
    "| Task | Result |\n|---|---|\n| a | 42/100 (44%) |",
    "42/1,000 = 42%",
    "- GSM8K: 1,055/1,319 (81.0 %)",
    table("Bucket | Correct | Total | Accuracy", "a | 30 | 50 | 0.60", "b | 12 | 50 | 0.42"),
    table("Bucket | Correct | n | Acc (%)", "a | 30 | 50 | 61"),
    table("Bucket | Correct | Total", "a | 30 | 50", "b | 12 | 50", "Total | 43 | 100"),
    table("| Wins | Losses", "a | 3 | 4", "b | 1 | 2", "**Total** | 4 | 7"),
]
GOOD_TEXTS = [
    "It solves 42 of 100 (42.0%).", "42/100 (42%)", "2/3 (67%)", "1,055/1,319 (80.0 %)", "24/7 (100%)", "Open 9/10 (50% more than before).", "on 2026/11/30 (5%)",
    "~3/4 (76 % or so)", "path/1/2 (3%)", "1.5/2 (70%)",
    table("Bucket | Correct | Total | Accuracy", "a | 30 | 50 | 0.60", "b | 12 | 50 | 24.0%", "c | 0 | 0 | –"),
    table("Bucket | Correct | Total", "a | 30 | 50", "b | 12 | 50", "Total | 42 | 100"),
    table("Dataset | Number of training tuples", "a | 3", "b | 4", "Total | 9"),
    table("Bucket | Total | Time", "a | 1 | 3", "b | 2 | 4", "Total | 3 | 99"),
]  # fmt: skip


@pytest.mark.parametrize("body", BAD_TEXTS)
def test_bad_cards(tmp_path, body):
    assert kinds(judged(tmp_path, body=body)) == {("counts-mismatch", "error", "README.md")}


@pytest.mark.parametrize("body", GOOD_TEXTS)
def test_good_cards(tmp_path, body):
    assert not judged(tmp_path, body=body)
