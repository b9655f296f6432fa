"""HR521 eval-results-form: .eval_results/*.yaml."""

import pytest
from cards import judged, kinds

FILE = ".eval_results/scores.yaml"
GOOD = """- dataset: {id: openai/gsm8k, task_id: gsm8k, revision: 5503434ddd753f426f4b38109466949a1217c2bb}
  value: 20.90
  date: "2026-01-15"
  source: {url: https://huggingface.co/spaces/org/x, name: traces, user: someone}
  notes: "no-tools"
- dataset:
    id: Idavidrein/gpqa
    task_id: gpqa_diamond
  value: 0.412
"""


@pytest.mark.parametrize(
    "text",
    [
        "dataset: {id: a/b, task_id: c}\nvalue: 1", "- dataset: {id: a/b}\n  value: 1", "- dataset: {task_id: c}\n  value: 1", "- value: 1",
        "- dataset: {id: a/b, task_id: c}", "- dataset: {id: a/b, task_id: c}\n  value:", "- dataset: a/b\n  value: 1", "- {a: [",
        "- dataset: {id: /data/x, task_id: c}\n  value: 1", "- dataset: {id: a/b, task_id: c}\n  value: 1\n  source: {name: x}",
        "- dataset: {id: a/b, task_id: c}\n  value: 1\n  value: 2", "- dataset: {id: a/b, task_id: 7}\n  value: 1", "just text", "",
    ],
)  # fmt: skip
def test_bad_files(tmp_path, text):
    found = judged(tmp_path, files={FILE: text.encode()})
    assert kinds(found) == {("eval-results-form", "error", FILE)}


def test_bad_date_without_quotes_is_a_warning(tmp_path):
    text = b"- dataset: {id: a/b, task_id: c}\n  value: 1\n  date: 2026-01-15\n"
    assert kinds(judged(tmp_path, files={FILE: text})) == {("eval-results-form", "warning", FILE)}


def test_good_files(tmp_path):
    assert not judged(tmp_path, files={FILE: GOOD.encode(), ".eval_results/note.txt": b"- x"})
