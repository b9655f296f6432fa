"""Servers that mean harm: whatever they send, validate ends in time, with a report that is small and can be read, or a clear refusal."""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress

import pytest
from fake_decisions import MODELS, FakeDecisions
from fake_openai import FakeOpenAI
from jsonschema import Draft202012Validator
from validating import REPORT, kinds, release, report, row, validate

from hubrelease import resources

CHAT, MODELS_PATH = "/v1/chat/completions", "/v1/models"
HUGE = 10**400
DEEP = json.loads('{"a":' * 400 + "1" + "}" * 400)
MAX_REPORT_BYTES = 60_000


def raw(data, wait=0.0, times=1):
    """Bytes as they are, again and again with a pause."""

    def send(handler, body=None):
        handler.close_connection = True
        with suppress(OSError):
            for _ in range(times):
                handler.wfile.write(data)
                handler.wfile.flush()
                time.sleep(wait)

    return send


def says(value, status=200, **headers):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()

    def send(handler, body=None):
        handler.send_response(status)
        for name, text in {"content-length": str(len(data)), **headers}.items():
            handler.send_header(name, text)
        handler.end_headers()
        with suppress(OSError):
            handler.wfile.write(data)

    return send


def chat(message=None, **more):
    return says({"choices": [{"message": message or {"content": "Paris"}, **more}], "usage": {"prompt_tokens": 7}})


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
ANSWERS = {
    "no end of headers": (lambda handler, body: (raw(OK)(handler), raw(b"x-a: b\r\n", 0.05, 60)(handler)), "within 1 s"),
    "headers a byte at a time": (raw(b"H", 0.05, 200), "within 1 s"),
    "the length of a chunk a digit at a time": (lambda handler, body: (raw(CHUNKED)(handler), raw(b"0", 0.05, 300)(handler)), "within 1 s"),
    "only ever 100": (raw(b"HTTP/1.1 100 Continue\r\n\r\n", 0.02, 400), "within 1 s"),
    "a long header": (raw(OK + b"x: " + b"a" * 200_000 + b"\r\n\r\n"), "got more than 65536 bytes"),
    "no HTTP": (raw(b"SSH-2.0-OpenSSH_9.9\r\n"), "BadStatusLine"),
    "a huge body": (raw(OK + b"content-length: 999999999999\r\n\r\n" + b" " * 2**20, times=40), "longer than 32 MiB"),
    "a page": (says(b"<!doctype html><html>Sign in</html>"), "no JSON"),
    "bytes that are no UTF-8": (says(b'{"choices": "\xff"}'), "no JSON"),
    "too deep": (says(b"[" * 200_000), "no JSON"),
    "deep enough to be read": (chat(DEEP), "nested too deeply"),
    "to a file": (says(b"", 302, location="file:///etc/passwd"), "answered 302"),
    "to another host": (says(b"", 307, location="http://127.0.0.1:1/v1/chat/completions"), "answered 307"),
    "no object": (says([1]), "no choices"),
    "choices that are none": (says({"choices": [7]}), "no choices"),
    "text that is a number": (chat({"content": 7}), "no text"),
    "a right word in the thought": (chat({"content": "<think>Paris or London?</think>London"}), "lacks 'Paris'"),
    "a thought without an end": (chat({"content": "<think>It is Paris, but"}), "lacks 'Paris'"),
    "half a character": (says(b'{"choices": [{"message": {"content": "\\ud800"}}]}'), "lacks 'Paris'"),
    "control characters": (chat({"content": "\x1b[2J\x00\u202e"}), "lacks 'Paris'"),
    "long nonsense": (chat({"content": "na " * 300_000}), "lacks 'Paris'"),
}


def run(root, server, *words):
    began = time.monotonic()
    done = validate(root, "--base-url", server.base, *words)
    assert time.monotonic() - began < 25
    return done


def checked(root):
    """The report, which is small and of its form; what verify finds of it are no errors."""
    found = report(root)
    assert list(Draft202012Validator(resources.schema("validation")).iter_errors(found)) == []
    assert (root / REPORT).stat().st_size < MAX_REPORT_BYTES
    assert {severity for _, severity in kinds(root)} <= {"warning"}
    return found


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_means_harm_is_a_failed_check(tmp_path, name):
    answer, words = ANSWERS[name]
    root = release(tmp_path / "r", takes=("chat",), asked={"limits": {"start_s": 2, "request_s": 1}, "latency_tokens": []})
    with FakeOpenAI() as server:
        server.odd[CHAT] = answer
        done = run(root, server)
    assert done.code == 1, done.said
    found = row(checked(root), "request:capital")
    assert found["status"] == "fail"
    assert words in found["reason"]


WELL = {  # answers that hold what was asked for, and something besides
    "a number without end": chat(logprobs={"content": [{"logprob": HUGE}, {"logprob": -HUGE}]}),
    "log probabilities of all kinds": chat(logprobs={"content": [{"logprob": True}, {"logprob": "x"}, {}, 5, None]}),
    "tokens without end": says({"choices": [{"message": {"content": "Paris"}}], "usage": {"prompt_tokens": HUGE, "completion_tokens": -5}}),
    "a tool nobody asked for": chat({"content": "Paris", "tool_calls": [{"function": {"name": "a" * 10**6, "arguments": json.dumps({"a": "b" * 10**6})}}]}),
    "a tool with deep arguments": chat({"content": "Paris", "tool_calls": [{"function": {"name": "a", "arguments": json.dumps(DEEP)}}]}),
    "a thought in the answer itself": chat({"content": "<think>London? No.</think>\n\nParis"}),
    "a thought that the template opened": chat({"content": "London? No.\n</think>\n\nParis"}),
    "usage that is none": says({"choices": [{"message": {"content": "Paris", "reasoning": 7}}], "usage": [1]}),
}  # fmt: skip


@pytest.mark.parametrize("name", WELL)
def test_what_comes_with_an_answer_breaks_nothing_and_fills_no_report(tmp_path, name):
    root = release(tmp_path / "r", takes=("chat",), asked={"latency_tokens": []})
    with FakeOpenAI() as server:
        server.odd[CHAT] = WELL[name]
        run(root, server)
    found = checked(root)
    assert row(found, "request:capital")["status"] == "pass"
    if "log" in name or "number" in name:
        assert row(found, "logits:finite")["status"] == "fail"


EVENT = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'
HEAD = OK + b"content-type: text/event-stream\r\n\r\n"
STREAMS = {
    "no end": raw(HEAD + EVENT * 1000, 0.001, 10**5),
    "only comments": raw(HEAD + b": ping\n\n", 0.02, 400),
    "a line without end": raw(HEAD + b"data: " + b"a" * 2**20, times=8),
    "an event that is no JSON": raw(HEAD + b"data: {oops\n\n"),
    "an error as an event": raw(HEAD + b'data: {"error": {"message": "CUDA out of memory"}}\n\ndata: [DONE]\n\n'),
    "nothing": raw(HEAD + b"data: [DONE]\n\n"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_means_harm_is_a_failed_check(tmp_path, name):
    root = release(tmp_path / "r", takes=("streaming",), asked={"limits": {"start_s": 2, "request_s": 1}, "latency_tokens": []})
    with FakeOpenAI() as server:
        plain = server.text_for
        server.odd[CHAT] = lambda handler, body: STREAMS[name](handler) if body.get("stream") else handler.whole(body, plain(body))
        done = run(root, server, "--suite", "functional")
    found = report(root, "benchmarks/validation.json")
    assert (done.code, row(found, "streaming")["status"]) == (1, "fail")
    assert len(json.dumps(found)) < MAX_REPORT_BYTES


MODEL_LISTS = {
    "half a character as a name": {"id": "\ud800"},
    "a name without end": {"id": "a" * 10**6},
    "no name": {"id": 7},
    "a name that is empty": {"id": ""},
}


@pytest.mark.parametrize("name", MODEL_LISTS)
def test_a_model_that_cannot_be_asked_for_is_no_server(tmp_path, name):
    root = release(tmp_path / "r", takes=("chat",))
    with FakeOpenAI() as server:
        server.odd[MODELS_PATH] = says({"data": [MODEL_LISTS[name]]})
        done = run(root, server)
    assert (done.code, done.only()["kind"]) == (3, "server-unreachable")


def test_what_a_server_tells_of_itself_does_not_fill_the_report(tmp_path):
    root = release(tmp_path / "r", takes=("chat",), asked={"latency_tokens": []})
    with FakeOpenAI() as server:
        server.odd[MODELS_PATH] = says({"data": [{"id": "m", "owned_by": ["a"] * 10**4, "max_model_len": HUGE}] * 100})
        server.odd["/version"] = says({"version": "9" * 10**6})
        assert run(root, server).code == 0
    assert checked(root)["environment"]["server"].get("max_model_len") is None


@pytest.mark.parametrize("count", [0, 1, -(10**9), HUGE, True, "7", None])
def test_a_count_of_tokens_that_cannot_be_is_a_failed_check_and_no_endless_prompt(tmp_path, count):
    root = release(tmp_path / "r", takes=("chat", "long"), asked={"latency_tokens": [], "long_prompts": [7820]})
    with FakeOpenAI() as server:
        server.odd["/tokenize"] = says({"count": count})
        done = run(root, server, "--suite", "functional")
        longest = max(len(json.dumps(body)) for _, body in server.requests)
    assert done.code == 1
    assert "of that length can be made" in row(report(root, "benchmarks/validation.json"), "request:long-7820")["reason"]
    assert longest < 2_000_000


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://[::1", "http://u:secret@127.0.0.1", "http://:secret@127.0.0.1:9", "http://a b", "http://x/?q=secret", "http://x/#secret", "http:///x", "http://a..b", "http://\ud800"])  # fmt: skip
def test_what_is_no_address_is_refused_without_a_password_in_the_message(tmp_path, url):
    root = release(tmp_path / "r", takes=("chat",))
    for words in ((), ("--runtime", "sm120")):
        done = validate(root, "--base-url", url, *words)
        assert (done.code, done.only()["kind"]) == (2, "usage")
        assert "secret" not in json.dumps(done.value)


# ------------------------------------------------------------------------------------------------------ the decision API

NOUL = {"type": "noul", "noul": 0.9, "unknown_probability": 0.1}
CHOICE = {"type": "choice", "choice": "Tuesday", "probabilities": {"Tuesday": 1.0}, "unknown_probability": 0}
DECISIONS = {
    "a number without end": {"open": NOUL | {"noul": HUGE}},
    "a score that is none": {"day": {"type": "score", "score": math.nan, "probabilities": {"0": 1.0}, "unknown_probability": 0}},
    "a score without end": {"day": {"type": "score", "score": HUGE, "probabilities": {"0": 1.0}, "unknown_probability": 0}},
    "a list of probabilities": {"day": CHOICE | {"probabilities": [1.0]}},
    "a long choice": {"day": CHOICE | {"choice": "a" * 10**6}},
    "a choice that is a list": {"day": CHOICE | {"choice": ["Tuesday"]}},
    "many options": {"day": CHOICE | {"probabilities": {str(n): 1e-5 for n in range(10**5)}}},
    "a choice that is no option": {"day": CHOICE | {"probabilities": {"Sunday": 1.0}}},
    "deep": {"day": DEEP},
    "no objects": {"day": [], "open": "yes"},
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_that_means_harm_is_a_failed_check(tmp_path, name):
    root = release(tmp_path / "r", takes=("decision",), asked={"latency_tokens": []})
    with FakeDecisions(**DECISIONS[name]) as server:
        done = run(root, server, "--runtime", "sm120")
    assert done.code == 1, done.said
    assert row(checked(root), "request:facts")["status"] == "fail"


def test_a_decision_server_that_tells_too_much_of_itself_does_not_fill_the_report(tmp_path, monkeypatch):
    root = release(tmp_path / "r", takes=("decision",), asked={"latency_tokens": []})
    told = {"profile": DEEP, "max_tokens": HUGE, "graphs": ["a"] * 10**5, "versions": {str(n): "1" * 500 for n in range(10**4)}}
    backend = {"linear": {"steps": [{"backend": "a" * 10**4}] * 100, "selfTest": {"a": "b" * 10**6}}, "attention": DEEP}
    monkeypatch.setitem(MODELS, "backend", backend)
    for key, value in told.items():
        monkeypatch.setitem(MODELS, key, value)
    with FakeDecisions() as server:
        run(root, server, "--runtime", "sm120")
    if (root / REPORT).exists():
        checked(root)
