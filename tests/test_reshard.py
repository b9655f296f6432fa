"""`max_shard_size`: other shards, the same tensors; what was finished counts only once its sources have proved right."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import safetensors
import tiny
import tiny_upstream
from project import Project, project, tree

from hubrelease import identities

SINGLE, INDEX = "model.safetensors", tiny_upstream.INDEX
FIRST, SECOND = tiny_upstream.SHARDS


@pytest.fixture
def author(tmp_path: Path) -> Project:
    tiny.write(tmp_path / "base", tiny_upstream.base())
    return project(tmp_path, here=True).sources(base_model={"folder": "../base", "license": "apache-2.0"})


def tensors(folder: Path) -> dict[str, Any]:
    """Name → dtype, shape, bytes of every tensor, as the safetensors library reads them."""
    found: dict[str, Any] = {}
    for file in sorted(folder.glob("*.safetensors")):
        rows = safetensors.deserialize(file.read_bytes())
        assert not found.keys() & {name for name, _ in rows}
        found |= {name: (row["dtype"], row["shape"], bytes(row["data"])) for name, row in rows}
    return found


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of tensors in each shard."""
    return {
        file.name: sum(len(row["data"]) for _, row in safetensors.deserialize(file.read_bytes())) for file in folder.glob("*.safetensors")
    }


def assert_index_fits(folder: Path) -> None:
    index = json.loads((folder / INDEX).read_bytes())
    rows = {name: file.name for file in folder.glob("*.safetensors") for name, _ in safetensors.deserialize(file.read_bytes())}
    assert index["weight_map"] == rows
    assert index["metadata"]["total_size"] == sum(sizes(folder).values())


@pytest.mark.parametrize("way", ["spec", "option"])
def test_smaller_shards_hold_the_same_tensors(author: Project, tmp_path: Path, way: str) -> None:
    if way == "spec":
        author.spec(**{**author.document, "weights": {"format": "bf16", "max_shard_size": "1kB"}}).build().good()
    else:
        author.build("--max-shard-size", "1kB").good()
    assert tensors(author.out) == tensors(tmp_path / "base")
    assert len(sizes(author.out)) > 2
    assert max(sizes(author.out).values()) <= 1000
    assert_index_fits(author.out)
    author.run("verify", author.out).good()
    spec = json.loads((author.out / "MODEL_PROVENANCE.json").read_bytes())["predicate"]["buildDefinition"]["externalParameters"]["spec"]
    assert spec["weights"]["max_shard_size"] == "1kB"


def test_the_way_in_which_the_size_is_given_changes_no_byte(author: Project, tmp_path: Path) -> None:
    author.build("--max-shard-size", "1kB").good()
    author.spec(**{**author.document, "weights": {"format": "bf16", "max_shard_size": "1kB"}}).build(out=tmp_path / "again").good()
    assert tree(tmp_path / "again") == tree(author.out)


def test_shards_become_one_file_and_shards_again(author: Project, tmp_path: Path) -> None:
    author.build("--max-shard-size", "5GB", out=tmp_path / "single").good()
    assert list(sizes(tmp_path / "single")) == [SINGLE]
    assert not (tmp_path / "single" / INDEX).exists()
    assert tensors(tmp_path / "single") == tensors(tmp_path / "base")
    author.run("verify", tmp_path / "single").good()
    author.build("--max-shard-size", "1kB", out=tmp_path / "direct").good()
    author.sources(base_model={"folder": "../single", "license": "apache-2.0"}).pin().good()
    author.build("--max-shard-size", "1kB").good()
    for file in (tmp_path / "direct").glob("model*"):
        assert (author.out / file.name).read_bytes() == file.read_bytes() or file.name == INDEX
    assert_index_fits(author.out)


def test_a_tensor_larger_than_the_limit_has_a_shard_of_its_own(author: Project) -> None:
    author.build("--max-shard-size", "100B").good()
    rows = {file.name: safetensors.deserialize(file.read_bytes()) for file in author.out.glob("*.safetensors")}
    assert {len(rows[name]) for name, size in sizes(author.out).items() if size > 100} == {1}
    assert max(sizes(author.out).values()) == 256
    assert_index_fits(author.out)
    author.run("verify", author.out).good()


def test_the_metadata_that_loaders_want_is_kept(author: Project, tmp_path: Path) -> None:
    author.build("--max-shard-size", "1kB").good()
    for file in author.out.glob("*.safetensors"):
        with safetensors.safe_open(file, "np") as opened:
            assert opened.metadata() == {"format": "pt"}


@pytest.mark.parametrize("size", ["0", "1", "5 apples", "-1GB", "1e9"])
def test_a_size_that_is_none_is_a_usage_error(author: Project, size: str) -> None:
    ended = author.build("--max-shard-size", size)
    assert ended.code == 2, ended.said
    assert not author.out.exists()


# --------------------------------------------------------------------------------------- what may be taken up again


def spoil(file: Path, at: int) -> bytes:
    """Turns one bit over; what was there before."""
    data = file.read_bytes()
    file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    return data


def finished(work: Path) -> dict[str, Path]:
    """What the next build may take over."""
    return {known.path.name: known.path for known in identities.Journal(work).read() if not known.key.startswith("origin:")}


@pytest.mark.parametrize("name", [FIRST, SECOND])
@pytest.mark.parametrize("at", [-1, -800])
def test_shards_made_of_wrong_bytes_are_never_taken_up(author: Project, tmp_path: Path, name: str, at: int) -> None:
    """A file's digest is known at its end only, when shards made of its beginning are long finished."""
    author.pin().good()
    source = tmp_path / "base" / name
    before = spoil(source, len(source.read_bytes()) + at)
    refused = author.build("--max-shard-size", "300B")
    assert (refused.code, refused.only()["kind"]) == (1, "source-changed")
    assert refused.only()["file"] == f"base_model:{name}"
    work = tmp_path / ".out.hubrelease"
    kept = finished(work)
    source.write_bytes(before)
    author.build("--max-shard-size", "300B", out=tmp_path / "right").good()
    for shard, path in kept.items():
        assert path.read_bytes() == (tmp_path / "right" / shard).read_bytes()
    assert (name == SECOND) == bool(kept)
    author.build("--max-shard-size", "300B").good()
    assert tree(author.out) == tree(tmp_path / "right")


def test_a_failed_build_goes_on_with_the_shards_that_are_right(author: Project, tmp_path: Path) -> None:
    author.pin().good()
    before = spoil(tmp_path / "base" / SECOND, -1)
    assert author.build("--max-shard-size", "300B").code == 1
    made = {path.name: path.stat().st_ino for path in (tmp_path / ".out.hubrelease" / "tree-1").glob("*.safetensors")}
    (tmp_path / "base" / SECOND).write_bytes(before)
    author.build("--max-shard-size", "300B").good()
    taken = {path.name for path in author.out.glob("*.safetensors") if made.get(path.name) == path.stat().st_ino}
    assert len(taken) >= 3
    assert tensors(author.out) == tensors(tmp_path / "base")
    assert not (tmp_path / ".out.hubrelease").exists()


@pytest.mark.parametrize("at", range(1, 12, 2))
def test_a_killed_build_goes_on_with_what_was_finished(author: Project, tmp_path: Path, at: int) -> None:
    author.pin().good()
    author.build("--max-shard-size", "300B", out=tmp_path / "right").good()
    child = os.fork()
    if child == 0:
        add, seen = identities.Journal.add, 0

        def counted(journal: identities.Journal, known: identities.Known) -> None:
            nonlocal seen
            add(journal, known)
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)

        identities.Journal.add = counted  # type: ignore[method-assign]
        author.build("--max-shard-size", "300B", "--jobs", "1")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert not author.out.exists()
    work = tmp_path / ".out.hubrelease"
    inodes = {name: path.stat().st_ino for name, path in finished(work).items()}
    author.build("--max-shard-size", "300B").good()
    assert {name: (author.out / name).stat().st_ino for name in inodes} == inodes
    assert tree(author.out) == tree(tmp_path / "right")
    author.run("verify", author.out).good()


def test_a_changed_shard_is_noticed_though_every_shard_could_be_taken_over(author: Project, tmp_path: Path) -> None:
    author.build("--max-shard-size", "1kB").good()
    spoil(tmp_path / "base" / FIRST, -1)
    refused = author.build("--max-shard-size", "1kB")
    assert (refused.code, refused.only()["kind"]) == (1, "source-changed")
    assert "pin --update base_model" in refused.only()["mend"]


# ---------------------------------------------------------------------------------------- sources that hang together


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({INDEX: {"weight_map": {"w": FIRST}}}, "no such tensor"),
        ({INDEX: {"weight_map": {}}}, "is empty"),
        ({INDEX: {"weight_map": {"w": "absent.safetensors"}}}, "absent.safetensors"),
        ({INDEX: {"weight_map": {"w": "../outside.safetensors"}}}, "outside.safetensors"),
        ({INDEX: []}, "no shard index"),
        ({INDEX: {"weight_map": {"w": 1}}}, "no shard index"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(author: Project, tmp_path: Path, change: dict[str, Any], says: str) -> None:
    tiny.write(tmp_path / "base", {path: tiny.dumps(value) for path, value in change.items()})
    refused = author.build("--max-shard-size", "1kB")
    assert refused.code == 1
    assert {p["kind"] for p in refused.problems} == {"weights-unusable"}
    assert any(says in p["message"] for p in refused.problems), refused.said
    assert not author.out.exists()


def test_other_weight_files_travel_unchanged(author: Project, tmp_path: Path) -> None:
    extra = tiny_upstream.shard({"w": (2, 2)})
    tiny.write(tmp_path / "base", {"vision/model.safetensors": extra})
    author.spec(
        **{
            **author.document,
            "weights": {"format": "bf16", "auxiliary": [{"path": "vision/model.safetensors", "purpose": "the vision tower"}]},
        }
    )
    author.build("--max-shard-size", "1kB").good()
    assert (author.out / "vision" / "model.safetensors").read_bytes() == extra


def test_a_single_file_is_cut_too(author: Project, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "base")
    files = tiny.model()
    del files[tiny.VERIFIER]
    tiny.write(tmp_path / "base", files)
    author.pin().good()
    author.build("--max-shard-size", "1kB").good()
    assert tensors(author.out) == tensors(tmp_path / "base")
    assert_index_fits(author.out)
    assert not (author.out / SINGLE).exists()
