"""canonical: equal values are equal bytes, and what is no JSON is refused rather than written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubrelease.canonical import compact, dumps
from hubrelease.verify_release import strict_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), below, max_size=3)
    ),
    max_leaves=10,
)


@given(VALUES)
def test_what_is_written_is_read_back_and_written_the_same_again(value: object) -> None:
    assert strict_json(dumps(value)) == value
    assert dumps(strict_json(dumps(value))) == dumps(value)
    assert strict_json(compact(value)) == value


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers()))
def test_the_order_of_keys_changes_nothing(value: dict[str, int]) -> None:
    assert dumps(dict(reversed(value.items()))) == dumps(value)
    assert compact(dict(reversed(value.items()))) == compact(value)


def test_a_file_has_two_spaces_utf_8_and_one_line_end() -> None:
    assert dumps({"b": [1], "a": "é\n"}) == '{\n  "a": "é\\n",\n  "b": [\n    1\n  ]\n}\n'.encode()
    assert compact({"b": [1], "a": "é"}) == '{"a":"é","b":[1]}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), {"a": [float("nan")]}, "\ud800", {"\ud800": 1}], ids=repr)
def test_what_is_no_json_is_refused(value: object) -> None:
    for write in (dumps, compact):
        with pytest.raises(ValueError):
            write(value)


def test_json_of_python_reads_it_as_the_same() -> None:
    value = {"a": 1.10, "b": 1e22, "c": 10**30, "d": "\u2028"}
    assert json.loads(dumps(value)) == value
