"""HR520 card-model-index: fields that lack or have a wrong type; the same of datasets."""

import json

import pytest
from cards import judged, kinds

CARD = ("card-model-index", "error", "README.md")
RESULT = {"task": {"type": "text-generation"}, "dataset": {"type": "gsm8k", "name": "GSM8K"}, "metrics": [{"type": "acc", "value": 0.5}]}


def index(**changes):
    result = {**RESULT, **changes}
    return json.dumps([{"name": "tiny", "results": [{k: v for k, v in result.items() if v is not None}]}])


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (index(dataset={"type": "a", "name": "b", "config": 1}), "model-index[0].results[0].dataset.config"),
        (index(dataset={"type": "a", "name": "b", "config": None}), "dataset.config"),
        (index(dataset={"type": "a", "name": "b", "split": True}), "dataset.split"),
        (index(dataset={"type": "a"}), "dataset.name"),
        (index(dataset={"type": 7, "name": "b"}), "dataset.type"),
        (index(dataset=None), "results[0].dataset"),
        (index(task=None), "results[0].task"),
        (index(task={"name": "x"}), "task.type"),
        (index(metrics=None), "results[0].metrics"),
        (index(metrics={"type": "acc"}), "results[0].metrics"),
        (index(metrics=[{"type": "acc"}]), "metrics[0].value"),
        (index(metrics=[{"type": "acc", "value": None}]), "metrics[0].value"),
        (index(metrics=[{"value": 0.5}]), "metrics[0].type"),
        (index(metrics=[{"type": "acc", "value": 1, "config": {"a": 1}}]), "metrics[0].config"),
        (index(source={"name": "x"}), "source.url"),
        ('[{"name": "tiny"}]', "model-index[0].results"),
        ('[{"results": []}]', "model-index[0].name"),
        ('{"name": "tiny", "results": []}', "model-index"),
        ("", "model-index"),
        ("7", "model-index"),
    ],
)  # fmt: skip
def test_bad_model_index(tmp_path, value, field):
    found = judged(tmp_path, front={"model-index": value})
    assert kinds(found) == {CARD}
    assert field in found[0].message
    assert found[0].where.pointer.startswith("/model-index")


@pytest.mark.parametrize("value", ["[null]", "[imdb, null]", "[7]", "[{id: imdb}]", "{a: b}", "", "null"])
def test_bad_datasets(tmp_path, value):
    assert kinds(judged(tmp_path, front={"datasets": value})) == {CARD}


def test_bad_many_are_counted(tmp_path):
    value = json.dumps([{"name": "tiny", "results": [{**RESULT, "dataset": None}] * 500}])
    found = judged(tmp_path, front={"model-index": value})
    assert len(found) == 21
    assert "480 more" in found[-1].message


@pytest.mark.parametrize(
    "value",
    [
        index(), '[{"name": "tiny", "results": []}]', "[]", index(metrics=[{"type": "mean_reward", "value": "200.5 +/- 20.4"}]),
        index(dataset={"type": "a", "name": "b", "config": "default", "split": "test", "revision": "abc", "args": {"n": 1, "x": None}}),
        index(metrics=[{"type": "acc", "value": 1, "name": "Accuracy", "verified": False, "args": [1]}]), index(source={"url": "https://example.org", "name": "x"}),
    ],
)  # fmt: skip
def test_good_model_index(tmp_path, value):
    assert not judged(tmp_path, front={"model-index": value})
