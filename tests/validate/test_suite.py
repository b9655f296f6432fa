"""The suite of a release: made from release.yaml, travelling as payload, refused where it is not understood."""

from __future__ import annotations

import json

import pytest
import tiny
import tiny_upstream
from jsonschema import Draft202012Validator
from project import project
from specs import LOCAL

from hubrelease import resources, suites
from hubrelease.engines import Answer
from hubrelease.judging import faults
from hubrelease.suites import Request


def built(tmp_path, validation, *words, **files):
    made = project(tmp_path, here=True).spec(**{**LOCAL, **({"validation": validation} if validation is not None else {})})
    tiny.write(made.folder / "base", tiny_upstream.base())
    tiny.write(made.folder, {name.replace("__", "."): data for name, data in files.items()})
    return made, made.build(*words)


def suite_of(made):
    return json.loads((made.out / suites.FILE).read_bytes())


def test_release_yaml_becomes_the_suite_with_its_pictures(tmp_path):
    asked = {"takes": ["image", "long"], "long_prompts": [500], "limits": {"latency_ms": 90}, "soak_s": 3, "latency_tokens": [7],
             "not_required": [{"check": "canary", "reason": "the weights are random"}],
             "checks": [{"name": "own", "kind": "completion", "prompt": "a", "expect": {"contains": ["b"]}}]}  # fmt: skip
    made, done = built(tmp_path, asked)
    done.good()
    found = suite_of(made)
    assert list(Draft202012Validator(resources.schema("suite")).iter_errors(found)) == []
    assert [r["name"] for r in found["requests"]] == ["one-picture", "long-500", "own"]
    assert (found["limits"], found["soakS"], found["latencyTokens"], found["takes"]) == ({"latency_ms": 90}, 3, [7], ["image", "long"])
    assert found["notRequired"] == [{"check": "canary", "reason": "the weights are random"}]
    assert (made.out / "runtime/suite/red.png").read_bytes() == suites.default_picture("red.png")
    made.run("verify", made.out).good()


def test_a_release_without_the_key_has_no_suite(tmp_path):
    made, done = built(tmp_path, None)
    done.good()
    assert not (made.out / "runtime/suite").exists()


def test_a_suite_of_ones_own_takes_the_place_of_the_default(tmp_path):
    own = {
        "schemaVersion": 1,
        "requests": [{"name": "a", "kind": "image", "messages": [{"role": "user", "content": "?"}], "images": ["x.png"]}],
        "limits": {"start_s": 9},
    }
    made, done = built(tmp_path, {"suite": "own.json"}, own__json=json.dumps(own).encode(), x__png=b"a picture")
    done.good()
    assert (suite_of(made)["requests"], suite_of(made)["limits"]) == (own["requests"], {"start_s": 9})
    assert (made.out / "runtime/suite/x.png").read_bytes() == b"a picture"


@pytest.mark.parametrize(("asked", "pointer", "words"), [
    ({"limits": {"speed": 1}}, "/validation/limits/speed", "there is no limit 'speed'"),
    ({"checks": [{"name": "a", "kind": "poem"}]}, "/validation/checks/0/kind", "poem"),
    ({"checks": [{"name": "a", "kind": "completion"}]}, "/validation/checks/0", "prompt"),
    ({"checks": [{"name": "a", "kind": "completion", "prompt": "b"}] * 2}, "/validation/checks/1/name", "used twice"),
    ({"takes": ["poems"]}, "/validation/takes/0", "poems"),
    ({"limits": {"request_s": 1e300}}, "/validation/limits/request_s", "1000000000"),
    ({"limits": {"start_s": -1}}, "/validation/limits/start_s", "0"),
    ({"soak_s": 10**9}, "/validation/soak_s", "86400"),
    ({"latency_tokens": [10**9]}, "/validation/latency_tokens/0", "1000000"),
    ({"not_required": [{"check": "load"}]}, "/validation/not_required/0", "reason"),
])  # fmt: skip
def test_what_release_yaml_says_wrong_is_told_with_its_line(tmp_path, asked, pointer, words):
    made, _ = built(tmp_path, asked)
    done = made.run("check", made.folder)
    assert done.code == 2
    assert (done.only()["pointer"], done.only()["line"] is not None) == (pointer, True)
    assert words in done.only()["message"]


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"{",
        b'{"schemaVersion": 1, "requests": 3}',
        b'{"schemaVersion": 9, "requests": []}',
        b'{"schemaVersion": 1, "requests": [], "limits": []}',
    ],
)
def test_a_suite_file_that_is_none_is_refused(tmp_path, data):
    made, done = built(tmp_path, {"suite": "own.json"}, own__json=data)
    assert (done.code, set(done.kinds)) == (1, {"suite-invalid"})
    assert not made.out.exists()


def test_a_video_whose_frames_would_fill_the_memory_is_not_made(monkeypatch):
    from hubrelease.engines import EngineFault, openai

    engine = openai.OpenAI("http://127.0.0.1:1")
    engine.suite = suites.suite_of({"requests": []}, lambda name: b"a" * 2**20)
    asked = Request("v", "video", {"images": ["x.png"], "frames": 256, "messages": [{"role": "user", "content": "?"}]}, {})
    with pytest.raises(EngineFault, match="more than 256 MiB"):
        engine.pictures(asked)


def test_build_then_validate_without_a_gpu_leaves_the_release_built(tmp_path):
    made, done = built(tmp_path, {}, "--validate")
    assert (done.code, done.kinds) == (3, ["gpu-missing"])
    assert done.value["releaseDigest"]
    made.run("verify", made.out).good()


def test_the_default_requests_are_of_their_form():
    found = suites.default_document()
    assert list(suites.problems_of(found, lambda pointer: pytest.fail(pointer))) == []
    assert {r["kind"] for r in found["requests"]} == set(suites.KINDS) - {"long"}
    assert all(suites.default_picture(name) for r in found["requests"] for name in r.get("images", ()))


CONFIG = {"architectures": ["LlamaForCausalLM"]}


@pytest.mark.parametrize(("spec", "config", "files", "takes"), [
    ({}, CONFIG, {"chat_template.jinja"}, ("chat", "streaming")),
    ({}, CONFIG, set(), ("completion",)),
    ({}, {"architectures": ["BertModel"]}, set(), ()),
    ({}, {"architectures": ["XForConditionalGeneration"], "vision_config": {}}, {"chat_template.jinja", "preprocessor_config.json"}, ("chat", "image", "streaming")),
    ({"runtime": {"kind": "sm120"}}, CONFIG, {"chat_template.jinja"}, ("decision",)),
    ({"validation": {"takes": ["tool", "chat"]}}, CONFIG, set(), ("chat", "tool")),
    ({"validation": 3, "runtime": []}, {"architectures": 4}, set(), ()),
])  # fmt: skip
def test_what_a_release_takes_is_read_from_its_files(spec, config, files, takes):
    assert suites.takes_of(spec, config, frozenset(files), {}) == takes


TOOL = {"tool": {"name": "f", "arguments": {"city": "Paris"}}}


@pytest.mark.parametrize(("expect", "answer", "words"), [
    ({"contains": ["PARIS"]}, Answer("in paris."), None), ({"contains": ["Paris"]}, Answer("Rome"), "lacks 'Paris'"),
    ({"absent": ["sorry"]}, Answer("Sorry!"), "holds 'sorry'"), ({"anyOf": ["4", "four"]}, Answer("five"), "holds none of '4', 'four'"),
    (TOOL, Answer(tool={"name": "f", "arguments": {"city": "paris, France"}}), None), (TOOL, Answer("f()"), "no tool was called"),
    (TOOL, Answer(tool={"name": "g", "arguments": {"city": "Paris"}}), "'g' was called"), (TOOL, Answer(tool={"name": "f", "arguments": None}), "no JSON object"),
    (TOOL, Answer(tool={"name": "f", "arguments": {"city": "Rome"}}), "city is 'Rome'"),
])  # fmt: skip
def test_an_answer_is_held_against_what_was_expected(expect, answer, words):
    found = faults(Request("a", "chat", {}, expect), answer)
    assert (words is None) == (found == [])
    assert words is None or words in found[0]


def test_a_build_over_a_validated_release_keeps_its_reports_while_they_are_about_these_files(tmp_path, monkeypatch):
    from test_validate import FakeEngine
    from validating import CPU, machine, report

    from hubrelease import validator
    from hubrelease.validated import Asked

    monkeypatch.setattr(validator, "engine_of", lambda asked, release: FakeEngine())
    made, done = built(tmp_path, {"takes": ["chat"], "latency_tokens": []})
    done.good()
    with machine():
        validator.validate(made.out, Asked("transformers", "cpu"))
    before = report(made.out, CPU)
    made.build().good()
    assert report(made.out, CPU) == before
    made.run("verify", made.out).good()
    made.spec(**{**LOCAL, "validation": {"takes": ["chat"], "latency_tokens": [], "soak_s": 1}}).build().good()
    assert not (made.out / CPU).exists()
    made.run("verify", made.out).good()
