"""verify of what lies on a Hub: without download, against a stored listing, and under the name and version that it claims."""

from __future__ import annotations

import hashlib
import json

import pytest
import tiny
from hub import Hub, python

import hubrelease
from hubrelease.errors import Exit, SpecError
from hubrelease.identity import Expected
from hubrelease.remote import place_of

PROGRAM = """
import json, sys, hubrelease
from hubrelease.errors import ReleaseError
try:
    v = hubrelease.verify(sys.argv[1])
    print(json.dumps([v.word, int(v.exit), [[p.kind, p.severity, p.where.file] for p in v.problems], v.checked]))
except ReleaseError as error:
    print(json.dumps([error.problems[0].kind, int(error.exit)]))
"""


@pytest.fixture
def hub():
    with Hub(large_bytes=2000) as made:  # the tiny weights are LFS there
        yield made


def upload(hub: Hub, root, repo: str = tiny.NAME, tag: str | None = None) -> None:
    hub.create(repo, files=tiny.files_of(root))
    if tag:
        hub.tag(repo, tag, "main")


def judge(hub: Hub, tmp_path, address: str):
    return json.loads(python(hub.env(tmp_path / "home"), PROGRAM, address))


def test_a_good_release_is_good_without_its_weights_being_downloaded(hub, tmp_path):
    upload(hub, tiny.release(tmp_path / "r"))
    word, code, problems, checked = judge(hub, tmp_path, f"hf://{tiny.NAME}@main")
    assert (word, code, problems) == ("good", 0, [])
    assert checked["files"] == len(tiny.model())
    answers = [status for method, path, status in hub.requests if method == "GET" and "model.safetensors" in path]
    assert 200 not in answers


def test_a_file_that_was_changed_after_sealing_is_found_by_the_listing_alone(hub, tmp_path):
    root = tiny.release(tmp_path / "r")
    data = bytearray((root / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (root / "model.safetensors").write_bytes(data)
    upload(hub, root)
    word, code, problems, _ = judge(hub, tmp_path, f"hf://{tiny.NAME}")
    assert (word, code) == ("bad", 1)
    assert problems == [["hash-mismatch", "error", "model.safetensors"]]


def test_a_release_under_another_name_or_tag_warns(hub, tmp_path):
    upload(hub, tiny.release(tmp_path / "r", spec={"schema": 1, "name": tiny.NAME, "version": "1.0.0"}), "somebody/copy", tag="v2.0.0")
    word, code, problems, _ = judge(hub, tmp_path, "hf://somebody/copy@v2.0.0")
    assert (word, code) == ("good", 0)
    assert problems == [["identity-mismatch", "warning", "MODEL_PROVENANCE.json"]] * 2


def test_what_does_not_exist_is_said(hub, tmp_path):
    assert judge(hub, tmp_path, "hf://nobody/nothing@main") == ["source-unreachable", 3]


@pytest.mark.parametrize("address", ["hf://", "hf://name", "hf://a/b/c", "hf://a/b@", "hf://a/ b"])
def test_an_address_that_is_none_is_a_usage_error(address):
    with pytest.raises(SpecError):
        place_of(address)


def test_tags_of_version_form_are_versions_and_branches_are_not():
    assert place_of("hf://a/b@v1.2.0").version == "1.2.0"
    assert place_of("hf://a/b@main").version is None
    assert place_of("hf://a/b").revision == "main"


# ------------------------------------------------------------------------------------------------------ stored listings


def listing(root) -> list[dict]:
    rows = []
    for path, data in tiny.files_of(root).items():
        row = {"type": "file", "path": path, "size": len(data), "oid": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()}
        if path.endswith(".safetensors"):
            row["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
        rows.append(row)
    return rows


@pytest.fixture
def root(tmp_path):
    return tiny.release(tmp_path / "r")


def problems_with(root, tmp_path, rows) -> list[tuple[str, str, str]]:
    file = tmp_path / "tree.json"
    file.write_text(json.dumps(rows))
    return [(p.kind, p.severity, p.where.file) for p in hubrelease.verify(root, remote_tree=file).problems]


def test_a_whole_listing_is_good(root, tmp_path):
    assert problems_with(root, tmp_path, listing(root)) == []


@pytest.mark.parametrize("path", ["model.safetensors", "config.json", "README.md", "MODEL_PROVENANCE.json"])
def test_each_file_that_is_missing_or_differs_is_named(root, tmp_path, path):
    rows = listing(root)
    assert problems_with(root, tmp_path, [r for r in rows if r["path"] != path]) == [("partial-upload", "error", path)]
    for row in rows:
        if row["path"] == path:
            row["oid"] = "0" * 40
            row.get("lfs", {})["oid"] = "0" * 64
    assert problems_with(root, tmp_path, rows) == [("partial-upload", "error", path)]


def test_what_the_remote_has_besides_is_a_warning(root, tmp_path):
    rows = [
        *listing(root),
        {"type": "file", "path": "old.bin", "size": 1, "oid": "0" * 40},
        {"type": "file", "path": ".gitattributes", "size": 1, "oid": "1" * 40},
    ]
    assert problems_with(root, tmp_path, rows) == [("remote-extra", "warning", "old.bin")]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"type": "file"}]', "NaN", "[" * 100000])
def test_a_listing_that_is_none_is_said(root, tmp_path, text):
    file = tmp_path / "tree.json"
    file.write_text(text)
    if text == "{}":
        assert {p.kind for p in hubrelease.verify(root, remote_tree=file).problems} == {"partial-upload"}
        return
    with pytest.raises(hubrelease.errors.OutsideError):
        hubrelease.verify(root, remote_tree=file)


# --------------------------------------------------------------------------------------------------------- expectations


def test_what_the_reader_expects_must_be_met(tmp_path):
    root = tiny.release(tmp_path / "r", spec={"schema": 1, "name": tiny.NAME, "version": "1.0.0"})
    digest = hubrelease.verify(root).release_digest
    assert hubrelease.verify(root, expected=Expected(tiny.NAME, "1.0.0", digest)).exit == Exit.GOOD
    for wrong in (Expected(name="a/b"), Expected(version="2.0.0"), Expected(digest="0" * 64)):
        assert hubrelease.verify(root, expected=wrong).exit == Exit.SIGNATURE
