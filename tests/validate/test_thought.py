"""A thought that stands in the answer is told from it, whoever opened it."""

from __future__ import annotations

import pytest

from hubrelease.engines._thought import parted
from hubrelease.engines.openai import answer_of, streamed


@pytest.mark.parametrize(("text", "thought", "answer"), [
    ("Paris", "", "Paris"), ("<think>so</think>Paris", "so", "Paris"), ("\n<think>\nso\n</think>\n\nParis\n", "so", "Paris\n"), ("so</think>Paris", "so", "Paris"),
    ("<think>\n\n</think>\n\nParis", "", "Paris"), ("<think>no end", "no end", ""), ("a <think> b", "", "a <think> b"), ("", "", ""),
])  # fmt: skip
def test_what_was_thought_and_what_was_answered(text, thought, answer):
    assert parted(text) == (thought, answer)
    message = {"role": "assistant", "content": text}
    whole = answer_of({"choices": [{"message": message}]}, 0.1)
    parts = streamed(iter([{"choices": [{"delta": {"content": letter}}]} for letter in text] or [{"choices": [{"delta": {}}]}]), 0.0)
    assert (whole.reasoning, whole.text) == (parts.reasoning, parts.text) == (thought, answer)


def test_a_server_that_tells_them_apart_is_believed():
    message = {"content": "what </think> means", "reasoning_content": "so"}
    found = answer_of({"choices": [{"message": message}]}, 0.1)
    assert (found.reasoning, found.text) == ("so", "what </think> means")
