"""Decision servers: judged by the answers and by their numbers."""

from __future__ import annotations

import math

import pytest
from fake_decisions import MODELS, FakeDecisions
from validating import release, report, row, validate

from hubrelease.engines.sm120 import SM120
from hubrelease.verifier import verify


@pytest.fixture
def root(tmp_path):
    return release(tmp_path / "release", takes=("decision",))


def asked(root, **answers):
    with FakeDecisions(**answers) as server:
        done = validate(root, "--runtime", "sm120", "--base-url", server.base)
    return done, report(root)


def test_right_answers_pass_and_the_runtime_is_named(root):
    done, found = asked(root)
    assert (done.code, found["result"]) == (0, "pass"), done.said
    where = found["environment"]
    assert where["engine"] == {"name": "sm120", "version": "1.2"}
    assert where["backends"]["linear"] == "cutlass_sm120"
    assert where["server"]["selfTest"] == {"shapes": 7}
    assert row(found, "request:facts")["measured"]["answers"]["day"] == {"answer": "tuesday", "highest": 0.8}
    assert row(found, "latency:16")["measured"]["promptTokens"] == 99
    assert verify(root).word == "good"


CHOICE = {"type": "choice", "choice": "Tuesday", "unknown_probability": 0.0, "abstained": False}
FAULTS = {
    "another option": ({"day": CHOICE | {"choice": "Sunday", "probabilities": {"Tuesday": 0.1, "Sunday": 0.9}}}, "answered 'sunday', not 'Tuesday'"),
    "no": ({"open": {"type": "noul", "noul": 0.2, "unknown_probability": 0.0}}, "answered 'false', not True"),
    "abstained": ({"day": CHOICE | {"abstained": True, "probabilities": {"Tuesday": 0.5, "Sunday": 0.5}}}, "answered 'unknown'"),
    "NaN": ({"open": {"type": "noul", "noul": math.nan, "unknown_probability": 0.0}}, "a probability that is none"),
    "more than one": ({"day": CHOICE | {"probabilities": {"Tuesday": 0.9, "Sunday": 0.9}}}, "add up to 1.8"),
    "nothing": ({"day": None}, "question day has no answer"),
    "no numbers": ({"day": CHOICE}, "a probability that is none"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_answer_or_number_fails_and_is_told(root, fault):
    answers, words = FAULTS[fault]
    done, found = asked(root, **answers)
    assert (done.code, found["result"]) == (1, "fail"), done.said
    assert words in row(found, "request:facts")["reason"]


@pytest.mark.parametrize("told", [{"loaded": False}, {"loaded": None}, {"model": None}])
def test_a_server_that_is_not_ready_or_none_is_not_asked(tmp_path, monkeypatch, told):
    root = release(tmp_path / "release", takes=("decision",), asked={"limits": {"start_s": 0.3}})
    for key, value in told.items():
        monkeypatch.setitem(MODELS, key, value)
    with FakeDecisions() as server:
        done = validate(root, "--runtime", "sm120", "--base-url", server.base)
        assert not server.bodies
    assert (done.code, done.kinds) == (3, ["server-unreachable"])
    assert 'names no model that is "loaded": true' in done.only()["message"]


def test_what_a_server_tells_of_itself_and_no_json_can_hold_is_left_out(root, monkeypatch):
    monkeypatch.setitem(MODELS, "graphs", math.nan)
    monkeypatch.setitem(MODELS, "profile", "\ud800")
    monkeypatch.setitem(MODELS, "backend", {"linear": {"selfTest": {"a": math.inf}}})
    done, found = asked(root)
    assert done.code == 0, done.said
    assert found["environment"]["server"] == {"max_tokens": 4096}


def test_even_chances_everywhere_are_no_decision(root):
    even = {
        "day": CHOICE | {"probabilities": {"Tuesday": 1 / 3, "Sunday": 1 / 3, "Friday": 1 / 3}},
        "open": {"type": "noul", "noul": 0.5, "unknown_probability": 0.0},
    }
    _, found = asked(root, **even)
    assert "shareOfUniform is 1, more than 0.9999" in row(found, "canary:entropy")["reason"]


def test_numbers_that_are_none_are_counted(root):
    _, found = asked(root, open={"type": "noul", "noul": math.inf, "unknown_probability": 0.0})
    assert row(found, "logits:finite")["measured"]["notFinite"] == 1


def test_a_long_prompt_is_asked_as_a_decision_over_a_long_state(tmp_path, monkeypatch):
    monkeypatch.setattr(SM120, "count", lambda self, text: len(text.split()))
    root = release(tmp_path / "r", takes=("decision", "long"), asked={"long_prompts": [300]})
    heron = CHOICE | {"choice": "heron", "probabilities": {"heron": 0.9, "sparrow": 0.05, "eagle": 0.05}}
    with FakeDecisions(password=heron) as server:
        done = validate(root, "--runtime", "sm120", "--base-url", server.base)
    assert done.code == 0, done.said
    (body,) = [b for b in server.bodies if "password" in b["questions"]]
    assert 290 < len(body["state"].split()) < 320
    assert row(report(root), "request:long-300")["limit"] == {"answers": {"password": "heron"}}
