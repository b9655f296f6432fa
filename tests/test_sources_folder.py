"""A folder as a source: pinned by the digest of its tree, read without following links, named without naming the machine."""

import hashlib
import os
import shutil
import socket
from pathlib import Path

import pytest
import tiny
import tiny_upstream
from project import Project, project, tree
from verifying import as_nobody, public_folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.write(tmp_path / "model", tiny_upstream.base())


@pytest.fixture
def author(tmp_path: Path, model: Path) -> Project:
    return project(tmp_path, here=True).sources(base_model={"folder": "../model", "license": "apache-2.0"})


def digest_of(files: dict[str, bytes]) -> str:
    """The tree digest as the lock's schema words it."""
    rows = [f"{hashlib.sha256(data).hexdigest()}  {len(data)}  {path}\n" for path, data in files.items()]
    return hashlib.sha256("".join(sorted(rows, key=lambda row: row[66:].split("  ")[1].encode())).encode()).hexdigest()


def test_a_folder_is_pinned_by_the_digest_of_its_tree(author: Project) -> None:
    author.pin().good()
    locked = author.locked()
    assert locked["dirHash"] == digest_of(tiny_upstream.base())
    assert [file["path"] for file in locked["files"]] == sorted(tiny_upstream.base())


def test_a_release_of_a_folder_names_it_by_its_relative_path(author: Project, tmp_path: Path) -> None:
    author.build().good()
    author.run("verify", author.out).good()
    assert all(str(tmp_path).encode() not in data for data in tree(author.out).values())
    assert b'"file:../model"' in (author.out / "MODEL_PROVENANCE.json").read_bytes()


def test_path_and_files_choose_and_the_rest_is_listed(author: Project, model: Path) -> None:
    tiny.write(model / "extra", {"a.txt": b"a", "deep/b.txt": b"b", "c.bin": b"c"})
    author.sources(extra={"folder": "../model", "path": "extra", "files": ["**/*.txt"]}).pin().good()
    locked = author.locked("extra")
    assert [file["path"] for file in locked["files"]] == ["a.txt", "deep/b.txt"]
    assert locked["others"] == ["c.bin"]


@pytest.mark.parametrize("name", ["config.json", tiny_upstream.SHARDS[0]])
def test_one_changed_byte_stops_the_build_until_it_is_pinned_again(author: Project, model: Path, name: str) -> None:
    author.build().good()
    before = tree(author.out)
    data = (model / name).read_bytes()
    (model / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if name != "config.json" else data.replace(b"128", b"256"))
    refused = author.build("--locked")
    assert (refused.code, refused.only()["kind"]) == (1, "source-changed")
    assert refused.only()["file"] == f"base_model:{name}"
    assert "hubrelease pin --update base_model" in refused.only()["mend"]
    assert tree(author.out) == before
    assert [row["name"] for row in author.pin("--outdated").good().value["outdated"]] == ["base_model"]
    author.pin("--update", "base_model").good()
    author.build("--locked").good()
    assert (author.out / name).read_bytes() == (model / name).read_bytes()


def test_a_file_that_came_later_is_not_in_the_release(author: Project, model: Path) -> None:
    author.pin().good()
    (model / "later.txt").write_bytes(b"later")
    author.build("--locked").good()
    assert not (author.out / "later.txt").exists()


def test_a_file_that_went_is_named(author: Project, model: Path) -> None:
    author.pin().good()
    (model / "chat_template.jinja").unlink()
    refused = author.build()
    assert refused.code == 3
    assert "chat_template.jinja" in refused.only()["file"]
    assert "pin --update base_model" in refused.only()["mend"]


def test_a_folder_that_vanished_is_one_clear_problem(author: Project, model: Path) -> None:
    author.pin().good()
    shutil.rmtree(model)
    for ended in (author.build(), author.pin("--update", "base_model"), author.pin("--outdated")):
        assert (ended.code, ended.only()["kind"]) == (3, "source-unreachable")
        assert "../model" in ended.only()["message"]
    author.lock_file.unlink()
    assert author.pin().code == 3


@pytest.mark.parametrize("kind", ["to a file", "to a folder", "dangling", "inside"])
def test_a_link_is_refused(author: Project, model: Path, tmp_path: Path, kind: str) -> None:
    tiny.write(tmp_path / "outside", {"secret.json": b"{}\n"})
    targets = {"to a file": "outside/secret.json", "to a folder": "outside", "dangling": "nowhere", "inside": "model/config.json"}
    (model / "link.json").symlink_to(tmp_path / targets[kind])
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (1, "path-invalid")
    assert refused.only()["file"].endswith("/link.json")
    assert not author.lock_file.exists()


def test_a_link_put_in_place_of_a_pinned_file_is_not_followed(author: Project, model: Path) -> None:
    author.pin().good()
    (model / "config.json").rename(model.parent / "moved.json")
    (model / "config.json").symlink_to(model.parent / "moved.json")
    refused = author.build()
    assert refused.code in (1, 3)
    assert "config.json" in refused.only()["file"]


@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_what_is_no_file_is_refused_and_not_waited_for(author: Project, model: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "fifo":
        os.mkfifo(model / "pipe")
    else:
        monkeypatch.chdir(model)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("pipe")
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (1, "path-invalid")


def test_litter_and_download_caches_are_no_part_of_a_folder(author: Project, model: Path) -> None:
    litter = {
        ".cache/huggingface/.gitignore": b"*", ".cache/huggingface/download/config.json.metadata": b"x",
        ".cache/huggingface/download/model.safetensors.incomplete": b"x", ".DS_Store": b"x", "._config.json": b"\0\5\x16\7", "config.json~": b"x",
        ".config.json.swp": b"x", "a.tmp": b"x", ".gitattributes": b"x", ".git/config": b"x",
    }  # fmt: skip
    tiny.write(model, litter)
    author.pin().good()
    assert author.locked()["dirHash"] == digest_of(tiny_upstream.base())
    assert "others" not in author.locked()


@pytest.mark.parametrize("folder", ["/srv/model", "~/model", "C:/model", "\\\\host\\model"])
def test_a_path_that_names_the_machine_is_a_spec_error(author: Project, folder: str) -> None:
    refused = author.sources(base_model={"folder": folder}).pin()
    assert refused.code == 2
    assert refused.only()["line"]


def test_a_folder_is_relative_to_release_yaml_wherever_the_command_runs(
    author: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.write(author.folder / "inner", {"a.txt": b"a"})
    author.sources(base_model={"folder": "../model"}, inner={"folder": "inner"})
    monkeypatch.chdir("/")
    author.pin().good()
    first = author.lock_file.read_bytes()
    author.lock_file.unlink()
    monkeypatch.chdir(author.folder)
    author.run("pin", ".").good()
    assert author.lock_file.read_bytes() == first


def test_the_hub_cache_s_own_links_are_followed_and_no_others(author: Project, tmp_path: Path) -> None:
    cache = tmp_path / "hf" / "hub" / "models--upstream--tiny"
    snapshot = cache / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (cache / "blobs").mkdir()
    for path, data in tiny_upstream.base().items():
        if "/" not in path:
            name = hashlib.sha256(data).hexdigest()
            (cache / "blobs" / name).write_bytes(data)
            (snapshot / path).symlink_to(f"../../blobs/{name}")
    author.sources(base_model={"folder": f"../{snapshot.relative_to(tmp_path)}"}).build().good()
    author.run("verify", author.out).good()
    assert not any(path.is_symlink() for path in author.out.rglob("*"))
    tiny.write(tmp_path, {"outside.json": b"{}\n"})
    (snapshot / "extra.json").symlink_to("../../../../../outside.json")
    refused = author.pin("--update", "base_model")
    assert (refused.code, refused.only()["kind"]) == (1, "path-invalid")


def test_names_that_no_release_can_hold_are_refused(author: Project, model: Path) -> None:
    with open(os.fsencode(model) + b"/\xff.txt", "wb") as file:
        file.write(b"x")
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (1, "path-invalid")
    author.sources(base_model={"folder": "../model", "files": ["*.json"]}).pin().good()
    assert author.run("check", author.folder).code in (0, 1)


def test_an_unreadable_file_is_named() -> None:
    with public_folder() as public:
        model = tiny.write(public / "model", tiny_upstream.base())
        author = project(public, here=True).sources(base_model={"folder": "../model"})
        (model / "config.json").chmod(0)
        with as_nobody():
            refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (3, "source-unreachable")
    assert "config.json" in refused.only()["file"]
