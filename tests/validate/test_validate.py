"""What validate refuses, where its report lies, and what verify says of reports that are not what they seem."""

from __future__ import annotations

import csv
import errno
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
from fake_openai import FakeOpenAI
from huggingface_hub._jobs_api import JobHardware
from project import project
from validating import CPU, PROMISE, REPORT, h200, kinds, machine, release, report, validate

from hubrelease import jobs, suites, validator, workspace
from hubrelease.engines import Answer, Facts
from hubrelease.progress import SILENT
from hubrelease.validated import Asked
from hubrelease.verifier import verify
from hubrelease.verify_release import PROVENANCE

HF = Path(sys.executable).with_name("hf")


class FakeEngine:
    """Answers in this process, well; `ask` can be made worse."""

    kinds = frozenset(("chat", "completion"))
    pid = None

    def start(self, suite):
        return {"loadS": 0.1}

    def facts(self):
        return Facts("transformers", "5.24.0", {"torch": "2.13.0"}, load={"missing": [], "unexpected": [], "mismatched": []})

    def ask(self, request, stream=False):
        words = [
            "Paris",
            "4",
            "and",
            "a",
            "lighthouse",
            "keeper",
            "who",
            "found",
            "in",
            "a",
            "green",
            "bottle",
            "one",
            "letter",
            "from",
            "the",
            "far",
            "shore",
        ]
        return Answer(" ".join(words), 0.01, 12, len(words), logprobs=(-0.1, -0.2))

    def count(self, text):
        return len(text.split())

    def close(self):
        pass


@pytest.fixture
def root(tmp_path):
    return release(tmp_path / "release", takes=("chat",))


@pytest.fixture
def faked(monkeypatch):
    monkeypatch.setattr(validator, "engine_of", lambda asked, release: FakeEngine())


def passed(root):
    with FakeOpenAI() as server:
        assert validate(root, "--base-url", server.base, found=h200()).code == 0
    return report(root)


# --------------------------------------------------------------------------------------------------------------- no GPU


def test_without_a_gpu_it_says_what_is_missing_and_how_to_run_it_elsewhere(root):
    before = tiny.files_of(root)
    done = validate(root)
    assert done.code == 3
    assert done.only()["kind"] == "gpu-missing"
    assert "nvidia-smi" in done.only()["message"]
    assert "--print-job" in done.only()["mend"]
    assert tiny.files_of(root) == before


def commands(root, *words):
    """The two commands as a shell takes them apart."""
    return [shlex.split(line, comments=True) for line in validate(root, "--print-job", *words).good().value["commands"]]


def test_the_job_is_a_command_that_a_shell_can_run(root):
    job, docker = commands(root)
    assert job[:3] == ["hf", "jobs", "run"]
    assert docker[:4] == ["docker", "run", "--rm", "--gpus"]
    assert "hubrelease validate /release --runtime transformers --suite full" in job[-1]
    assert f"type=bind,source={root.resolve()},target=/release" in docker
    for script in (job[-1], docker[-1]):
        subprocess.run(["sh", "-n", "-c", script], check=True)


@pytest.mark.parametrize(("promised", "flavor"), [("9.0", "h200"), ("12.0", "rtx-pro-6000")])
def test_the_jobs_hardware_is_of_the_promised_capability_and_the_hubs_own_client_takes_the_command(tmp_path, promised, flavor):
    """With --dry-run, which asks nobody."""
    root = release(tmp_path / "r", {"runtime": PROMISE | {"compute_capabilities": [promised]}})
    job, _ = commands(root)
    assert (job[job.index("--flavor") + 1], job[job.index("sh") - 1]) == (flavor, PROMISE["image"])
    done = subprocess.run([HF, "jobs", "run", "--dry-run", *job[3:]], capture_output=True, text=True, check=False)
    assert (done.returncode, "Job not submitted" in done.stdout + done.stderr) == (0, True), done.stderr


def test_every_flavor_is_one_of_the_hubs():
    assert {jobs.CPU_FLAVOR, *jobs.FLAVORS.values()} <= {hardware.value for hardware in JobHardware}


def test_vllm_is_run_in_its_own_image_with_the_packages_that_it_has(root):
    job, docker = commands(root, "--runtime", "vllm")
    assert jobs.IMAGES["vllm"] in job
    assert jobs.IMAGES["vllm"] in docker
    assert "hubrelease[validate]" not in job[-1]


def test_what_is_asked_for_stands_in_the_job(tmp_path):
    root = release(tmp_path / "r", {"runtime": PROMISE})
    job, docker = commands(root, "--device", "cpu", "--image", "me/mine:1", "--suite", "functional")
    assert job[job.index("--flavor") + 1] == jobs.CPU_FLAVOR
    assert "--gpus" not in docker
    for words in (job, docker):
        assert "me/mine:1" in words
        assert "--suite functional --device cpu" in words[-1]


@pytest.mark.parametrize("words", [("--base-url", "http://x"), ("--image", "x;id"), ("--image=--privileged",)])
def test_a_job_that_could_not_run_is_not_printed(root, words):
    done = validate(root, "--print-job", *words)
    assert (done.code, done.only()["kind"]) == (2, "usage")


@pytest.mark.parametrize(
    "change",
    [{"runtime": PROMISE | {"image": "--privileged"}}, {"runtime": PROMISE | {"image": "a b"}}, {"name": "-x/y"}, {"name": "a/b;id"}],
)
def test_a_name_that_would_be_an_option_or_more_is_never_printed_as_a_command(tmp_path, change):
    root = release(tmp_path / "r", {"runtime": PROMISE})
    tiny.seal(root, {"runtime": PROMISE, **change})
    done = validate(root, "--print-job")
    assert (done.code, done.kinds) == (1, ["spec-invalid"])


def test_a_comment_stays_one_line_whatever_the_release_says(tmp_path):
    version = "1.0\ntouch pwned #"
    root = release(tmp_path / "r")
    tiny.seal(root, {"version": version})
    found = jobs.lines(validator.opened(root, SILENT), Asked("transformers", "cuda"))
    assert [line[0] for line in found] == ["#", "h", "#", "d"]
    assert {len(line.splitlines()) for line in found} == {1}


@pytest.mark.parametrize("name", ["a:b", "a,b", 'a"b,c', "a b'c"])
def test_any_path_can_be_mounted(tmp_path, name):
    root = release(tmp_path / name)
    _, docker = commands(root)
    row = docker[docker.index("--mount") + 1]
    assert next(csv.reader([row])) == ["type=bind", f"source={root.resolve()}", "target=/release"]


@pytest.mark.parametrize(
    "words",
    [
        ("--runtime", "openai"),
        ("--runtime", "sm120", "--device", "cpu"),
        ("--runtime", "transformers", "--base-url", "http://x"),
        ("--base-url", "x:1"),
    ],
)
def test_options_that_do_not_go_together_are_refused(root, words):
    done = validate(root, *words)
    assert (done.code, done.only()["kind"]) == (2, "usage")


def test_a_folder_whose_bytes_are_not_those_listed_is_not_run(root):
    with (root / "model.safetensors").open("r+b") as shard:
        shard.seek(-1, 2)
        shard.write(b"\x7f")
    done = validate(root, "--runtime", "transformers", "--device", "cpu")
    assert (done.code, done.kinds) == (1, ["hash-mismatch"])


@pytest.mark.parametrize(("change", "words"), [({"schemaVersion": 2}, "this version reads 1"), ({"requests": [{"name": "a", "kind": "poem"}]}, "poem"), ({"limits": {"speed": 1}}, "no limit 'speed'"), ({"requests": [{"name": "p", "kind": "image", "messages": [{"role": "user", "content": "?"}], "images": ["../../secret"]}]}, "secret")])  # fmt: skip
def test_a_suite_that_is_not_understood_is_refused(root, change, words):
    document = json.loads((root / suites.FILE).read_bytes()) | change
    tiny.write(root, {suites.FILE: tiny.dumps(document)})
    tiny.seal(root)
    done = validate(root, "--runtime", "transformers", "--device", "cpu")
    assert (done.code, done.kinds) == (1, ["suite-invalid"])
    assert words in done.only()["message"]


# -------------------------------------------------------------------------------------------------------- on the CPU


def test_a_run_on_the_cpu_says_so_and_has_a_file_of_its_own(tmp_path, faked):
    root = release(tmp_path / "r", {"runtime": PROMISE}, takes=("chat",))
    done = validate(root, "--runtime", "transformers", "--device", "cpu").good()
    found = report(root, CPU)
    assert (done.value["file"], found["result"], found["environment"]["device"], found["environment"]["gpus"]) == (CPU, "pass", "cpu", [])
    promise = next(c for c in found["checks"] if c["name"] == "promise")
    assert (promise["status"], promise["required"]) == ("skipped", False)
    assert report(root)["result"] == "not-run"
    assert verify(root).word == "good", verify(root).problems


def test_it_leaves_a_report_of_a_gpu_fresh(root, faked, monkeypatch):
    """It lies in the payload, whose digest it moves; what was validated is still the same."""
    with machine(h200()):
        before = validator.validate(root, Asked("transformers", "cuda")).report
    validate(root, "--runtime", "transformers", "--device", "cpu").good()
    after = report(root)
    assert after["result"] == "pass"
    assert after["subject"]["validatedDigest"] == before["subject"]["validatedDigest"]
    assert after["subject"]["payloadDigest"] == verify(root).payload_digest != before["subject"]["payloadDigest"]
    assert {**after, "subject": 0} == {**before, "subject": 0}
    assert verify(root).word == "good", verify(root).problems


def test_running_again_writes_the_same_bytes_but_for_what_was_measured(root, faked):
    for _ in range(2):
        validate(root, "--runtime", "transformers", "--device", "cpu").good()
        assert verify(root).word == "good"


def test_a_required_check_that_was_skipped_is_no_pass(tmp_path, faked):
    root = release(tmp_path / "r", takes=("chat", "video"))
    done = validate(root, "--runtime", "transformers", "--device", "cpu")
    assert (done.code, report(root, CPU)["result"]) == (3, "not-run")
    assert done.kinds == ["validation-incomplete"]


def test_what_the_publisher_does_not_require_is_shown_with_the_reason(tmp_path, faked):
    asked = {"not_required": [{"check": "request:video", "reason": "no engine at hand takes videos"}]}
    root = release(tmp_path / "r", takes=("chat", "video"), asked=asked)
    validate(root, "--runtime", "transformers", "--device", "cpu").good()
    (row,) = [c for c in report(root, CPU)["checks"] if c["name"] == "request:video"]
    assert (row["required"], row["status"]) == (False, "skipped")
    assert "no engine at hand takes videos" in row["reason"]


def test_a_signature_that_no_longer_fits_is_removed_with_a_word(root, faked):
    tiny.write(root, {tiny.SIGNATURE: b"{}"})
    with machine():
        done = validator.validate(root, Asked("transformers", "cpu"))
    assert not (root / tiny.SIGNATURE).exists()
    assert any("sign again" in note for note in done.resealed.notes)


def test_a_card_that_was_written_by_hand_is_kept_and_told(root, faked):
    tiny.write(root, {"README.md": tiny.CARD.encode()})
    tiny.seal(root)
    done = validate(root, "--runtime", "transformers", "--device", "cpu").good()
    assert (root / "README.md").read_bytes() == tiny.CARD.encode()
    assert done.kinds == ["card-differs"]


# -------------------------------------------------------------------------------- reports that are not what they seem


def test_one_changed_byte_in_a_shard_makes_the_report_stale(root):
    passed(root)
    with (root / "model.safetensors").open("r+b") as shard:
        shard.seek(-1, 2)
        shard.write(b"\x7f")
    assert {("validation-stale", "error"), ("hash-mismatch", "error")} <= kinds(root)
    tiny.seal(root)  # whoever lists the new bytes does not get rid of it
    assert ("validation-stale", "error") in kinds(root)


def test_a_changed_card_does_not(root):
    passed(root)
    tiny.write(root, {"README.md": (root / "README.md").read_bytes() + b"\nA word more.\n"})
    tiny.seal(root)
    assert kinds(root) == set()


def edited(root, change):
    found = report(root)
    change(found)
    tiny.write(root, {REPORT: tiny.dumps(found)})
    tiny.edit(root, lambda s: s["predicate"]["runDetails"].pop("byproducts", None))
    statement = json.loads((root / PROVENANCE).read_bytes())
    statement["subject"] = [tiny.subject(REPORT, tiny.dumps(found), "receipt") if s["name"] == REPORT else s for s in statement["subject"]]
    tiny.write(root, {PROVENANCE: tiny.dumps(statement)})
    return {p.kind: p for p in verify(root).problems}


def other_release(found):
    found["subject"] = {"name": "owner/other", "payloadDigest": "0" * 64}


def failed_load(found):
    next(c for c in found["checks"] if c["name"] == "load")["status"] = "fail"


def skipped_load(found):
    next(c for c in found["checks"] if c["name"] == "load")["status"] = "skipped"


def over_the_limit(found):
    next(c for c in found["checks"] if c["name"] == "canary:repetition")["measured"]["longestRun"] = 60


def newer(found):
    found["schemaVersion"] = 2


@pytest.mark.parametrize(("change", "kind", "words"), [
    (other_release, "validation-stale", "of owner/other"), (failed_load, "validation-failed", "the required check load failed"),
    (skipped_load, "validation-skipped", "load is skipped"), (over_the_limit, "validation-failed", "longestRun 60 is outside of its limit"),
    (newer, "validation-malformed", "it was not read"),
])  # fmt: skip
def test_a_report_that_is_not_what_it_seems_is_named(root, change, kind, words):
    passed(root)
    found = edited(root, change)
    assert list(found) == [kind]
    assert words in found[kind].message


def row_of(found, name):
    return next(c for c in found["checks"] if c["name"] == name)


def without(name):
    return lambda found: found.update(checks=[c for c in found["checks"] if c["name"] != name])


def changed(name, **values):
    return lambda found: row_of(found, name).update(values)


def measured(name, **values):
    return lambda found: row_of(found, name)["measured"].update(values)


@pytest.mark.parametrize(("change", "kind", "words"), [
    *((without(n), "validation-skipped", f"the check {n} is not among") for n in ("start", "load", "canary:repetition", "determinism", "memory", "soak")),
    (without("canary:entropy"), "validation-skipped", "canary:entropy is not among"),
    (changed("request:capital", status="fail", required=False), "validation-failed", "request:capital failed, which the release's suite requires"),
    (changed("request:capital", status="skipped", required=False), "validation-skipped", "the request capital of the suite is not required in it"),
    (changed("load", status="fail", required=False), "validation-failed", "load failed, which the release's suite requires"),
    (measured("request:capital", output="banana"), "validation-failed", "lacks 'Paris'"),
    (changed("determinism", measured={}), "validation-failed", "its same was not measured"),
    (lambda found: row_of(found, "canary:repetition")["measured"].pop("words"), "validation-failed", "its words was not measured"),
    (changed("start", measured={}, limit={}), "validation-failed", "nothing of it was measured"),
    (lambda found: found["subject"].update(validatedDigest="0" * 64), "validation-stale", "as what was validated of it"),
    (lambda found: found.update(schemaVersion=0), "validation-malformed", "is 0, not 1"),
])  # fmt: skip
def test_a_pass_that_validate_did_not_write_so_is_named(root, change, kind, words):
    passed(root)
    found = edited(root, change)
    assert kind in found, found
    assert words in found[kind].message


def test_a_pass_on_no_gpu_is_no_validation_of_a_promise(tmp_path):
    root = release(tmp_path / "r", {"runtime": PROMISE})
    with FakeOpenAI() as server:
        validate(root, "--base-url", server.base, found=h200()).good()
    assert kinds(root) == set()
    for gpus in ([], [{"name": "NVIDIA H200", "computeCapability": "best"}]):
        found = edited(root, lambda found, gpus=gpus: found["environment"].update(gpus=gpus))
        assert found["validation-capability"].severity == "warning"
        assert "names no GPU that it ran on" in found["validation-capability"].message


def test_a_report_in_another_file_is_read_as_strictly(root, faked):
    validate(root, "--runtime", "transformers", "--device", "cpu").good()
    for change in ({"result": "fine"}, {"subject": {}}, {"checks": None}):
        tiny.write(root, {CPU: tiny.dumps(report(root, CPU) | change)})
        tiny.seal(root)
        assert ("validation-malformed", "error") in kinds(root)


def test_a_report_edited_by_hand_is_not_the_one_that_was_sealed(root):
    passed(root)
    tiny.write(root, {REPORT: (root / REPORT).read_bytes().replace(b'"fail"', b'"pass"') + b"\n"})
    assert ("hash-mismatch", "error") in kinds(root)


@pytest.mark.parametrize("cut", [REPORT, "README.md", CPU])
def test_a_run_that_was_killed_while_it_wrote_is_mended_by_the_next(root, faked, cut):
    """Its files are whole, and provenance lists the old ones."""
    old = (root / PROVENANCE).read_bytes()
    validate(root, "--runtime", "transformers", "--device", "cpu").good()
    (root / PROVENANCE).write_bytes(old)
    assert kinds(root)
    validate(root, "--runtime", "transformers", "--device", "cpu").good()
    assert kinds(root) == set()


def test_a_folder_that_was_sealed_in_place_is_validated_and_sealed_again(tmp_path, faked):
    """Its release.yaml lies in it; sealing again keeps the report while it is about these files."""
    made = project(tmp_path, here=True)
    made.spec(weights={"format": "as-is"}, sources={}, card={"pipeline_tag": "text-generation"})
    tiny.write(made.folder, {path: data for path, data in tiny.model().items() if path not in ("README.md", tiny.VERIFIER)})
    made.run("seal", made.folder).good()
    validate(made.folder, "--runtime", "transformers", "--device", "cpu").good()
    assert verify(made.folder).word == "good", verify(made.folder).problems
    found = report(made.folder, CPU)
    made.run("seal", made.folder).good()
    assert report(made.folder, CPU) == found
    assert verify(made.folder).word == "good"


@pytest.mark.parametrize("file", [REPORT, CPU])
def test_a_report_of_a_later_form_is_named_and_not_read(root, faked, file):
    validate(root, "--runtime", "transformers", "--device", "cpu").good()
    tiny.write(root, {file: tiny.dumps(report(root, file) | {"schemaVersion": 7})})
    tiny.seal(root)
    found = [p for p in verify(root).problems if p.kind == "validation-malformed"]
    assert [(p.where.file, p.undecided) for p in found] == [(file, True)]


def test_a_request_of_the_suite_that_was_taken_out_of_a_report_is_missed(root):
    passed(root)
    found = edited(root, lambda r: r["checks"].remove(next(c for c in r["checks"] if c["name"] == "request:capital")))
    assert list(found) == ["validation-skipped"]
    assert "capital of the suite is not among its checks" in found["validation-skipped"].message


def test_a_card_of_a_pass_on_a_server_of_which_no_gpu_is_known_names_none(root):
    with FakeOpenAI() as server:
        validate(root, "--base-url", server.base).good()
    assert "All required checks passed; see" in (root / "README.md").read_text() or " on ;" not in (root / "README.md").read_text()


@pytest.mark.parametrize("writes", range(3))
def test_a_full_disk_leaves_the_release_as_it_was(root, monkeypatch, writes):
    before = tiny.files_of(root)
    real, left = workspace.write_all, iter(range(writes))

    def full(fd, view):
        if next(left, None) is None:
            real(fd, view[: len(view) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(fd, view)

    with FakeOpenAI() as server:
        with monkeypatch.context() as disk:
            disk.setattr(workspace, "write_all", full)
            done = validate(root, "--base-url", server.base)
        assert (done.code, done.only()["kind"]) == (3, "disk-fault")
        assert tiny.files_of(root) == before
        assert validate(root, "--base-url", server.base).code == 0
    assert verify(root).exit == 0
