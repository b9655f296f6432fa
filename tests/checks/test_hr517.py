"""HR517 card-pipeline-tag."""

import pytest
from cards import judged, kinds


@pytest.mark.parametrize(
    ("value", "near"),
    [("text-gen", "text-generation"), ("text_generation", "text-generation"), ("image-to-texts", "image-to-text"), ("llm", None)],
)
def test_bad_unknown(tmp_path, value, near):
    found = judged(tmp_path, front={"pipeline_tag": value})
    assert kinds(found) == {("card-pipeline-tag", "warning", "README.md")}
    assert near is None or near in found[0].mend


@pytest.mark.parametrize("value", ["[text-generation]", "", "true", "{task: text-generation}"])
def test_bad_types(tmp_path, value):
    assert kinds(judged(tmp_path, front={"pipeline_tag": value})) == {("card-pipeline-tag", "error", "README.md")}


@pytest.mark.parametrize("value", ["text-generation", "any-to-any", "text2text-generation", "conversational", "other", None, "'fill-mask'"])
def test_good_tasks(tmp_path, value):
    assert not judged(tmp_path, front={"pipeline_tag": value})
