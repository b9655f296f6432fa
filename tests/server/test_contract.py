"""Questions and answers of the decision API: what is taken, what is refused, how probabilities become answers."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import runtime_path  # noqa: F401
from engine import Decision, Option, Question
from hypothesis import given
from hypothesis import strategies as st
from server import contract, json_text
from server.refusals import Refused

CHOICE = {"type": "choice", "instructions": "Which?", "criteria": {"a": "first", "b": None}}
NOUL = {"type": "noul", "instructions": "Is it?"}
SCORE = {"type": "score", "instructions": "How good?", "criteria": ["bad", "good"]}


def body(question: Any = NOUL, **more: Any) -> dict[str, Any]:
    return {"state": {"k": 1}, "questions": {"q": question}, **more}


def read(value: Any, max_options: int = 255) -> contract.Request:
    return contract.request(value, max_options)


def refused(value: Any, max_options: int = 255) -> Refused:
    with pytest.raises(Refused) as caught:
        read(value, max_options)
    assert caught.value.status == 422
    assert len(caught.value.detail) < 400
    return caught.value


@contextmanager
def suppress_refusals() -> Iterator[None]:
    """Lets 422 pass, and nothing else."""
    status = 422
    try:
        yield
    except Refused as caught:
        status = caught.status
    assert status == 422


def many(count: int) -> dict[str, Any]:
    return {**CHOICE, "criteria": {f"o{n}": None for n in range(count)}}


@pytest.mark.parametrize(
    ("state", "taken"),
    [
        ("a text", "a text"), ({"a": 1}, {"a": 1}), ([1, 2], {"state": [1, 2]}), ({}, {}), ("", ""), ({"a": [[[[[[[1]]]]]]]}, {"a": [[[[[[[1]]]]]]]}),
        ("x" * (131_072 - 2), "x" * (131_072 - 2)), ("é" * 65_535, "é" * 65_535),
    ],
)  # fmt: skip
def test_a_state_is_a_text_an_object_or_an_array(state: Any, taken: Any) -> None:
    assert read(body(state=state) | {"state": state}).state == taken


@pytest.mark.parametrize(
    "state",
    [
        1,
        None,
        True,
        1.5,
        "x" * 131_071,
        "é" * 65_536,
        {"k": "x" * 131_067},
        {"a": [[[[[[[[1]]]]]]]]},
        [[[[[[[[1]]]]]]]],
        "\ud800",
        {"\udfff": 1},
    ],
)
def test_another_state_is_refused(state: Any) -> None:
    assert refused({**body(), "state": state}).error == "invalid_state"


def test_a_request_without_a_state_has_an_empty_one() -> None:
    assert read({"questions": {"q": NOUL}}).state == {}


def test_the_model_is_taken_and_ignored() -> None:
    for model in ("anything", None, 1, {"name": ["x"]}):
        assert read(body(model=model)) == read(body())


@pytest.mark.parametrize("name", ["q", "Q", "a1_", "a" * 64])
def test_an_id_is_taken(name: str) -> None:
    assert read({"questions": {name: NOUL}}).questions[0].id == name


@pytest.mark.parametrize("name", ["", "1a", "_a", "a-b", "a b", "a" * 65, "é", "a\n"])
def test_an_id_is_refused(name: str) -> None:
    refused({"questions": {name: NOUL}})


def test_there_are_one_to_eight_questions_in_their_order() -> None:
    assert [q.id for q in read({"questions": {f"q{n}": NOUL for n in range(8)}}).questions] == [f"q{n}" for n in range(8)]
    refused({"questions": {f"q{n}": NOUL for n in range(9)}})


@pytest.mark.parametrize(
    "value",
    [
        None, [], 1, "x", {}, {"questions": None}, {"questions": {}}, {"questions": []}, body(NOUL, more=1), body(NOUL, thinking={}),
        body(None), body([]), body({}), body({"type": "noul"}), body({"instructions": "x"}), body({**NOUL, "type": "multi"}), body({**NOUL, "type": []}),
        body({**NOUL, "threshold": 0.5}), body({**NOUL, "instructions": ""}), body({**NOUL, "instructions": None}), body({**NOUL, "instructions": 1}),
        body({**NOUL, "instructions": {}}), body({**NOUL, "instructions": []}), body({**NOUL, "instructions": "x" * 2001}), body({**NOUL, "instructions": "\ud800"}),
        body({**NOUL, "criteria": []}), body({**NOUL, "criteria": {"yes": "x"}}), body({**NOUL, "criteria": {"true": 1}}), body({**NOUL, "criteria": "x"}),
        body({**CHOICE, "criteria": None}), body({**CHOICE, "criteria": ["a", "b"]}), body({**CHOICE, "criteria": {"a": None}}), body(many(0)), body({**CHOICE, "criteria": {"": None, "b": None}}),
        body({**CHOICE, "criteria": {"a" * 129: None, "b": None}}), body({**CHOICE, "criteria": {"__unknown__": None, "b": None}}), body({**CHOICE, "criteria": {"a": 1, "b": None}}),
        body({**CHOICE, "criteria": {"a": "x" * 2001, "b": None}}), body({**CHOICE, "criteria": {"\ud800": None, "b": None}}),
        body({**SCORE, "criteria": None}), body({**SCORE, "criteria": {"0": "x"}}), body({**SCORE, "criteria": ["one"]}), body({**SCORE, "criteria": ["x"] * 11}),
        body({**SCORE, "criteria": ["x", None]}), body({**SCORE, "criteria": ["x", ""]}), body({**SCORE, "criteria": ["x", 1]}),
        body(images="x"), body(images=None), body(images=["a", "b", "c"]),
    ],
)  # fmt: skip
def test_what_the_contract_does_not_have_is_refused(value: Any) -> None:
    assert refused(value).error == "invalid_request"


@pytest.mark.parametrize(("codes", "most"), [(256, 255), (255, 254), (4, 3)])
def test_a_choice_has_as_many_options_as_the_readout_less_one(codes: int, most: int) -> None:
    assert len(read(body(many(most)), codes - 1).questions[0].options) == most
    assert refused(body(many(most + 1)), codes - 1).error == "too_many_options"


def test_instructions_may_be_structured() -> None:
    lines = {"question": "Is it?", "today": {"day": 1}, "tags": ["x", "é"]}
    assert read(body({**NOUL, "instructions": lines})).questions[0].instructions == 'question: Is it?\ntoday: {"day": 1}\ntags: ["x", "é"]'
    assert read(body({**NOUL, "instructions": ["one", 2]})).questions[0].instructions == "one\n2"


def test_criteria_become_options_in_their_order() -> None:
    assert read(body(CHOICE)).questions[0].options == (Option("a", "first"), Option("b"))
    assert read(body(SCORE)).questions[0].options == (Option("0", "bad"), Option("1", "good"))
    assert read(body(NOUL)).questions[0].options == (Option("true"), Option("false"))
    structured = {**NOUL, "criteria": {"false": ["no", "never"], "true": {"what": "yes", "not_for": ""}}}
    assert read(body(structured)).questions[0].options == (Option("true", "what: yes; not_for: "), Option("false", "no; never"))


# ------------------------------------------------------------------------------------------------------------ answers


def decided(*probabilities: float, unknown: float, selected: int | None = 0, version: str | None = None) -> Decision:
    return Decision(probabilities, unknown, selected, version, 10, 4, 1.0, 2.0)


def question(kind: str, *labels: str) -> Question:
    return Question("q", kind, "?", tuple(Option(label, f"about {label}") for label in labels))  # type: ignore[arg-type]


def test_a_noul_is_true_and_half_of_unknown() -> None:
    found = contract.answer(question("noul", "true", "false"), decided(0.5, 0.25, unknown=0.25))
    assert found == {"type": "noul", "noul": 0.625, "unknown_probability": 0.25, "abstained": False}


def test_a_choice_has_probabilities_without_unknown_and_a_confidence_with_it() -> None:
    found = contract.answer(question("choice", "a", "b"), decided(0.6, 0.2, unknown=0.2, version="t1"))
    assert found["choice"] == "a"
    assert found["probabilities"] == pytest.approx({"a": 0.75, "b": 0.25})
    assert found["confidence"] == pytest.approx((2 * 0.75 - 1) / 1 * 0.8)
    assert found["calibration_version"] == "t1"


def test_an_abstained_choice_still_names_the_best_option() -> None:
    found = contract.answer(question("choice", "a", "b"), decided(0.1, 0.2, unknown=0.7, selected=None))
    assert (found["choice"], found["abstained"]) == ("b", True)


def test_a_tie_is_the_engines_to_break() -> None:
    assert contract.answer(question("choice", "a", "b"), decided(0.5, 0.5, unknown=0.0, selected=1))["choice"] == "b"


def test_a_score_is_the_expected_level() -> None:
    found = contract.answer(question("score", "0", "1", "2"), decided(0.0, 0.25, 0.5, unknown=0.25))
    assert found["score"] == pytest.approx(1 / 3 + 2 * 2 / 3)
    assert found["legend"] == {"0": "about 0", "1": "about 1", "2": "about 2"}
    assert found["probabilities"] == pytest.approx({"0": 0.0, "1": 1 / 3, "2": 2 / 3})


def test_nothing_but_unknown_is_no_division_by_zero() -> None:
    found = contract.answer(question("choice", "a", "b"), decided(0.0, 0.0, unknown=1.0, selected=None))
    assert found["probabilities"] == {"a": 0.5, "b": 0.5}
    assert found["confidence"] == 0.0


@given(st.lists(st.floats(0, 1), min_size=3, max_size=12).filter(lambda row: sum(row) > 1e-6), st.sampled_from(["choice", "score", "noul"]))
def test_every_number_of_an_answer_is_a_share(weights: list[float], kind: str) -> None:
    weights = weights[:3] if kind == "noul" else weights
    *known, unknown = (w / sum(weights) for w in weights)
    labels = [str(n) for n in range(len(known))]
    found = contract.answer(question(kind, *labels), decided(*known, unknown=unknown, selected=None))
    assert 0 <= found.get("noul", 0) <= 1
    assert 0 <= found.get("confidence", 0) <= 1
    assert 0 <= found.get("score", 0) <= len(known) - 1 + 1e-9
    assert math.isclose(sum(found.get("probabilities", {"": 1.0}).values()), 1, abs_tol=1e-9)


# --------------------------------------------------------------------------------------------------------------- JSON


@pytest.mark.parametrize("text", ['{"a": [1, "[[[", {"b": null}], "c": 1.5e3}', '"x"', "[]", '"\\"[\\\\"', "[" * 24 + "]" * 24])
def test_json_is_read_as_json(text: str) -> None:
    assert json_text.parse(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"nope", b'{"a":1,"a":2}', b'{"a":{"b":1,"b":1}}', b"NaN", b"[Infinity]", b"-Infinity", b"1e999", b"\xff", b'"\xed\xa0\x80"', b"[" * 25, b"[" * 10_000_000,
        b'{"a":' * 100_000, b"1" * 5000, b"[1,]", b"{'a':1}", b"\xef\xbb\xbf{}", b'"' + b"\\" * 1_000_001, b"[" + b"0," * 500_000 + b"0]", b'"\n"',
    ],
    ids=lambda data: repr(data[:20]),
)  # fmt: skip
def test_json_that_readers_disagree_about_is_refused(data: bytes) -> None:
    with pytest.raises(Refused) as caught:
        json_text.parse(data)
    assert (caught.value.status, caught.value.error) == (422, "invalid_json")


@pytest.mark.parametrize("piece", [b'\\"', b'"', b"\\", b'"\\', b"[", b"1", b" ", b"\\u0000", b'""'], ids=repr)
@pytest.mark.parametrize("start", [b"", b'{"a":"', b'["'], ids=repr)
def test_a_hostile_body_takes_time_in_proportion_to_its_length(start: bytes, piece: bytes) -> None:
    started = time.monotonic()
    with suppress_refusals():
        json_text.parse(start + piece * 500_000)
    assert time.monotonic() - started < 5


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress_refusals():
        json_text.parse(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["state", "questions", "images", "model", "x"]), JSON))
def test_any_body_is_taken_or_refused(value: dict[str, Any]) -> None:
    with suppress_refusals():
        contract.request(value, 255)
