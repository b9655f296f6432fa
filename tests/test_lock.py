"""lock: what was resolved is read back as it was written; what does not fit release.yaml is stale; hostile files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from specs import COMMIT, DIGEST, MINIMAL, faults, folder, load

from hubrelease import lock as locks
from hubrelease.digest import FileDigest, tree_digest
from hubrelease.errors import CheckFailed, OutsideError, Problem
from hubrelease.lock import Lock, LockedPackage, LockedPackages, LockedSource
from hubrelease.spec import Spec

SHA = "c" * 64
FILES = (FileDigest("a.json", SHA, 3), FileDigest("b/é.bin", "d" * 64, 0))
LOCK = Lock(
    (
        LockedSource("hub", "hf", {"hf": "a/b", "revision": "main", "files": ["**"]}, COMMIT, FILES, ("x.bin",), "mit", private=True),
        LockedSource("code", "git", {"git": "https://example.org/x", "revision": "HEAD", "files": ["**"]}, COMMIT, FILES),
        LockedSource("wheel", "pypi", {"pypi": "a==1", "files": ["**"]}, SHA, FILES, archive=FileDigest("a-1-py3-none-any.whl", SHA, 9)),
        LockedSource("local", "folder", {"folder": "base", "files": ["**"]}, tree_digest(FILES), FILES),
        LockedSource("img", "image", {"image": f"python@{DIGEST}"}, "a" * 64),
    ),
    LockedPackages({"packages": ["numpy==2.0.0"], "python": "3.12", "platform": "any"}, (LockedPackage("numpy", "2.0.0", (SHA,)),)),
)
ASKED: dict[str, Any] = {
    **MINIMAL,
    "weights": {"format": "as-is", "source": "hub"},
    "sources": {
        "hub": {"hf": "a/b", "license": "mit"}, "code": {"git": "https://example.org/x"}, "wheel": {"pypi": "a==1"}, "local": {"folder": "base"},
        "img": {"image": f"python@{DIGEST}"},
    },
    "runtime": {"kind": "verify", "image": "img", "packages": ["numpy==2.0.0"], "python": "3.12", "platform": "any"},
}  # fmt: skip


def refusal(data: bytes | str) -> list[Problem]:
    """What a lock file is refused with; each problem has its code and file."""
    found = faults(lambda: locks.loads(data if isinstance(data, bytes) else data.encode()))
    assert found
    for problem in found:
        assert (problem.code, problem.where.file) == ("HR113", "release.lock.json")
        assert len(problem.message) < 300
    return found


# ---------------------------------------------------------------------------------------------------------- round trip


def test_a_lock_is_read_back_as_it_was_written() -> None:
    assert locks.loads(locks.dumps(LOCK)) == LOCK
    assert locks.loads(locks.dumps(Lock())) == Lock()


def test_the_same_lock_is_the_same_bytes_in_whatever_order_it_was_made() -> None:
    other = Lock(tuple(replace(s, files=s.files[::-1], others=s.others[::-1]) for s in LOCK.sources[::-1]), LOCK.packages)
    assert locks.dumps(other) == locks.dumps(LOCK)
    assert locks.dumps(LOCK).endswith(b"}\n")
    assert b"\r" not in locks.dumps(LOCK)


PATHS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\\/"), min_size=1, max_size=20).filter(
    lambda name: name not in (".", "..") and name[1:2] != ":" and len(name.encode()) < 1000
)


@given(
    st.dictionaries(PATHS, st.integers(0, 2**62), max_size=5), st.lists(st.text(max_size=9)), st.none() | st.text(min_size=1, max_size=9)
)
def test_any_lock_that_can_be_written_is_read_back(files: dict[str, int], others: list[str], license: str | None) -> None:
    digests = tuple(sorted(FileDigest(path, SHA, size) for path, size in files.items()))
    lock = Lock((LockedSource("hub", "hf", {"hf": "a/b"}, COMMIT, digests, tuple(sorted(others)), license),))
    assert locks.loads(locks.dumps(lock)) == lock


def test_unknown_keys_are_ignored() -> None:
    value = json.loads(locks.dumps(LOCK))
    value["later"] = value["sources"]["hub"]["later"] = value["sources"]["hub"]["files"][0]["later"] = {"a": 1}
    assert locks.loads(json.dumps(value).encode()) == LOCK


# --------------------------------------------------------------------------------------------------------------- stale


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    return load(tmp_path, ASKED)


def stale(tmp_path: Path, **changes: Any) -> list[str | None]:
    return [p.where.pointer for p in locks.stale(load(tmp_path, {**ASKED, **changes}), LOCK)]


def sources(**changes: dict[str, Any] | None) -> dict[str, Any]:
    return {"sources": {name: s for name, s in {**ASKED["sources"], **changes}.items() if s is not None}}


def test_a_lock_that_fits_is_not_stale(spec: Spec) -> None:
    assert list(locks.stale(spec, LOCK)) == []


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("hub", {"hf": "a/c", "license": "mit"}), ("hub", {"hf": "a/b", "revision": "v1", "license": "mit"}), ("hub", {"hf": "a/b", "license": "apache-2.0"}),
        ("hub", {"hf": "a/b", "files": ["*.json"], "license": "mit"}), ("hub", {"hf": "a/b", "path": "sub", "license": "mit"}),
        ("hub", {"git": "https://example.org/a/b", "license": "mit"}), ("code", {"git": "https://example.org/y"}),
        ("code", {"git": "https://example.org/x", "revision": "v1"}), ("wheel", {"pypi": "a==2"}), ("local", {"folder": "other"}),
        ("img", {"image": f"python@sha256:{'b' * 64}"}),
    ],
    ids=repr,
)  # fmt: skip
def test_a_source_that_is_asked_for_otherwise_is_stale(tmp_path: Path, name: str, asked: dict[str, Any]) -> None:
    assert stale(tmp_path, **sources(**{name: asked})) == [f"/sources/{name}"]


def test_a_note_may_change(tmp_path: Path) -> None:
    assert stale(tmp_path, **sources(hub={"hf": "a/b", "license": "mit", "note": "a remark"})) == []


def test_a_new_source_is_stale(tmp_path: Path) -> None:
    assert stale(tmp_path, **sources(more={"folder": "more"})) == ["/sources/more"]


def test_a_source_that_is_gone_is_stale(tmp_path: Path) -> None:
    assert stale(tmp_path, **sources(code=None)) == ["/sources/code"]


@pytest.mark.parametrize(
    "change", [{"packages": ["numpy==2.1.0"]}, {"packages": []}, {"python": "3.13"}, {"platform": "linux_x86_64"}], ids=repr
)
def test_other_packages_are_stale(tmp_path: Path, change: dict[str, Any]) -> None:
    assert stale(tmp_path, runtime={**ASKED["runtime"], **change}) == ["/runtime/packages"]


def test_every_way_is_told_at_once_with_the_line_that_asks(tmp_path: Path) -> None:
    changed = load(
        tmp_path,
        {
            **ASKED,
            **sources(hub={"hf": "x/y", "license": "mit"}, code=None, more={"folder": "m"}),
            "runtime": {"kind": "verify", "image": "img"},
        },
    )
    found = list(locks.stale(changed, LOCK))
    assert [p.where.pointer for p in found] == ["/sources/hub", "/sources/more", "/sources/code", "/runtime/packages"]
    assert [p.where.file for p in found] == ["release.yaml", "release.yaml", "release.lock.json", "release.yaml"]
    assert all("hubrelease pin" in p.mend for p in found)


# ------------------------------------------------------------------------------------------------------------- hostile


def changed(*steps: Any, value: Any) -> str:
    document = json.loads(locks.dumps(LOCK))
    at = document
    for step in steps[:-1]:
        at = at[step]
    at[steps[-1]] = value
    return json.dumps(document)


def test_a_lock_holds_its_sources_in_the_order_of_the_file() -> None:
    assert [s.name for s in LOCK.sources] == sorted(ASKED["sources"])


HUB = ("sources", "hub")
WRONG: list[tuple[tuple[Any, ...], Any]] = [
    (("schemaVersion",), 2), (("schemaVersion",), "1"), (("schemaVersion",), True), (("sources",), []), (("sources",), None), (HUB, 5),
    ((*HUB, "gitCommit"), "main"), ((*HUB, "gitCommit"), COMMIT + "\n"), ((*HUB, "gitCommit"), COMMIT.upper()), ((*HUB, "gitCommit"), int("1" * 40)),
    ((*HUB, "files"), {}), ((*HUB, "files", 0), "a.json"), ((*HUB, "files", 0, "sha256"), "x"), ((*HUB, "files", 0, "sizeBytes"), -1),
    ((*HUB, "files", 0, "sizeBytes"), 3.0), ((*HUB, "files", 0, "sizeBytes"), True), ((*HUB, "files", 0, "sizeBytes"), "3"), ((*HUB, "files", 0, "path"), 5),
    ((*HUB, "license"), ["mit"]), ((*HUB, "private"), "no"), ((*HUB, "others"), [5]), ((*HUB, "others"), {}), ((*HUB, "request"), []), ((*HUB, "request"), {}),
    ((*HUB, "request", "hf"), 5), ((*HUB, "request", "revision"), None), ((*HUB, "request", "files"), "**"), ((*HUB, "request", "git"), "https://x"),
    (("sources", "img", "request", "image"), 5), (("sources", "wheel", "archive"), None), (("sources", "wheel", "archive", "path"), "../../x.whl"),
    (("sources", "wheel", "archive", "path"), "a b.whl"), (("sources", "local", "dirHash"), "x"), (("sources", "../x"), {}), (("packages",), []),
    (("packages", "resolved", 0, "sha256"), []), (("packages", "resolved", 0, "name"), "numpy --index-url=x"), (("packages", "resolved", 0, "version"), "1\n"),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "value"), WRONG, ids=repr)
def test_values_of_another_type_or_form_are_refused_with_their_place(steps: tuple[Any, ...], value: Any) -> None:
    pointer = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)
    at = [p.where.pointer or "" for p in refusal(changed(*steps, value=value))]
    assert any(pointer.startswith(place) or place.startswith(pointer) for place in at)


@pytest.mark.parametrize("key", ["gitCommit", "files", "request"])
def test_a_source_without_what_its_kind_needs_is_refused(key: str) -> None:
    document = json.loads(locks.dumps(LOCK))
    del document["sources"]["hub"][key]
    assert refusal(json.dumps(document))


PATHS_OUTSIDE = ["../x", "/x", "a/../../x", "a\\b", "C:x", "a//b", ".", "./a", "a\nb", "a\x00", "", "\u2028", "x" * 2000, "a/" * 70 + "b"]


@pytest.mark.parametrize("path", PATHS_OUTSIDE, ids=lambda path: repr(path)[:20])
def test_paths_that_leave_a_release_are_refused(path: str) -> None:
    found = refusal(changed(*HUB, "files", 0, "path", value=path))
    assert any(str(p.where.pointer).startswith("/sources/hub/files/0") for p in found)


def test_two_files_of_one_path_are_refused() -> None:
    row = {"path": "a.json", "sha256": SHA, "sizeBytes": 3}
    assert "stands twice" in refusal(changed(*HUB, "files", value=[row, row]))[0].message


def test_a_folder_whose_digest_is_not_that_of_its_files_is_refused() -> None:
    found = refusal(changed("sources", "local", "files", 0, "sizeBytes", value=4))
    assert [p.where.pointer for p in found] == ["/sources/local/dirHash"]


def test_every_fault_is_told_at_once() -> None:
    rows = [{"path": path, "sha256": SHA, "sizeBytes": 0} for path in ("../a", "b", "b", "/c")]
    assert [p.where.pointer for p in refusal(changed(*HUB, "files", value=rows))] == [f"/sources/hub/files/{n}/path" for n in (0, 2, 3)]


NOT_JSON = {
    "nothing": "", "text": "pinned", "a comment": "// x\n{}", "a list": "[]", "doubled keys": '{"schemaVersion": 1, "schemaVersion": 1, "sources": {}}',
    "doubled sources": '{"schemaVersion": 1, "sources": {"a": {}, "a": {}}}', "NaN": '{"schemaVersion": NaN}', "infinity": '{"schemaVersion": 1e999}',
    "a trailing comma": '{"schemaVersion": 1,}', "half a surrogate": '{"schemaVersion": 1, "sources": {}, "x": "\\ud800"}',
    "a half file": '{"schemaVersion": 1, "sources": {"hub', "a byte order mark": "\ufeff{}", "YAML": "schemaVersion: 1\nsources: {}\n",
    "a conflict": "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n", "many digits": '{"schemaVersion": ' + "1" * 5000 + "}",
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_JSON)
def test_what_is_not_strict_json_is_refused(name: str) -> None:
    refusal(NOT_JSON[name])


@pytest.mark.parametrize("data", [b"\xff\xfe{\x00}\x00", b"\x80", b'{"a": "\xc0\xaf"}'], ids=repr)
def test_other_encodings_are_refused(data: bytes) -> None:
    refusal(data)


@pytest.mark.parametrize("depth", [50, 300, 500, 700, 900, 950, 980, 990, 1000, 100_000])
@pytest.mark.parametrize("form", ['{{"schemaVersion": 1, "sources": {0}}}', '{{"schemaVersion": 1, "sources": {{}}, "x": {0}}}', "{0}"])
def test_deep_json_is_refused_or_ignored_and_never_a_traceback(depth: int, form: str) -> None:
    faults(lambda: locks.loads(form.format('{"a":' * depth + "1" + "}" * depth).encode()))


@settings(max_examples=80)
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda below: st.lists(below) | st.dictionaries(st.text(), below)),
    st.data(),
)
def test_any_value_anywhere_gives_a_lock_or_a_refusal(value: Any, data: st.DataObject) -> None:
    document = json.loads(locks.dumps(LOCK))
    at, steps = document, []
    while isinstance(at, (dict, list)) and at and (not steps or data.draw(st.booleans())):
        steps.append(data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at)))))
        at = at[steps[-1]]
    faults(lambda: locks.loads(changed(*steps, value=value).encode()))


# ----------------------------------------------------------------------------------------------------------- the file


def test_no_lock_is_none(spec: Spec) -> None:
    assert locks.read(spec) is None


def test_a_lock_that_can_not_be_read_is_the_outsides_fault(spec: Spec) -> None:
    (spec.folder / "release.lock.json").mkdir()
    with pytest.raises(OutsideError):
        locks.read(spec)


def test_a_faulty_lock_is_never_taken_for_none(tmp_path: Path) -> None:
    spec = load(tmp_path, ASKED)
    folder(tmp_path, ASKED, **{"release.lock.json": "{}"})
    with pytest.raises(CheckFailed):
        locks.read(spec)
