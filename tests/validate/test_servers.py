"""validate against an OpenAI-compatible server: a good one, and every way in which one goes wrong. Nothing is ever half written."""

from __future__ import annotations

import json
import time

import pytest
import tiny
from fake_openai import FakeOpenAI
from jsonschema import Draft202012Validator
from validating import FUNCTIONAL, PROMISE, REPORT, h200, kinds, machine, release, report, row, validate

from hubrelease import gpus, resources, validator
from hubrelease.errors import OutsideError
from hubrelease.gpus import Found
from hubrelease.validated import Asked
from hubrelease.verifier import verify


@pytest.fixture
def root(tmp_path):
    return release(tmp_path / "release")


def test_a_good_server_passes_and_the_release_is_good(root):
    before = tiny.files_of(root)
    with FakeOpenAI() as server:
        done = validate(root, "--base-url", server.base)
    assert (done.code, done.value["result"]) == (0, "pass"), done.said
    found = report(root)
    assert list(Draft202012Validator(resources.schema("validation")).iter_errors(found)) == []
    assert found["subject"]["payloadDigest"] == verify(root).payload_digest
    assert verify(root).word == "good", verify(root).problems
    assert "see `benchmarks/release-validation.json`" in (root / "README.md").read_text()
    changed = {path for path, data in tiny.files_of(root).items() if before.get(path) != data}
    assert changed == {REPORT, "README.md", tiny.PROVENANCE} or changed == {REPORT, "README.md"}


def test_what_a_server_tells_of_itself_is_reported_but_no_path_of_its_machine(root):
    with FakeOpenAI() as server:
        validate(root, "--base-url", server.base)
    where = report(root)["environment"]
    assert where["engine"] == {"name": "vllm", "version": "0.9.9"}
    assert where["server"]["max_model_len"] == 4096
    assert (where["device"], where["gpus"], where["packages"]) == ("server", [], {})
    assert "/home/" not in json.dumps(where)


def test_an_answer_is_judged_by_what_it_says(root):
    with FakeOpenAI("gibberish") as server:
        done = validate(root, "--base-url", server.base)
    found = report(root)
    assert (done.code, found["result"]) == (1, "fail")
    assert row(found, "request:capital")["status"] == row(found, "canary:repetition")["status"] == "fail"
    assert "lacks 'Paris'" in row(found, "request:capital")["reason"]
    assert "longestRun is 60, more than 6" in row(found, "canary:repetition")["reason"]
    assert ("validation-failed", "warning") in kinds(root)
    assert "**Failed.**" in (root / "README.md").read_text()


FAULTS = {
    "nonsense": ("request:capital", "no JSON"),
    "empty": ("request:capital", "no choices"),
    "slow": ("request:capital", "within 0.3 s"),
    "dies": ("request:capital", "in the middle of an answer"),
    "differs": ("streaming:streamed", "same is False"),
    "cut": ("streaming", "ended without [DONE]"),
    "chance": ("determinism", "same is False"),
    "nan": ("logits:finite", "notFinite"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_a_failed_check_that_says_what_happened(tmp_path, fault):
    name, words = FAULTS[fault]
    root = release(tmp_path / "r", asked={"limits": {"start_s": 0.6, "request_s": 0.3}} if fault == "slow" else None)
    with FakeOpenAI(fault) as server:
        done = validate(root, "--base-url", server.base, "--runtime", "openai")
    found = report(root)
    assert (done.code, found["result"]) == (1, "fail"), done.said
    assert row(found, name)["status"] == "fail"
    assert words in row(found, name)["reason"]
    assert "validation-check-failed" in done.kinds
    assert {severity for _, severity in kinds(root)} <= {"warning"}


def test_what_could_not_be_asked_after_a_server_died_is_skipped_and_no_pass(root):
    with FakeOpenAI("dies") as server:
        validate(root, "--base-url", server.base)
    assert {check["status"] for check in report(root)["checks"] if check["name"] in ("repetition", "latency", "determinism")} == {"skipped"}


@pytest.mark.parametrize(("fault", "words"), [("loading", "lists no model"), ("absent", "nothing listens")])
def test_a_server_that_is_never_ready_says_nothing_about_the_release(root, fault, words):
    before = tiny.files_of(root)
    if fault == "absent":
        done = validate(root, "--base-url", "http://127.0.0.1:9")
    else:
        with FakeOpenAI(fault) as server:
            done = validate(root, "--base-url", server.base)
    assert done.code == 3
    assert done.only()["kind"] == "server-unreachable"
    assert words in done.only()["message"]
    assert tiny.files_of(root) == before


def test_an_address_where_nothing_listens_is_not_waited_for_as_long_as_a_start_may_take(tmp_path, monkeypatch):
    monkeypatch.setattr("hubrelease.engines._ready.ABSENT_S", 0.3)
    root = release(tmp_path / "r", asked={"limits": {"start_s": 60}})
    began = time.monotonic()
    for words in ((), ("--runtime", "sm120")):
        done = validate(root, "--base-url", "http://127.0.0.1:9", *words)
        assert (done.code, done.only()["kind"]) == (3, "server-unreachable")
        assert "nothing listens at 127.0.0.1:9" in done.only()["message"]
    assert time.monotonic() - began < 30


def test_an_interrupted_run_leaves_the_release_as_it_was(root, monkeypatch):
    from hubrelease.engines.openai import OpenAI

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(OpenAI, "ask", interrupted)
    before = tiny.files_of(root)
    with FakeOpenAI() as server:
        done = validate(root, "--base-url", server.base)
    assert done.code == 130
    assert tiny.files_of(root) == before


def meanwhile(monkeypatch, what):
    """`what` happens once, while the first request is asked."""
    from hubrelease.engines.openai import OpenAI

    ask, todo = OpenAI.ask, [what]

    def asked(self, *words, **more):
        if todo:
            todo.pop()()
        return ask(self, *words, **more)

    monkeypatch.setattr(OpenAI, "ask", asked)


def test_two_at_once_do_not_write_into_one_release(root, monkeypatch):
    with FakeOpenAI() as server:

        def second():
            with pytest.raises(OutsideError, match="another seal or validate of it is running"):
                validator.validate(root, Asked("vllm", base_url=server.base))

        meanwhile(monkeypatch, second)
        assert validate(root, "--base-url", server.base).code == 0
    assert verify(root).word == "good"


def test_a_release_that_became_another_meanwhile_keeps_its_own_provenance(root, monkeypatch):
    with FakeOpenAI() as server:
        meanwhile(monkeypatch, lambda: tiny.seal(root, {"version": "2.0.0"}))
        before = {path: data for path, data in tiny.files_of(root).items() if path != tiny.PROVENANCE}
        done = validate(root, "--base-url", server.base)
    assert (done.code, done.kinds) == (3, ["disk-fault"])
    assert "was changed while it was validated" in done.only()["message"]
    assert {path: data for path, data in tiny.files_of(root).items() if path != tiny.PROVENANCE} == before
    assert b"2.0.0" in (root / tiny.PROVENANCE).read_bytes()


def test_the_functional_suite_has_a_file_of_its_own_and_leaves_the_main_report(root):
    main = (root / REPORT).read_bytes()
    with FakeOpenAI() as server:
        done = validate(root, "--base-url", server.base, "--suite", "functional")
    assert (done.code, done.value["file"]) == (0, FUNCTIONAL)
    assert {check["name"].split(":")[0] for check in report(root, FUNCTIONAL)["checks"]} == {"start", "request", "streaming"}
    assert (root / REPORT).read_bytes() == main
    assert verify(root).word == "good"


@pytest.mark.parametrize(("ran", "code", "result"), [("12.0", 0, "pass"), ("9.0", 3, "not-run")])
def test_a_promise_is_validated_only_on_the_capability_that_it_names(tmp_path, ran, code, result):
    root = release(tmp_path / "r", {"runtime": PROMISE | {"compute_capabilities": ["12.0"]}})
    with FakeOpenAI() as server:
        done = validate(root, "--base-url", server.base, "--runtime", "openai", found=h200(ran))
    found = report(root)
    assert (done.code, found["result"]) == (code, result), done.said
    assert found["environment"]["gpus"][0] == {
        "name": "NVIDIA H200",
        "computeCapability": ran,
        "memoryTotalMiB": 143771,
        "powerLimitW": 700.0,
        "powerLimitChanged": False,
    }
    if result == "not-run":
        assert "promised and not validated: 12.0" in found["reason"]
        assert done.kinds == ["validation-incomplete"]
        assert row(found, "request:capital")["status"] == "pass"


def test_requests_of_every_kind_reach_the_server_in_its_own_words(tmp_path):
    root = release(tmp_path / "r", takes=("chat", "tool", "image", "video", "reasoning", "long"), asked={"long_prompts": [200]})
    with FakeOpenAI() as server:
        validate(root, "--base-url", server.base, "--suite", "functional")
        bodies = [body for path, body in server.requests if path == "/v1/chat/completions"]
    found = report(root, FUNCTIONAL)
    assert row(found, "request:weather")["status"] == row(found, "request:long-200")["status"] == "pass"
    assert abs(row(found, "request:long-200")["measured"]["promptTokens"] - 200) < 20
    assert row(found, "request:thinks")["status"] == "fail"
    assert [b["chat_template_kwargs"] for b in bodies if "chat_template_kwargs" in b] == [
        {"enable_thinking": True},
        {"enable_thinking": False},
    ]
    parts = [part for b in bodies for m in b["messages"] if isinstance(m["content"], list) for part in m["content"]]
    (video,) = [part["video_url"]["url"] for part in parts if part["type"] == "video_url"]
    assert video.count(",") == 32
    assert all(b["temperature"] == 0 for b in bodies)


def test_no_prompt_is_timed_twice_for_a_server_keeps_what_it_has_read(root):
    """vLLM answers the second time from its prefix cache: 512 tokens then take less than 32."""
    with FakeOpenAI() as server:
        validate(root, "--base-url", server.base)
        asked = [body["messages"][-1]["content"] for _, body in server.requests if body.get("max_tokens") == 8]
    assert len(asked) == 4
    assert len({" ".join(text.split()[:3]) for text in asked}) == 4


def test_a_tunnel_is_not_taken_for_this_machines_gpu(tmp_path, monkeypatch):
    """Too little of the GPU's memory is taken for the weights to be there."""
    root = release(tmp_path / "r", {"runtime": PROMISE})
    with FakeOpenAI() as server, machine(h200()):
        monkeypatch.setattr(gpus, "memory_used_mib", lambda first=None: 0)
        done = validator.validate(root, Asked(base_url=server.base))
    assert (done.result, done.report["environment"]["gpus"]) == ("not-run", [])
    assert "a GPU that the server does not name" in done.report["reason"]


def test_of_several_gpus_only_the_one_that_a_started_server_takes_is_named(tmp_path, monkeypatch):
    from hubrelease.engines.openai import OpenAI

    root, two = release(tmp_path / "r"), Found(h200().gpus * 2, "580.65", "13.0")
    with FakeOpenAI() as server, machine(two):
        monkeypatch.setattr(validator, "engine_of", lambda asked, release: OpenAI(server.base))
        done = validator.validate(root, Asked("transformers"))
    assert len(done.report["environment"]["gpus"]) == 1
