"""HR519 card-metadata-type: blank values and wrong types."""

import pytest
from cards import judged, kinds

CARD = ("card-metadata-type", "error", "README.md")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tags", ""), ("tags", "null"), ("tags", "[a, null]"), ("tags", "[a, 7]"), ("tags", "[a, {b: c}]"), ("tags", "{a: b}"), ("tags", "[true]"), ("tags", "[2024-01-01]"),
        ("metrics", ""), ("metrics", "[null]"), ("library_name", ""), ("library_name", "[transformers]"), ("library_name", "1"), ("license_name", ""),
        ("license_link", "[LICENSE]"), ("widget", "text"),
    ],
)  # fmt: skip
def test_bad_values(tmp_path, key, value):
    assert kinds(judged(tmp_path, front={key: value})) == {CARD}


def test_bad_mapping_among_metrics_is_a_warning(tmp_path):
    assert kinds(judged(tmp_path, front={"metrics": "[{type: wer, value: 3}]"})) == {("card-metadata-type", "warning", "README.md")}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tags", "[a, b-c, '7']"), ("tags", "single"), ("tags", "[]"), ("metrics", "[accuracy, f1]"), ("metrics", "wer"), ("library_name", "my-own-library"),
        ("widget", "[{text: x}]"), ("thumbnail", ""), ("inference", "false"), ("x_own", "{a: [1, null]}"), ("license_link", "https://example.org/l"),
    ],
)  # fmt: skip
def test_good_values(tmp_path, key, value):
    assert not judged(tmp_path, front={key: value})
