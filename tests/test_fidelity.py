"""Receipts of fidelity: their form, what they count, and what is said where a model or a package is missing. No model runs here."""

from __future__ import annotations

import json
import math

import pytest
import tiny
from jsonschema import Draft202012Validator

from hubrelease import fidelity, resources
from hubrelease.benchmarks.fidelity import ADAPTER
from hubrelease.errors import CheckFailed, OutsideError
from hubrelease.fidelity import Scores, Text

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
    found = list(fidelity.windows(range(count), size))
    assert [len(piece) for piece in found] == pieces
    assert [n for piece in found for n in piece] == list(range(sum(pieces)))


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
