"""Receipts of fidelity: their form, what they count, and what is said where a model or a package is missing. No model runs here."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess

import models_env
import parity
import pytest
import tiny
from jsonschema import Draft202012Validator
from project import project
from specs import LOCAL

from hubrelease import fidelity, greedy_answers, resources
from hubrelease.benchmarks.fidelity import ADAPTER
from hubrelease.digest import sha256
from hubrelease.errors import CheckFailed, OutsideError, SpecError
from hubrelease.fidelity import Piece, Scores, Text

TEXT = Text("a.txt", b"one two three\n")
BEFORE, AFTER = Scores(math.log(4) * 4, (1, 2, 3, 4), "transformers"), Scores(math.log(5) * 4, (1, 2, 9, 4), "compressed-tensors")


@pytest.fixture
def made(tmp_path):
    base = tiny.write(tmp_path / "base", {"config.json": b"{}"})
    manifest = {"format": "w4a16", "tensors": [], "totals": {"bitsPerParameter": 4.5, "quantizedShare": 0.9, "parameters": 7}}
    release = tiny.write(tmp_path / "out", {"config.json": b"{}\n", "conversion_manifest.json": json.dumps(manifest).encode()})
    return fidelity.receipt(base, release, TEXT, (BEFORE, AFTER), "cpu", 512)


def test_a_receipt_fits_its_schema(made):
    assert list(Draft202012Validator(resources.schema("fidelity")).iter_errors(made)) == []


def test_perplexity_is_the_exponent_of_the_mean_loss_and_agreement_is_counted(made):
    assert made["perplexity"] == {"reference": 4.0, "candidate": 5.0}
    assert made["top1Agreement"] == {"agreed": 3, "total": 4, "share": 0.75}
    assert made["text"] == {"name": "a.txt", "sha256": TEXT.sha256, "tokens": 4}
    assert (made["format"], made["bitsPerParameter"], made["quantizedShare"]) == ("w4a16", 4.5, 0.9)
    assert made["reader"] == "compressed-tensors"


def test_the_adapter_of_cards_reads_it(made):
    (found,) = ADAPTER.read("fidelity.json", made)
    assert {m.value for m in found.metrics} >= {4.0, 5.0, 0.75}


def test_a_release_is_named_by_its_provenance_and_its_payload(tmp_path):
    root = tiny.release(tmp_path / "r")
    assert fidelity.subject(root)["name"] == tiny.NAME
    before = fidelity.subject(root)["digest"]
    (root / "README.md").write_text("another card\n")
    assert fidelity.subject(root)["digest"] == before
    (root / "config.json").write_text("{}")
    assert fidelity.subject(root)["digest"] != before


@pytest.mark.parametrize(("count", "size", "pieces"), [(10, 4, [4, 4, 2]), (9, 4, [4, 4]), (4, 4, [4]), (1, 4, []), (3, 512, [3])])
def test_windows_do_not_overlap_and_a_single_token_predicts_nothing(count, size, pieces):
    found = fidelity.windows(range(count), size)
    assert [len(piece.ids) for piece in found] == pieces
    assert [n for piece in found for n in piece.ids] == list(range(sum(pieces)))
    assert {piece.start for piece in found} <= {1}


def test_models_of_other_vocabularies_are_not_compared():
    fidelity.in_vocabulary(10, [Piece([0, 9])])
    with pytest.raises(CheckFailed, match=r"10 embeddings.*token 10"):
        fidelity.in_vocabulary(10, [Piece([0, 1]), Piece([10, 2])])


def test_a_package_that_is_missing_is_named_with_its_mend(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "transformers" else object())
    with pytest.raises(OutsideError) as caught:
        fidelity.require("cpu")
    (found,) = caught.value.problems
    assert "transformers" in found.message
    assert "pip install" in found.mend


def test_a_folder_that_is_no_model_is_no_question_to_the_hub(tmp_path):
    with pytest.raises(CheckFailed) as caught:
        fidelity.method_of(tmp_path / "gone")
    assert "config.json" in str(caught.value.problems[0].where)


def test_a_text_that_is_not_there(tmp_path):
    with pytest.raises(OutsideError):
        fidelity.text_of(tmp_path / "gone.txt")


@pytest.mark.parametrize(
    ("config", "method"), [({}, "none"), ({"quantization_config": {"quant_method": "fp8"}}, "fp8"), ({"quantization_config": {}}, "")]
)
def test_who_reads_a_model_is_told_by_its_config(config, method, tmp_path):
    assert fidelity.method_of(tiny.write(tmp_path, {"config.json": json.dumps(config).encode()})) == method


# ---------------------------------------------------------------------------------------------- the reference's own answers

PIECES = [Piece([5, 6, 7, 8], 2), Piece([1, 9], 1)]


def test_a_receipt_over_answers_says_how_many_prompts_and_which_answers(tmp_path):
    base = tiny.write(tmp_path / "base", {"config.json": b"{}"})
    answers = greedy_answers.answers_of(PIECES, 16)
    made = fidelity.receipt(base, base, Text("p.jsonl", b"x"), (BEFORE, AFTER), "cpu", None, answers=answers)
    assert list(Draft202012Validator(resources.schema("fidelity")).iter_errors(made)) == []
    assert made["answers"] == {"prompts": 2, "maxTokens": 16, "sha256": sha256(b"[[7,8],[9]]")}
    assert "window" not in made
    assert "the reference's answers to 2 prompts in p.jsonl" in next(fidelity.summary(made))
    (found,) = ADAPTER.read("fidelity.json", made)
    assert dict(found.conditions)["text"] == "p.jsonl, the reference's greedy answers to 2 prompts, 4 tokens"


@pytest.mark.parametrize(("line", "words"), [
    (b'{"prompt": ""}', "prompt is no text"), (b'{"prompt": 5}', "prompt is no text"), (b"{}", "neither prompt nor messages"), (b"[]", "no JSON object"),
    (b'{"prompt": "a", "messages": []}', "both prompt and messages"), (b'{"messages": [{"role": "user"}]}', "no list of objects"),
    (b'{"messages": []}', "no list of objects"), (b'{"prompt": "\\ud800"}', "half a surrogate pair"), (b'{"prompt": "\xff"}', "not UTF-8"),
    (b'{"prompt": "a", "prompt": "b"}', "twice"), (b"", "is empty"), (b'{"prompt": "' + b"a" * 2**20 + b'"}', "longer than"), (b"[" * 90_000, "nested too deeply"),
])  # fmt: skip
def test_a_line_that_is_no_prompt_is_told_with_its_number(tmp_path, line, words):
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'{"prompt": "a"}\n' + line + b"\n")
    with pytest.raises(SpecError) as caught:
        greedy_answers.prompts_of(path)
    (found,) = caught.value.problems
    assert found.where.line == 2
    assert words in found.message


def test_prompts_of_both_kinds_are_read_and_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'{"prompt": "a"}\n{"messages": [{"role": "user", "content": "b"}], "id": 7}\n')
    assert len(greedy_answers.prompts_of(path)) == 2
    path.write_bytes(b"")
    with pytest.raises(SpecError, match="no prompt"):
        greedy_answers.prompts_of(path)


@pytest.mark.parametrize(
    "words", [[], ["--text", "a", "--prompts", "b"], ["--prompts", "b", "--window", "9"], ["--text", "a", "--answer-tokens", "9"]]
)
def test_a_text_or_prompts_and_what_belongs_to_them(tmp_path, cli, words):
    said = cli("bench", "fidelity", tmp_path, "--reference", tmp_path, *words)
    assert said.code == 2


@pytest.mark.heavy
def test_smollm2_in_another_format_is_scored_on_what_smollm2_in_bf16_answers(tmp_path):
    """On the CPU, and the same answers each time: their digest does not change. Against itself everything agrees."""
    base, python = models_env.checkpoint("smollm2"), parity.environment(models_env.ENVIRONMENT)
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(
        '{"messages": [{"role": "user", "content": "What is the capital of France?"}]}\n{"prompt": "The capital of Italy is"}\n'
    )
    made = project(tmp_path, here=True)
    made.spec(**{**LOCAL, "weights": {"format": "fp8_dynamic"}})
    shutil.copytree(base, made.folder / "base")
    made.build().good()
    found = [bench(python, folder, base, prompts) for folder in (made.out, base)]
    assert found[0]["answers"] == found[1]["answers"]
    assert (found[0]["answers"]["prompts"], found[0]["text"]["tokens"] <= 48) == (2, True)
    assert found[1]["top1Agreement"]["share"] == 1.0
    assert found[1]["perplexity"]["candidate"] == found[1]["perplexity"]["reference"]
    assert 0.8 < found[0]["top1Agreement"]["share"] <= 1.0
    assert found[0]["perplexity"]["candidate"] != found[0]["perplexity"]["reference"]
    assert list(Draft202012Validator(resources.schema("fidelity")).iter_errors(found[0])) == []


def bench(python, candidate, reference, prompts):
    env = {**os.environ, "PYTHONPATH": str(models_env.SOURCE), "HF_HUB_OFFLINE": "1"}
    command = [
        python,
        "-m",
        "hubrelease",
        "bench",
        "fidelity",
        candidate,
        "--reference",
        reference,
        "--prompts",
        prompts,
        "--answer-tokens",
        "24",
    ]
    done = subprocess.run([*map(str, command), "--json"], capture_output=True, text=True, check=False, env=env, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["receipt"]
