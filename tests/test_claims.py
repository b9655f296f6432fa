"""Cards and receipts of any content: nothing raises, and what is large is judged in time."""

import json
import time

import pytest
from cards import RECEIPT, lm_eval, release_of, table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hubrelease.benchmarks.lm_eval import ADAPTER
from hubrelease.checks import checks
from hubrelease.counts import disagreements
from hubrelease.evaluations import evaluations_of, parse
from hubrelease.figures_shown import figure_of, fits
from hubrelease.subjects import parse as subject_of

OURS = [check for check in checks() if check.code.startswith(("HR51", "HR52", "HR61"))]
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["N/A", "gsm8k", "acc,none", "nan"])
)
keys = st.sampled_from(
    ["results", "config", "versions", "n-shot", "n-samples", "groups", "group_subtasks", "configs", "model_args", "gsm8k", "acc,none", "acc", "acc_stderr,none", "alias",
     "limit", "effective", "original", "pretrained", "num_fewshot", "model", "model_name", "correct", "total", "accuracy", "buckets", "wins", "losses", "ties", "", ",", "a,b,c"]
)  # fmt: skip
trees = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=6), max_leaves=30)
receipts = st.fixed_dictionaries(
    {
        "results": st.dictionaries(keys, st.dictionaries(keys, trees, max_size=4), min_size=1, max_size=3),
        "config": st.fixed_dictionaries({"model_args": trees}, optional={"limit": trees}),
    },
    optional=dict.fromkeys(
        ("versions", "n-shot", "n-samples", "groups", "group_subtasks", "configs", "model_name", "chat_template_sha"), trees
    ),
)


@given(trees | receipts)
def test_any_receipt_is_read(value):
    receipt = parse("a.json", json.dumps(value).encode())
    for evaluation in evaluations_of(receipt):
        assert all(metric.value is None or isinstance(metric.value, float) for metric in evaluation.metrics)
    if ADAPTER.recognises(value):
        list(ADAPTER.read("a.json", value))
    if isinstance(value, dict):
        list(disagreements(value))


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_read(data):
    parse("a.json", data)


@given(st.text(max_size=60) | st.from_regex(r"[-~/\\.:@a-z0-9 ]{0,30}", fullmatch=True))
def test_any_name_is_taken_apart(text):
    assert subject_of(text).kind in ("hub", "local", "served")


@given(
    st.text(max_size=40) | st.from_regex(r"[-+]?[0-9,.]{0,12} ?%?( ± [0-9.]{1,4})?", fullmatch=True),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_cell_is_read(text, value):
    shown = figure_of(text)
    assert shown is None or fits(shown, value) in (True, False)


@given(st.floats(0, 1), st.integers(0, 6))
def test_a_rounded_value_is_the_value(value, decimals):
    for text in (f"{value:.{decimals}f}", f"{value * 100:.{decimals}f}", f"{value * 100:.{decimals}f}%"):
        shown = figure_of(text)
        assert shown is not None
        assert fits(shown, value) or abs(value * 100 - float(shown.number)) < 0.6 * 10**-decimals


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=trees, receipt=trees | receipts, dependencies=st.lists(trees, max_size=3), index=trees)
def test_no_check_raises(tmp_path_factory, value, receipt, dependencies, index):
    front = {
        "model-index": json.dumps(index),
        "tags": json.dumps(value),
        "language": json.dumps(value),
        "license": json.dumps(value),
        "datasets": json.dumps(value),
    }
    files = {".eval_results/a.yaml": json.dumps(index).encode()}
    spec = {"benchmarks": value, "card": value, "publish": value, "license": value, "license_reason": value, "weights": {"source": value}}
    release = release_of(
        tmp_path_factory.mktemp("r"),
        front=front,
        receipts={RECEIPT: json.dumps(receipt).encode()},
        files=files,
        spec=spec,
        dependencies=dependencies,
    )
    for check in OURS:
        for problem in check.run(release):
            assert problem.message
            assert problem.mend


def took(release) -> float:
    start = time.process_time()
    for check in OURS:
        list(check.run(release))
    return time.process_time() - start


def test_many_receipts_take_no_time(tmp_path):
    rows = {f"task_{n}": {"alias": f"task_{n}", "acc,none": n / 1000, "acc_stderr,none": 0.01} for n in range(200)}
    receipts = {f"benchmarks/{n}.json": lm_eval(results=rows) for n in range(100)}
    body = table("Task | Value", *(f"task_{n} | {n / 1000}" for n in range(200)))
    assert took(release_of(tmp_path / "r", receipts=receipts, body=body)) < 6


def test_a_large_card_takes_no_time(tmp_path):
    rows = {f"task_{n}": {"acc,none": n / 5000} for n in range(5000)}
    body = table("Task | Metric | Value | Other | More", *(f"task_{n} | acc | {n / 5000} | {n} | text {n}" for n in range(10_000)))
    result = {"task": {"type": "a"}, "dataset": {"type": "b", "name": "c"}, "metrics": [{"type": "acc", "value": 1}]}
    index = json.dumps([{"name": "t", "results": [{**result, "dataset": {"type": f"t{n}", "name": f"t{n}"}} for n in range(3000)]}])
    assert took(release_of(tmp_path / "r", receipts={RECEIPT: lm_eval(results=rows)}, body=body, front={"model-index": index})) < 8


@pytest.mark.parametrize(
    "text",
    [
        "1," * 50_000,
        "1 " * 50_000,
        "9" * 100_000 + "%",
        "1/1 (" * 20_000,
        "gsm8k " * 20_000,
        "(" * 50_000,
        "a(b)" * 20_000,
        "limit 200 " * 10_000,
    ],
)
def test_hostile_text_takes_no_time(tmp_path, text):
    body = text + "\n\n" + table("Task | Value", f"{text} | {text}", f"gsm8k | {text}")
    part = {"n-samples": {"gsm8k": {"original": 1319, "effective": 200}}}
    assert took(release_of(tmp_path / "r", receipts={RECEIPT: lm_eval(**part)}, body=body)) < 4
