"""`pin` against a Hub: a branch becomes a commit and digests once, and stays so until it is named."""

import hashlib
import json
import re
from pathlib import Path

import pytest
import tiny_upstream
from hub import Hub
from project import UPSTREAM, Project, project


def test_a_lock_holds_the_commit_and_the_digest_of_every_wanted_file(hub: Hub, author: Project) -> None:
    hub.page_size = 3
    hub.commit(UPSTREAM, {"empty.json": b""})
    author.sources(base_model={"hf": UPSTREAM, "files": ["*.safetensors", "*.json", "LICENSE"]}).pin().good()
    locked = author.locked()
    assert locked["gitCommit"] == hub.head(UPSTREAM)
    assert re.fullmatch("[0-9a-f]{40}", locked["gitCommit"])
    everything = {path: hub.read(UPSTREAM, path) for path in hub.paths(UPSTREAM)}
    wanted = {path: data for path, data in everything.items() if path.endswith((".safetensors", ".json", "LICENSE"))}
    rows = [{"path": p, "sha256": hashlib.sha256(d).hexdigest(), "sizeBytes": len(d)} for p, d in sorted(wanted.items())]
    assert locked["files"] == rows
    assert locked["others"] == sorted(everything.keys() - wanted.keys())
    assert locked["license"] == "apache-2.0"


def test_large_files_are_pinned_from_the_listing_alone(hub: Hub, author: Project) -> None:
    author.pin().good()
    fetched = {path.partition(hub.head(UPSTREAM) + "/")[2] for _, path, _ in hub.requests if "/resolve/" in path or "/objects/" in path}
    small = {path for path, data in tiny_upstream.base().items() if not path.endswith(".safetensors") and len(data) <= hub.large_bytes}
    assert fetched == small | {".gitattributes"}


def test_pinning_twice_gives_the_same_bytes_and_asks_nobody(hub: Hub, author: Project) -> None:
    author.pin().good()
    first, asked = author.lock_file.read_bytes(), len(hub.requests)
    again = author.near.pin().good()
    assert author.lock_file.read_bytes() == first
    assert again.value["changes"] == []
    assert len(hub.requests) == asked


def test_the_same_pin_in_another_place_gives_the_same_bytes(hub: Hub, author: Project, tmp_path: Path) -> None:
    author.pin().good()
    other = project(tmp_path / "other", hub.env(tmp_path / "other home"))
    other.pin().good()
    assert other.lock_file.read_bytes() == author.lock_file.read_bytes()


def test_what_upstream_moves_is_listed_and_taken_only_when_named(hub: Hub, author: Project) -> None:
    author.pin().good()
    first, before = author.lock_file.read_bytes(), hub.head(UPSTREAM)
    now = hub.commit(UPSTREAM, {"config.json": b"{}\n"})
    moved = [{"name": "base_model", "before": before, "after": now}]

    author.near.pin().good()
    assert author.lock_file.read_bytes() == first

    assert author.pin("--outdated").good().value["outdated"] == moved
    assert author.lock_file.read_bytes() == first

    assert author.pin("--update", "base_model").good().value["changes"] == moved
    assert author.locked()["gitCommit"] == now
    assert author.pin("--outdated").good().value["outdated"] == []


def test_an_update_moves_nothing_that_was_not_named(hub: Hub, author: Project) -> None:
    hub.create("upstream/other", {"config.json": b"{}\n"})
    author.sources(base_model={"hf": UPSTREAM}, other={"hf": "upstream/other"}).pin().good()
    held = author.locked("other")
    hub.commit("upstream/other", {"config.json": b"[]\n"})
    hub.commit(UPSTREAM, {"config.json": b"[]\n"})
    author.pin("--update", "base_model").good()
    assert author.locked("other") == held
    assert author.locked()["gitCommit"] == hub.head(UPSTREAM)


def test_an_update_of_an_unknown_name_is_a_usage_error(author: Project) -> None:
    refused = author.near.pin("--update", "base-model")
    assert refused.code == 2
    assert refused.only()["kind"] == "source-unknown"
    assert "base_model" in refused.only()["mend"]
    assert not author.lock_file.exists()


def test_listing_what_is_outdated_and_updating_it_are_two_commands(author: Project) -> None:
    refused = author.near.pin("--outdated", "--update", "base_model")
    assert refused.code == 2
    assert refused.only()["kind"] == "usage"


def test_what_is_not_pinned_yet_is_not_called_up_to_date(hub: Hub, author: Project) -> None:
    listed = author.pin("--outdated").good()
    assert listed.value["outdated"] == [{"name": "base_model", "before": None, "after": hub.head(UPSTREAM)}]


@pytest.mark.parametrize(
    "change",
    [{"revision": "next"}, {"files": ["*.json", "*.safetensors"]}, {"path": "inner"}, {"hf": "upstream/other"}],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_request_makes_the_lock_stale(hub: Hub, author: Project, change: dict[str, str]) -> None:
    author.pin().good()
    author.sources(base_model={"hf": UPSTREAM, **change})
    asked = len(hub.requests)
    checked = author.near.run("check", author.folder)
    assert checked.code == 1
    assert "lock-stale" in checked.kinds
    locked = author.near.build("--locked")
    assert (locked.code, locked.only()["kind"]) == (1, "lock-stale")
    assert locked.only()["line"]
    assert not author.out.exists()
    assert len(hub.requests) == asked


def test_a_stale_source_is_pinned_again_by_build_and_no_other(hub: Hub, author: Project) -> None:
    hub.create("upstream/other", {"a.txt": b"a\n"})
    hub.branch(UPSTREAM, "next")
    author.sources(base_model={"hf": UPSTREAM}, other={"hf": "upstream/other"}).pin().good()
    other = author.locked("other")
    hub.commit("upstream/other", {"a.txt": b"b\n"})
    now = hub.commit(UPSTREAM, {"config.json": b'{"model_type": "llama"}\n'}, branch="next")
    author.sources(base_model={"hf": UPSTREAM, "revision": "next"}, other={"hf": "upstream/other"})
    author.build().good()
    assert author.locked()["gitCommit"] == now
    assert author.locked("other") == other


def test_any_name_of_a_commit_becomes_the_commit(hub: Hub, author: Project) -> None:
    first = hub.head(UPSTREAM)
    hub.tag(UPSTREAM, "v1")
    for ref in ("refs/pr/1", "refs/heads/side", "refs/heads/feature/a"):
        hub.repos[UPSTREAM].set_ref(ref, first)
    hub.commit(UPSTREAM, {"config.json": b"{}\n"})
    revisions = {"tag": "v1", "commit": first, "pull": "refs/pr/1", "whole": "refs/heads/side", "nested": "feature/a"}
    author.sources(base_model={"hf": UPSTREAM}, **{name: {"hf": UPSTREAM, "revision": rev} for name, rev in revisions.items()})
    author.pin().good()
    assert {author.locked(name)["gitCommit"] for name in revisions} == {first}
    assert author.locked()["gitCommit"] == hub.head(UPSTREAM) != first


def test_the_stated_licence_of_a_source_goes_before_the_card_s(author: Project) -> None:
    author.sources(base_model={"hf": UPSTREAM, "license": "mit"}).pin().good()
    assert author.locked()["license"] == "mit"


def test_a_licence_stated_anew_counts_at_once_and_moves_nothing(hub: Hub, author: Project) -> None:
    author.pin().good()
    held = author.locked()
    hub.commit(UPSTREAM, {"config.json": b"{}\n"})
    author.sources(base_model={"hf": UPSTREAM, "license": "mit"})
    assert "lock-stale" in author.near.run("check", author.folder).kinds
    refused = author.build()
    assert (refused.code, refused.only()["kind"]) == (1, "license-undeclared")
    assert (author.locked()["license"], author.locked()["gitCommit"]) == ("mit", held["gitCommit"])
    author.sources(base_model={"hf": UPSTREAM})
    author.build().good()
    assert author.locked() == held


def test_a_source_of_which_no_file_is_wanted_is_refused(author: Project) -> None:
    refused = author.sources(base_model={"hf": UPSTREAM, "path": "inner"}).pin()
    assert refused.code != 0
    assert "no file" in refused.only()["message"]
    assert not author.lock_file.exists()


def test_a_wanted_name_that_no_release_can_hold_is_refused(hub: Hub, author: Project) -> None:
    hub.commit(UPSTREAM, {"a\\b.json": b"{}\n"})
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (1, "path-invalid")
    assert not author.lock_file.exists()
    author.sources(base_model={"hf": UPSTREAM, "files": ["*.safetensors", "config.json"]}).pin().good()
    assert "a\\b.json" in author.locked()["others"]


def test_a_private_model_needs_a_token_that_may_read_it(hub: Hub, author: Project, tmp_path: Path) -> None:
    hub.repos[UPSTREAM].private = True
    stranger = hub.user("stranger")
    for token in (None, stranger):
        refused = project(tmp_path / str(token), hub.env(tmp_path / "x", token=token)).pin()
        assert (refused.code, refused.only()["kind"]) == (3, "source-unreachable")
        assert "hf auth login" in refused.only()["mend"]
        assert stranger not in refused.said
    author.pin().good()
    assert author.locked()["private"] is True


def test_a_gated_model_says_that_it_is_gated(hub: Hub, tmp_path: Path) -> None:
    hub.repos[UPSTREAM].gated = True
    refused = project(tmp_path, hub.env(tmp_path / "x", token=hub.user("stranger"))).pin()
    assert (refused.code, refused.only()["kind"]) == (3, "source-unreachable")
    assert "gated" in refused.only()["message"]


def test_a_lock_that_was_damaged_by_hand_is_refused_by_name(author: Project) -> None:
    author.pin().good()
    lock = json.loads(author.lock_file.read_bytes())
    lock["sources"]["base_model"]["files"][0]["path"] = "../outside"
    author.lock_file.write_text(json.dumps(lock))
    for ended in (author.near.pin(), author.near.build("--locked")):
        assert (ended.code, ended.only()["kind"]) == (1, "lock-invalid")
