"""HR615 results-incomparable: tables over runs that were not made alike."""

import pytest
from cards import RECEIPT, judged, kinds, lm_eval, table

BASE, OTHER = "example-org/tiny-base", "benchmarks/base.json"
SPEC = {"benchmarks": [{"receipt": "base.json", "of": BASE}]}
ROWS = {"gsm8k": {"exact_match,strict-match": 0.55, "exact_match,flexible-extract": 0.58}}
ACROSS = table("Task | tiny-base | tiny-llama", "gsm8k | 0.55 | 0.42")


def both(body, **base):
    return {"body": body, "spec": SPEC, "receipts": {RECEIPT: lm_eval(), OTHER: lm_eval(BASE, results=ROWS, **base)}}


@pytest.mark.parametrize(
    ("base", "word"),
    [
        ({"versions": {"gsm8k": 3}}, "version"), ({"n-shot": {"gsm8k": 8}}, "shots"), ({"chat_template_sha": "abc"}, "chat template"),
        ({"n-samples": {"gsm8k": {"original": 1000, "effective": 200}}}, "samples"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("body", [ACROSS, table("Model | gsm8k", "tiny-base | 55.0", "tiny-llama | 42.0")])
def test_bad_unlike_runs(tmp_path, base, word, body):
    found = [p for p in judged(tmp_path, **both(body, **base)) if p.kind != "results-partial"]
    assert kinds(found) == {("results-incomparable", "warning", "README.md")}
    assert word in found[0].message


def test_bad_filters(tmp_path):
    found = judged(tmp_path, **both(table("Task | tiny-base | tiny-llama", "gsm8k | 0.58 | 0.42")))
    assert "filter (strict-match and flexible-extract)" in found[0].message


def test_good_alike(tmp_path):
    assert not judged(tmp_path / "a", **both(ACROSS))
    assert not judged(tmp_path / "b", **both("No table.", **{"n-shot": {"gsm8k": 8}}))
    assert not judged(tmp_path / "c", **both(table("Task | tiny-llama", "gsm8k | 0.42"), **{"n-shot": {"gsm8k": 8}}))
