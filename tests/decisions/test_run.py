"""bench run: rows in order with digests and reasons, every bad answer a failed row, refusals before anything is written."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli
from decision_server import (
    DecisionServer,
    Fault,
    changed,
    drips,
    hangs_up,
    question,
    questions,
    records,
    rows_of,
    says,
    sessions,
    slow,
    stops_in_the_middle,
)
from jsonschema import Draft202012Validator

from hubrelease import canonical, resources
from hubrelease.decisions import client
from hubrelease.decisions.questions import question_of
from hubrelease.decisions.report import compare
from hubrelease.decisions.rows import RowFault
from hubrelease.decisions.run import Asked, run
from hubrelease.digest import sha256
from hubrelease.errors import CheckFailed, OutsideError, SpecError
from hubrelease.progress import Progress


@pytest.fixture
def server() -> Iterator[DecisionServer]:
    with DecisionServer() as made:
        yield made


def asked(folder: Path, server: DecisionServer, count: int = 6, **options: Any) -> Asked:
    return Asked(questions(folder, count), server.url, folder / "run.jsonl", **{"warm_up": 0, "timeout_s": 5.0, **options})


def test_every_row_is_asked_once_in_order_and_written_with_what_came(tmp_path: Path, server: DecisionServer) -> None:
    done = run(asked(tmp_path, server, profile="FP8"))
    assert (done.rows, done.asked, dict(done.tally.statuses)) == (6, 6, {"ok": 6})
    assert set(server.asked.values()) == {1}
    header, *rows = [r for r in records(tmp_path / "run.jsonl") if r.get("kind") != "decision-session"]
    assert [row["id"] for row in rows] == [f"row {n}" for n in range(6)]
    assert rows[0]["candidates"] == ["zebra", "ant", "mule"]
    assert rows[1]["candidates"] == ["true", "false"]
    assert rows[2]["candidates"] == ["0", "1", "2"]
    assert all(row["choice"] == row["candidates"][row["probabilities"].index(max(row["probabilities"]))] for row in rows)
    assert [row["rotations"] for row in rows[:3]] == [4, 3, 4]
    assert sessions(tmp_path / "run.jsonl") == ["start", "end"]
    assert header["profile"] == "FP8"
    assert header["model"] == {"name": "example-org/tiny"}
    assert header["dataset"] == {"name": "questions.jsonl", "rows": 6, "sha256": sha256((tmp_path / "questions.jsonl").read_bytes())}
    assert header["packages"] == {"torch": "2.13.0"}
    assert "load_seconds" not in header["server"]


OURS = {"linear": "bf16", "deltaRule": "fla", "attention": "torch scaled_dot_product_attention"}


@pytest.mark.parametrize(
    ("told", "runtime"),
    [
        ({}, {"name": "fake"}),
        ({"backend": OURS, "profile": "fused"}, {"name": "sm120", "profile": "fused"}),
        (
            {"backend": OURS, "profile": "reference", "versions": {"engine": "0.2"}},
            {"name": "sm120", "version": "0.2", "profile": "reference"},
        ),
        ({"backend": OURS, "runtime": "other", "versions": {"engine": "0.2"}}, {"name": "other"}),
        ({"backend": {"linear": "x"}, "profile": "fused"}, {"profile": "fused"}),
        ({"backend": None, "profile": ""}, None),
        ({"backend": 5, "profile": ["fused"], "versions": "x"}, None),
    ],
    ids=repr,
)
def test_the_runtime_is_the_engine_and_the_profile_stands_beside_it(tmp_path: Path, told: dict[str, Any], runtime: Any) -> None:
    with DecisionServer(**told) as server:
        run(asked(tmp_path, server, 1))
    assert records(tmp_path / "run.jsonl")[0].get("runtime") == runtime
    assert compare(tmp_path / "run.jsonl", tmp_path / "run.jsonl")["baseline"]["run"]["runtime"] == runtime


def test_what_is_written_fits_the_schema_and_is_read_by_the_report(tmp_path: Path, server: DecisionServer) -> None:
    server.faults["state 4"] = [says(422, {"error": "prompt_too_long", "detail": "9 tokens"})]
    run(asked(tmp_path, server, 12, warm_up=2))
    schema = Draft202012Validator(resources.schema("decision-row"))
    assert [error.message for record in records(tmp_path / "run.jsonl") for error in schema.iter_errors(record)] == []
    report = compare(tmp_path / "run.jsonl", tmp_path / "run.jsonl")
    assert report["matching"]["compared"] == 11
    assert report["candidate"]["run"]["finished"]
    assert report["candidate"]["run"]["warmupRows"] == 2
    assert report["candidate"]["statuses"]["failed"] == 1


def test_the_request_digest_is_of_the_request_and_not_of_the_order_of_its_keys(tmp_path: Path, server: DecisionServer) -> None:
    run(asked(tmp_path, server, 1))
    row = question(0)
    request = {"state": row["state"], "questions": {"decision": {"type": "choice", **row["question"]}}}
    assert rows_of(tmp_path / "run.jsonl")[0]["requestDigest"] == sha256(canonical.compact(request))


def test_warm_up_is_spread_over_the_file_and_not_written(tmp_path: Path, server: DecisionServer) -> None:
    run(asked(tmp_path, server, 6, warm_up=3))
    assert [server.asked[f"state {n}"] for n in range(6)] == [2, 1, 2, 1, 2, 1]
    assert len(rows_of(tmp_path / "run.jsonl")) == 6


def test_input_tokens_are_those_of_one_prompt_where_the_server_tells_it(tmp_path: Path, server: DecisionServer) -> None:
    server.faults = {"state 0": [changed(lambda a, b: b["usage"].update(input_tokens=400, prompt_tokens=100))]}
    server.faults["state 1"] = [changed(lambda a, b: b["usage"].update(input_tokens=400))]
    run(asked(tmp_path, server, 2))
    assert [row["inputTokens"] for row in rows_of(tmp_path / "run.jsonl")] == [100, 400]


def test_a_limit_asks_the_first_rows_only(tmp_path: Path, server: DecisionServer) -> None:
    assert run(asked(tmp_path, server, 6, limit=2)).rows == 2
    assert records(tmp_path / "run.jsonl")[0]["dataset"]["rows"] == 2
    assert len(server.asked) == 2


def test_several_at_once_still_write_in_order(tmp_path: Path, server: DecisionServer) -> None:
    server.faults = {"state 0": [slow(0.2)], "state 5": [slow(0.1)]}
    run(asked(tmp_path, server, 16, concurrency=3))
    assert [row["id"] for row in rows_of(tmp_path / "run.jsonl")] == [f"row {n}" for n in range(16)]
    assert 2 <= server.most_together <= 3


# ---------------------------------------------------------------------------------------------------------- bad answers


def half(answer: dict[str, Any], body: dict[str, Any]) -> None:
    answer["probabilities"] = {name: value / 2 for name, value in answer["probabilities"].items()}


BAD: dict[str, tuple[Fault, str]] = {
    "refused": (says(422, {"error": "prompt_too_long", "detail": "70,000 tokens"}), "HTTP 422: prompt_too_long: 70,000 tokens"),
    "half a character": (says(422, b'{"error": "\\ud800"}'), "HTTP 422"),
    "fault of the server": (says(500, b"<html>oops"), "HTTP 500"),
    "moved": (says(302, b"", location="http://127.0.0.1:1/"), "HTTP 302"),
    "not JSON": (says(200, b"all is well"), "not strict JSON"),
    "NaN": (says(200, b'{"answers": {"decision": {"noul": NaN}}}'), "NaN is not JSON"),
    "a list": (says(200, []), "is no JSON object"),
    "too deep": (says(200, b"[" * 100_000), "nested too deeply"),
    "too large": (says(200, b" " * (client.MAX_REPLY_BYTES + 1)), "larger than"),
    "no answers": (says(200, {"model": "example-org/tiny"}), "has no answers/decision"),
    "another model": (changed(lambda a, b: b.update(model="other")), 'answered by "other"'),
    "another type": (changed(lambda a, b: a.update(type="score")), 'of type "score"'),
    "no sum of 1": (changed(half), "sum to 0.5"),
    "no probabilities": (changed(lambda a, b: a.pop("probabilities")), "has no probabilities"),
    "a candidate missing": (changed(lambda a, b: a["probabilities"].pop("ant")), 'other candidates: "ant"'),
    "a candidate too many": (changed(lambda a, b: a["probabilities"].update(unknown=0)), 'other candidates: "unknown"'),
    "negative": (changed(lambda a, b: a["probabilities"].update(ant=-0.5)), "no number from 0 to 1"),
    "text as a probability": (changed(lambda a, b: a["probabilities"].update(ant="0.5")), "no number from 0 to 1"),
    "a choice of nothing": (changed(lambda a, b: a.update(choice="dog")), 'choice is "dog"'),
    "a list as choice": (changed(lambda a, b: a.update(choice=["ant"])), "not among the candidates"),
    "no tokens counted": (changed(lambda a, b: b.pop("usage")), "usage/input_tokens"),
    "half a rotation": (changed(lambda a, b: b["usage"].update(rotations=0.5)), "a whole number"),
    "text as abstention": (changed(lambda a, b: a.update(abstained="no")), "true or false"),
    "nobody there": (hangs_up, "closed before an answer"),
    "half an answer": (stops_in_the_middle, "closed in the middle"),
    "slow": (slow(1.0), "no answer within 0.3 s"),
    "slow to the last byte": (drips, "no answer within 0.3 s"),
}  # fmt: skip


def test_a_bad_answer_is_a_failed_row_with_its_reason_and_the_run_goes_on(tmp_path: Path, server: DecisionServer) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(question(0) | {"id": name, "state": name}) + "\n" for name in [*BAD, "good"]), "utf-8")
    server.faults = {name: [fault] for name, (fault, _) in BAD.items()}
    done = run(Asked(path, server.url, tmp_path / "run.jsonl", warm_up=0, timeout_s=0.3))
    rows = {row["id"]: row for row in rows_of(tmp_path / "run.jsonl")}
    assert dict(done.tally.statuses) == {"failed": len(BAD), "ok": 1}
    assert {name: rows[name]["reason"] for name, (_, words) in BAD.items() if words not in rows[name]["reason"]} == {}
    assert set(server.asked.values()) == {1}, "nothing is asked again"


@pytest.mark.parametrize("value", [1.5, "yes", None, True])
def test_a_noul_that_is_no_probability_is_no_answer(tmp_path: Path, server: DecisionServer, value: Any) -> None:
    server.faults["state 1"] = [changed(lambda a, b: a.update(noul=value))]
    run(asked(tmp_path, server, 2))
    assert "noul is" in rows_of(tmp_path / "run.jsonl")[1]["reason"]


def test_a_score_that_its_levels_do_not_make_is_no_answer(tmp_path: Path, server: DecisionServer) -> None:
    server.faults["state 2"] = [changed(lambda a, b: a.update(score=0.0))]
    run(asked(tmp_path, server, 3))
    assert "the probabilities of the levels make" in rows_of(tmp_path / "run.jsonl")[2]["reason"]


def test_a_busy_server_is_asked_again_when_it_says_when_and_not_for_ever(tmp_path: Path, server: DecisionServer) -> None:
    busy = says(503, {"error": "busy"}, retry_after="0")
    server.faults = {"state 0": [busy] * 3, "state 1": [busy] * 99, "state 2": [says(503, {"error": "busy"})]}
    run(asked(tmp_path, server, 3))
    first, second, third = rows_of(tmp_path / "run.jsonl")
    assert (first["status"], first["attempts"]) == ("ok", 4)
    assert (second["status"], second["reason"], server.asked["state 1"]) == ("failed", "HTTP 503: busy", client.MAX_ASKED)
    assert (third["status"], server.asked["state 2"]) == ("failed", 1)


# ------------------------------------------------------------------------------------------------------- before it begins


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"loaded": False}, "is not ready"),
        ({"model": None}, "no decision server"),
        ({"model": "x" * 5000}, "can't be written down"),
        ({"versions": {str(n): "x" * 50 for n in range(5000)}}, "more than 65,536 bytes"),
        ({"device": json.loads("[" * 900 + "]" * 900)}, "can't be written down"),
        ({"backend": "\ud800"}, "can't be written down"),
    ],
    ids=["loading", "nameless", "long name", "many words", "deep", "half a character"],
)
def test_a_server_that_cannot_be_used_is_told_and_nothing_is_written(tmp_path: Path, facts: dict[str, Any], words: str) -> None:
    with DecisionServer(**facts) as server, pytest.raises(OutsideError) as caught:
        run(asked(tmp_path, server))
    assert words in caught.value.problems[0].message
    assert not (tmp_path / "run.jsonl").exists()


def test_a_server_that_is_not_ready_yet_is_waited_for(tmp_path: Path, server: DecisionServer) -> None:
    server.facts["loaded"] = False
    server.http.get_request, accept = lambda: (server.facts.update(loaded=True), accept())[1], server.http.get_request  # type: ignore[method-assign]
    assert run(asked(tmp_path, server, 2, wait_s=5)).rows == 2


NO_ADDRESS = (
    *(
        "127.0.0.1:80",
        "ftp://x",
        "http://",
        "http://x:99999",
        "http://x:0",
        "http://x y",
        "http://a..b",
        "http://.",
        f"http://{'a' * 64}.b",
    ),
    *(
        "http://a:secret@x",
        "http://:secret@x",
        "http://@x",
        "http://x/?key=secret",
        "http://x/#secret",
        "http://a:secret@x:99999/?k=secret",
    ),
)


@pytest.mark.parametrize("url", NO_ADDRESS)
def test_what_is_no_address_is_refused_without_a_password_in_the_message(tmp_path: Path, url: str) -> None:
    with pytest.raises(SpecError) as caught:
        run(Asked(questions(tmp_path, 1), url, tmp_path / "run.jsonl"))
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "run.jsonl").exists()


@pytest.mark.parametrize(
    "options",
    [{"profile": ""}, {"profile": "\udcff"}, {"profile": "x" * 2001}, {"profile": "a\nb"}, {"timeout_s": math.nan}, {"wait_s": math.nan}],
)
def test_options_that_mean_nothing_are_refused(tmp_path: Path, server: DecisionServer, options: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        run(asked(tmp_path, server, **options))
    assert not (tmp_path / "run.jsonl").exists()


@pytest.mark.parametrize("end", ["/", "/v1", "/v1/"])
def test_an_address_may_end_as_the_api_begins(tmp_path: Path, server: DecisionServer, end: str) -> None:
    made = client.Client(server.url + end, 5)
    assert (made.host, made.port, made.prefix) == ("127.0.0.1", server.port, "")


WRONG = {
    "id": (None, 5, ""),
    "type": ("multi", None),
    "state": (None, 5),
    "label": ("dog", 5),
    "question": ({}, "what?", {"instructions": "?", "criteria": {"one": None}}, {"instructions": "?", "criteria": ["a", "b"]}, {"instructions": "?", "other": 1}),
    "images": ("x.png", ["gone.png"], ["../x.png"], ["/etc/hostname"], [5], ["questions.jsonl"], ["a", "b", "c"]),
}  # fmt: skip


@pytest.mark.parametrize("key", WRONG)
def test_a_question_that_is_none_is_told_with_its_line_and_nothing_is_asked(tmp_path: Path, server: DecisionServer, key: str) -> None:
    for value in WRONG[key]:
        path = questions(tmp_path, 3, row_0={key: value})
        with pytest.raises(CheckFailed) as caught:
            run(Asked(path, server.url, tmp_path / "run.jsonl"))
        [found] = caught.value.problems
        assert (found.code, found.where.line) == ("HR607", 1)
        assert (found.where.pointer or "").startswith("/" + key)
    assert not server.asked
    assert not (tmp_path / "run.jsonl").exists()


def test_bad_lines_are_told_together(tmp_path: Path, server: DecisionServer) -> None:
    path = questions(tmp_path, 3, row_1={"id": "row 0"}, row_2={"state": {"x": 1e308 * 10}})
    path.write_bytes(path.read_bytes() + b'{"id": 1, "id": 2}\n\n{"cut":')
    with pytest.raises(CheckFailed) as caught:
        run(Asked(path, server.url, tmp_path / "run.jsonl"))
    assert [p.where.line for p in caught.value.problems] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("number", range(3))
def test_schema_and_reader_of_questions_agree(tmp_path: Path, number: int) -> None:
    schema = Draft202012Validator(resources.schema("decision-question"))
    values: tuple[Any, ...] = (None, 5, "", "x", [], ["a", "b"], {}, {"a": 1}, {"instructions": "?"}, {"true": "yes"})
    for key in ("id", "task", "type", "label", "state", "question", "images"):
        for value in (*values, *({"instructions": "?", "criteria": inner} for inner in values)):
            row = question(number) | {key: value}
            if key in ("label", "images") and isinstance(value, (str, list)):
                continue  # which texts are candidates or files is told in words
            fits = not list(schema.iter_errors(row))
            assert fits == taken(row, tmp_path), (key, value)


def taken(row: dict[str, Any], folder: Path) -> bool:
    try:
        question_of(row, folder)
    except RowFault as fault:
        return fault.key == "label" and isinstance(row["label"], str) and bool(row["label"]) and row["type"] != "noul"
    return True


# ---------------------------------------------------------------------------------------------------------------- images

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 50


def test_images_beside_the_questions_are_sent_as_data_urls(tmp_path: Path, server: DecisionServer) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    path = questions(tmp_path, 2, row_0={"images": ["a.png"]}, row_1={"images": ["data:image/png;base64,AAAA"]})
    run(Asked(path, server.url, tmp_path / "run.jsonl", warm_up=0))
    assert [row["status"] for row in rows_of(tmp_path / "run.jsonl")] == ["ok", "ok"]
    (tmp_path / "run.jsonl").write_bytes(b"".join((tmp_path / "run.jsonl").read_bytes().splitlines(True)[:3]))
    (tmp_path / "a.png").write_bytes(PNG + b"other")
    with pytest.raises(CheckFailed) as caught:
        run(Asked(path, server.url, tmp_path / "run.jsonl", warm_up=0))
    assert caught.value.problems[0].code == "HR608"


# ------------------------------------------------------------------------------------------------------------ the command


def test_the_command_says_what_came_out(tmp_path: Path, server: DecisionServer, cli: Cli) -> None:
    server.faults["state 3"] = [says(422, {"error": "too_long", "detail": "\x1b[2J"})]
    words = ["bench", "run", "--rows", questions(tmp_path, 6), "--base-url", server.url, "-o", tmp_path / "run.jsonl", "--warm-up", "0"]
    said = cli(*words)
    assert said.code == 0
    assert "6 rows (ok 5, failed 1); 6 of them asked now" in said.out
    assert "1 x HTTP 422: too_long" in said.out
    rows = rows_of(tmp_path / "run.jsonl")
    right = sum(row.get("choice") == row["label"] for row in rows)
    assert f"  all     {right} of 5 right  ({100 * right / 5:.1f} %)" in said.out
    assert "latency: median" in said.out
    assert f"bench report --baseline {tmp_path / 'run.jsonl'}" in said.out
    assert "\x1b" not in said.out
    again = cli(*words, "--json")
    assert (again.value["asked"], again.value["statuses"]) == (0, {"failed": 1, "ok": 5})
    assert sum(kind["answered"] for kind in again.value["types"].values()) == 5
    assert sum(kind["correct"] for kind in again.value["types"].values()) == right
    assert 0 < again.value["latencyMs"]["median"] <= again.value["latencyMs"]["p95"]


def test_whoever_watches_is_told_what_is_waited_for_and_where_it_goes_on(tmp_path: Path, server: DecisionServer) -> None:
    class Watcher(Progress):
        def __init__(self) -> None:
            self.said: list[str] = []

        def note(self, text: str) -> None:
            self.said.append(text)
            server.facts["loaded"] = True

        def start_count(self, label: str, total: int) -> None:
            self.said.append(f"{label} {total}")

    server.facts["loaded"] = False
    watcher = Watcher()
    run(asked(tmp_path, server, 6, limit=6, wait_s=5), watcher)
    (tmp_path / "run.jsonl").write_bytes(b"".join((tmp_path / "run.jsonl").read_bytes().splitlines(True)[:4]))
    run(asked(tmp_path, server, 6, limit=6), watcher)
    assert [words.split(":")[0] for words in watcher.said] == [
        *("waiting up to 5 s", "warming up 0", "asking 6"),
        *("going on", "warming up 0", "asking 4"),
    ]
    assert "2 of 6 rows are there" in watcher.said[3]


def test_a_run_without_one_answer_is_exit_code_1_and_a_server_that_is_not_there_3(tmp_path: Path, server: DecisionServer, cli: Cli) -> None:
    server.faults = {"state 0": [says(422, {})]}
    words = ["bench", "run", "--rows", questions(tmp_path, 1), "-o", tmp_path / "run.jsonl", "--warm-up", "0", "--base-url"]
    assert cli(*words, server.url).code == 1
    began = time.monotonic()
    assert cli(*words[:5], tmp_path / "other.jsonl", *words[6:], "http://127.0.0.1:9").code == 3
    assert time.monotonic() - began < 10
    assert not (tmp_path / "other.jsonl").exists()
