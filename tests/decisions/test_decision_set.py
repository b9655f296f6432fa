"""examples/decision-set: the committed file is what its script makes, its questions are good ones, and they can be asked."""

from __future__ import annotations

import json
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

from decision_server import DecisionServer, rows_of
from jsonschema import Draft202012Validator

from hubrelease import resources
from hubrelease.decisions import questions
from hubrelease.decisions.run import Asked, run

FOLDER = Path(__file__).parent.parent.parent / "examples" / "decision-set"
FILE = FOLDER / "questions.jsonl"
MAKE = runpy.run_path(str(FOLDER / "make.py"))


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_bytes().splitlines()]


def test_the_script_makes_the_file_again_byte_for_byte() -> None:
    assert MAKE["text"]().encode() == FILE.read_bytes()
    assert FILE.stat().st_size < 3 * 2**20


def test_every_question_fits_the_schema_and_the_reader() -> None:
    schema = Draft202012Validator(resources.schema("decision-question"))
    assert [error.message for row in rows() for error in schema.iter_errors(row)] == []
    with questions.opened(FILE) as found:
        assert len(found) == 252


def test_three_types_and_four_lengths_are_even_and_no_label_is_rare() -> None:
    made = rows()
    assert Counter(row["type"] for row in made) == {"choice": 84, "noul": 84, "score": 84}
    lengths = Counter(sum(MAKE["tokens"](json.dumps(row["state"])) > end for end in (256, 1024, 4096, 16384)) for row in made)
    assert lengths == {0: 96, 1: 84, 2: 48, 3: 24}
    labels = Counter((row["task"], row["label"]) for row in made if row["task"] != "shelf")
    assert min(labels.values()) >= 5


def test_a_label_follows_from_what_is_said() -> None:
    for row in rows():
        state = row["state"] if isinstance(row["state"], str) else "\n".join(row["state"]["history"])
        if row["task"] == "delivered":
            order = row["question"]["instructions"].split()[1]
            assert (f"Order {order} was delivered and signed for." in state) == (row["label"] == "true")
        elif row["task"] == "alarms":
            assert state.count("went on") - state.count("was switched off") == int(row["label"])
        elif row["task"] == "shelf":
            assert state.count(f"to {row['label']}.") == 1
        else:
            assert state.count("The customer writes:") == 1


def test_it_can_be_asked(tmp_path: Path) -> None:
    with DecisionServer() as server:
        done = run(Asked(FILE, server.url, tmp_path / "run.jsonl", warm_up=0))
    assert dict(done.tally.statuses) == {"ok": 252}
    assert len({row["requestDigest"] for row in rows_of(tmp_path / "run.jsonl")}) == 252
