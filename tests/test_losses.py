"""Nothing of the base is lost, and no licence changes, without a stated reason."""

from pathlib import Path
from typing import Any

import pytest
import tiny
import tiny_upstream
from project import Project, project, tree

BASE = {"folder": "../base", "license": "apache-2.0"}
REASON = "This release has no use for it."


@pytest.fixture
def author(tmp_path: Path) -> Project:
    tiny.write(tmp_path / "base", tiny_upstream.base())
    return project(tmp_path, here=True).sources(base_model=BASE)


def refused(author: Project, kind: str, *says: str) -> None:
    """`check` says it without a build, and `build` refuses; each with one problem."""
    author.pin().good()
    for ended in (author.run("check", author.folder), author.build()):
        assert ended.code == 1, ended.said
        assert ended.only()["kind"] == kind
        assert ended.only()["line"]
        for words in says:
            assert words in ended.only()["message"]
    assert not author.out.exists()


def test_a_file_that_files_leaves_out_needs_a_reason(author: Project) -> None:
    source = {**BASE, "files": ["*.json", "*.safetensors", "LICENSE", "docs/**"]}
    refused(author.sources(base_model=source), "omission-undeclared", "chat_template.jinja")
    author.spec(sources={"base_model": source}, side_files={"omit": [{"path": "*.jinja", "reason": REASON}]}).pin().good()
    author.build().good()
    assert "chat_template.jinja" not in tree(author.out)
    assert REASON in (author.out / "README.md").read_text()


def test_a_file_that_was_pinned_can_be_left_out_with_a_reason(author: Project) -> None:
    author.spec(sources={"base_model": BASE}, side_files={"omit": [{"path": "generation_config.json", "reason": REASON}]}).build().good()
    assert "generation_config.json" not in tree(author.out)


def test_an_omission_that_fits_nothing_is_refused(author: Project) -> None:
    author.spec(sources={"base_model": BASE}, side_files={"omit": [{"path": "*.onnx", "reason": REASON}]})
    refused(author, "omission-undeclared", '"*.onnx" fits no file')


def test_an_omission_needs_a_reason(author: Project) -> None:
    for omission in ({"path": "*.jinja"}, {"path": "*.jinja", "reason": ""}, {"path": "*.jinja", "reason": "unused"}):
        assert author.spec(sources={"base_model": BASE}, side_files={"omit": [omission]}).build().code == 2


def test_a_shard_can_be_left_out_only_by_name(author: Project, tmp_path: Path) -> None:
    (tmp_path / "base" / "consolidated.safetensors").write_bytes(tiny_upstream.shard({"w": (2, 2)}))
    source = {**BASE, "files": ["model*", "*config.json", "tokenizer.json", "*.jinja", "LICENSE", "README.md", "docs/**"]}
    refused(author.sources(base_model=source), "omission-undeclared", "consolidated.safetensors")


def test_another_licence_needs_a_reason(author: Project) -> None:
    refused(author.spec(sources={"base_model": BASE}, license="mit"), "license-undeclared", "apache-2.0", "mit")
    author.spec(sources={"base_model": BASE}, license="mit", license_reason=REASON).build().good()
    assert REASON in (author.out / "README.md").read_text()
    author.spec(sources={"base_model": BASE}, license="mit", license_reason="no")
    assert author.build().code == 2


def test_the_licence_text_travels_unchanged(author: Project) -> None:
    author.build().good()
    assert (author.out / "LICENSE").read_bytes() == tiny_upstream.base()["LICENSE"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "ships no licence text"),
        ({"license_text": "none.txt"}, "does not exist"),
        ({"license_text": "../base/config.json"}, "leaves the folder"),
        ({"license": "mit", "license_reason": REASON, "license_text": "canonical"}, "no canonical text of mit"),
    ],
)
def test_a_base_without_a_licence_text_needs_one(author: Project, tmp_path: Path, more: dict[str, Any], says: str) -> None:
    (tmp_path / "base" / "LICENSE").unlink()
    author.spec(sources={"base_model": BASE}, **more).pin().good()
    for ended in (author.run("check", author.folder), author.build()):
        assert ended.code == 1
        assert says in ended.only()["message"]


def test_a_text_of_the_author_s_own_and_a_notice_after_the_base_s(author: Project, tmp_path: Path) -> None:
    tiny.write(tmp_path / "base", {"NOTICE": b"The base's notice.\n"})
    tiny.write(author.folder, {"LICENCE.txt": b"My own text.\n", "notice.txt": b"My notice."})
    author.spec(sources={"base_model": BASE}, license_text="LICENCE.txt", notice="notice.txt").build().good()
    assert (author.out / "LICENSE").read_bytes() == b"My own text.\n"
    assert (author.out / "NOTICE").read_bytes() == b"The base's notice.\n\nMy notice.\n"


def test_the_canonical_text(author: Project, tmp_path: Path) -> None:
    (tmp_path / "base" / "LICENSE").unlink()
    author.spec(sources={"base_model": BASE}, license_text="canonical").build().good()
    assert b"Version 2.0, January 2004" in (author.out / "LICENSE").read_bytes()


def test_what_only_speaks_of_the_base_stays_with_the_base(author: Project, tmp_path: Path) -> None:
    own = {
        "MODEL_PROVENANCE.json": b"{}",
        "benchmarks/old.json": b"{}",
        ".eval_results/old.yaml": b"a: 1\n",
        "SHA256SUMS": b"x",
        ".gitignore": b"x",
    }
    tiny.write(tmp_path / "base", own)
    author.build().good()
    built = tree(author.out)
    assert built["README.md"] != tiny_upstream.CARD
    assert not own.keys() & (built.keys() - {"MODEL_PROVENANCE.json"})


def test_a_release_is_a_good_base_of_another_release(author: Project, tmp_path: Path) -> None:
    """A release holds a verifier, a card and receipts of its own, as the next one will."""
    author.build(out=tmp_path / "first").good()
    author.sources(base_model={**BASE, "folder": "../first"}).pin().good()
    author.build().good()
    author.run("verify", author.out).good()
