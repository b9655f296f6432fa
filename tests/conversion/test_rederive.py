"""verify --rederive against a base on a Hub: honest releases are good, and whoever changes a tensor is told which, whatever else fits."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import tiny
from hub import Hub
from project import Project, project

from hubrelease import verify_release
from hubrelease.weights import header_length, parse_header

pytestmark = pytest.mark.heavy  # a process for each command, as on any Hub
BASE = "example-org/tiny-base"
AT = "model.layers.0."
QUANTISED = [f"{AT}mlp.{word}_proj.weight" for word in ("gate", "up", "down")]


def tensors() -> dict[str, tiny.Tensor]:
    found = {name: tiny.bf16(name, 128, 128) for name in QUANTISED}
    return {**found, "model.norm.weight": tiny.bf16("n", 128), "model.embed_tokens.weight": tiny.bf16("e", 16, 128)}


@pytest.fixture(scope="module")
def hub():
    with Hub(large_bytes=2000) as made:
        config = tiny.dumps({"architectures": ["ExampleModel"], "model_type": "example", "dtype": "bfloat16"})
        shards = {"a": dict(list(tensors().items())[:2]), "b": dict(list(tensors().items())[2:])}  # gate and up apart from down
        names = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
        where = {name: names[key] for key, found in shards.items() for name in found}
        files = {names[key]: tiny.safetensors(found) for key, found in shards.items()}
        index = tiny.dumps({"metadata": {}, "weight_map": where})
        made.create(BASE, files={**files, "config.json": config, "model.safetensors.index.json": index})
        yield made


@pytest.fixture(scope="module", params=["fp8_block", "nvfp4a16"])
def author(request, hub, tmp_path_factory) -> Project:
    """A release that was built from the Hub."""
    home = tmp_path_factory.mktemp(request.param)
    made = project(home, hub.env(home / "home"))
    made.spec(sources={"base_model": {"hf": BASE}}, weights={"format": request.param}, license_text="canonical")
    made.pin().good()
    made.build().good()
    return made


def rederive(author: Project, folder: Path, *options: str):
    return author.run("verify", folder, "--rederive", *options)


def test_an_honest_release_is_derived_again_whole(author):
    said = rederive(author, author.out, "--all").good()
    assert sorted(said.value["rederived"]) == sorted(tensors())


def test_only_what_is_needed_is_fetched(author, hub):
    """One weight: ranges of its shard (and of a sibling's where they share a scale), never a whole file."""
    hub.requests.clear()
    said = rederive(author, author.out, "--tensor", QUANTISED[2]).good()
    assert said.value["rederived"] == [QUANTISED[2]]
    gets = [status for method, path, status in hub.requests if method == "GET" and "safetensors" in path]
    assert gets
    assert 200 not in gets


def test_a_sample_says_how_many(author):
    assert len(rederive(author, author.out, "--sample", "2").good().value["rederived"]) == 2


def test_a_name_that_fits_nothing_is_no_success(author):
    said = rederive(author, author.out, "--tensor", "model.nothing")
    assert said.code == 1
    assert said.kinds == ["rederive-impossible"]


def test_a_base_that_can_not_be_reached_is_undecided(author):
    assert rederive(author, author.out, "--all").code == 0
    said = author.run("verify", author.out, "--rederive", "--all", HF_HUB_OFFLINE="1")
    assert said.code == 3


def forged(author: Project, tmp_path: Path, tensor: str) -> Path:
    """A copy with the last byte of `tensor` changed and every digest made to fit: manifest, provenance, its own sums."""
    root = tmp_path / "forged"
    shutil.copytree(author.out, root)
    for shard in root.glob("*.safetensors"):
        data = bytearray(shard.read_bytes())
        length = header_length(data[:8], len(data))
        header, _ = parse_header(bytes(data[8 : 8 + length]), len(data))
        for found in header.tensors:
            if found.name == tensor:
                start = header.data_start + found.begin
                data[start + found.size - 1] ^= 1
                shard.write_bytes(data)
                restate(root, tensor, hashlib.sha256(data[start : start + found.size]).hexdigest())
                return root
    raise AssertionError(tensor)


def restate(root: Path, tensor: str, sha256: str) -> None:
    path = root / "conversion_manifest.json"
    manifest = json.loads(path.read_bytes())
    for row in manifest["tensors"]:
        if row["name"] == tensor:
            row["sha256"] = sha256
            if row["relation"] == "identical":
                row["source"]["sha256"] = sha256
    path.write_text(json.dumps(manifest))
    refit(root)


def refit(root: Path) -> None:
    """Provenance and validation report made to fit the files, as a careful forger would."""
    report = root / "benchmarks" / "release-validation.json"

    def fit(statement) -> None:
        for subject in statement["subject"]:
            data = (root / subject["name"]).read_bytes()
            subject["digest"]["sha256"] = hashlib.sha256(data).hexdigest()
            subject["annotations"]["sizeBytes"] = len(data)
        for product in statement["predicate"]["runDetails"]["byproducts"]:
            product["digest"]["sha256"] = hashlib.sha256((root / product["name"]).read_bytes()).hexdigest()

    tiny.edit(root, fit)
    subjects = verify_release.parse_provenance((root / tiny.PROVENANCE).read_bytes()).subjects
    value = json.loads(report.read_bytes())
    value["subject"]["payloadDigest"] = verify_release.payload_digest(subjects)
    report.write_text(json.dumps(value))
    tiny.edit(root, fit)


def test_one_changed_code_is_named_although_all_hashes_fit(author, tmp_path):
    suffix = ".weight_packed" if (author.document["weights"]["format"]) == "nvfp4a16" else ".weight"
    name = QUANTISED[1].removesuffix(".weight") + suffix
    root = forged(author, tmp_path, name)
    assert author.run("verify", root).good().problems == []  # nothing else can tell
    said = rederive(author, root, "--all")
    assert said.code == 1
    assert [(p["kind"], p["tensor"]) for p in said.problems] == [("rederive-differs", name)]


def test_a_changed_norm_that_is_said_to_be_identical_is_named(author, tmp_path):
    root = forged(author, tmp_path, "model.norm.weight")
    said = rederive(author, root, "--all")
    assert said.code == 1
    assert {p["tensor"] for p in said.problems} == {"model.norm.weight"}


def test_a_tensor_of_the_base_that_the_manifest_is_silent_about_is_named(author, tmp_path):
    root = tmp_path / "silent"
    shutil.copytree(author.out, root)
    manifest = json.loads((root / "conversion_manifest.json").read_bytes())
    manifest["tensors"] = [row for row in manifest["tensors"] if row["source"]["tensor"] != "model.norm.weight"]
    (root / "conversion_manifest.json").write_text(json.dumps(manifest))
    refit(root)
    said = rederive(author, root, "--all")
    assert "model.norm.weight" in {p["tensor"] for p in said.problems if p["kind"] == "rederive-differs"}
