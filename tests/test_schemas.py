"""schemas/: what hubrelease writes fits them, and for what readers need, schema and hand-written readers agree."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from command_line import in_process
from jsonschema import Draft202012Validator
from specs import local

import hubrelease
from hubrelease import verify_release
from hubrelease.errors import Where
from hubrelease.schema_problems import validate
from hubrelease.steps.validation import report_for, subject_of

SCHEMAS = Path(__file__).parent.parent / "schemas"
NAMES = sorted(file.name.removesuffix(".schema.json") for file in SCHEMAS.glob("*.schema.json"))


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_bytes())
    return found


def faults(name: str, value: object) -> list[str]:
    """What a validator of the standard says, and ours, which is stricter about ends of text and whole numbers."""
    standard = [f"{error.json_path}: {error.message[:200]}" for error in Draft202012Validator(schema(name)).iter_errors(value)]
    return standard + [p.message for p in validate(value, schema(name), lambda pointer: Where("x", None, pointer))]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release built from a folder."""
    root = local(tmp_path_factory.mktemp("schemas") / "project")
    return hubrelease.build(hubrelease.load_spec(root), root.parent / "out").folder


def read(file: Path) -> Any:
    return json.loads(file.read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_a_schema_with_a_title_and_its_own_address(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"].endswith(f"/{name}.schema.json")
    assert schema(name)["title"]


# ------------------------------------------------------------------------------------------------------ what we write fits


def test_a_lock_fits(release: Path) -> None:
    assert faults("lock", read(release.parent / "project" / "release.lock.json")) == []


def test_a_provenance_fits(release: Path) -> None:
    assert faults("provenance", read(release / tiny.PROVENANCE)) == []


def test_a_validation_report_fits(release: Path) -> None:
    assert faults("validation", read(release / "benchmarks" / "release-validation.json")) == []


def test_the_answers_of_both_verifiers_fit(release: Path, tmp_path: Path) -> None:
    bad = tiny.release(tmp_path / "bad", {"config.json": b"{}"})
    (bad / "extra.py").write_text("x")
    (bad / "tokenizer.json").write_text("changed")
    for folder in (release, bad, tmp_path):
        answer = in_process("verify", folder, "--json")
        assert faults("verify", answer.value) == []
        assert answer.code == answer.value["exitCode"]
    assert faults("verify", alone(release)) == faults("verify", alone(bad)) == []


def alone(folder: Path) -> Any:
    result = verify_release.check_folder(folder)
    found = result.findings + verify_release.absences(result, bool(result.findings))
    return json.loads(json.dumps(verify_release.as_json(result, found, verify_release.exit_code(found))))


# --------------------------------------------------------------------------------------------- what readers need, and no more

DOCUMENT = tiny.statement({"a.txt": b"a", "b.txt": b"b"})
REPORT = json.loads(report_for("a" * 64, None)) | {"checks": [{"name": "load", "status": "pass", "required": True}]}
REQUIRED = [
    ("_type",), ("predicateType",), ("subject",), ("subject", 0, "name"), ("subject", 0, "digest"), ("subject", 0, "digest", "sha256"),
    ("subject", 0, "annotations"), ("subject", 0, "annotations", "sizeBytes"), ("predicate",), ("predicate", "buildDefinition"),
    ("predicate", "buildDefinition", "externalParameters"), ("predicate", "buildDefinition", "externalParameters", "spec"),
    ("predicate", "buildDefinition", "externalParameters", "spec", "name"),
]  # fmt: skip
WRONG = [None, True, 5, -1, 2.5, "x", "", [], {}, [{}], "A" * 64, "a" * 63, "a" * 64 + "\n", 2**63]


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*at, key)
        yield from paths(inner, (*at, key))


def changed(document: Any, path: tuple[Any, ...], *value: Any) -> Any:
    """The document without what is at `path`, or with `value` there."""
    copied = copy.deepcopy(document)
    at = copied
    for step in path[:-1]:
        at = at[step]
    if value:
        at[path[-1]] = value[0]
    else:
        del at[path[-1]]
    return copied


def reader_takes(document: Any) -> bool:
    return not verify_release.parse_provenance(json.dumps(document).encode()).findings


def schema_takes(document: Any) -> bool:
    return not validate(document, schema("provenance"), lambda pointer: Where("x", None, pointer))


@pytest.mark.parametrize("path", REQUIRED, ids=lambda path: "/".join(map(str, path)))
def test_schema_and_reader_need_the_same_keys_of_a_provenance(path: tuple[Any, ...]) -> None:
    assert not reader_takes(changed(DOCUMENT, path))
    assert not schema_takes(changed(DOCUMENT, path))


def test_schema_and_reader_need_no_other_keys() -> None:
    needed = set(REQUIRED) | {path for path in paths(DOCUMENT) if path[:1] == ("subject",) and path[1:2] == (1,)}
    for path in paths(DOCUMENT):
        if path not in needed and not any(isinstance(step, int) for step in path[-1:]) and "resolvedDependencies" not in path:
            assert reader_takes(changed(DOCUMENT, path)), path
            assert schema_takes(changed(DOCUMENT, path)), path


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_schema_and_reader_refuse_the_same_values_of_what_they_need(value: Any) -> None:
    for path in REQUIRED:
        document = changed(DOCUMENT, path, value)
        if path[-1] == "name" and isinstance(value, str):
            continue  # which names are paths is told in words, not by a pattern
        assert reader_takes(document) == schema_takes(document), (path, value)


def test_unknown_keys_are_taken_by_both() -> None:
    document = copy.deepcopy(DOCUMENT)
    for at in (
        document,
        document["subject"][0],
        document["predicate"],
        document["subject"][0]["annotations"],
        document["subject"][0]["digest"],
    ):
        at["later"] = {"x": [1]}
    assert reader_takes(document)
    assert schema_takes(document)


@pytest.mark.parametrize("path", [("schemaVersion",), ("result",), ("subject",), ("subject", "payloadDigest"), ("checks",), ("checks", 0, "name"), ("checks", 0, "status"), ("checks", 0, "required")], ids=repr)  # fmt: skip
def test_what_a_report_needs(path: tuple[Any, ...]) -> None:
    assert faults("validation", REPORT) == []
    assert faults("validation", changed(REPORT, path))


def test_a_report_needs_no_other_keys() -> None:
    assert faults("validation", changed(REPORT, ("reason",))) == []
    assert faults("validation", REPORT | {"later": 1, "environment": {"later": 1}}) == []


@pytest.mark.parametrize("report", [b"{", b"[]", b'{"subject": []}', b'{"subject": {"payloadDigest": 5}}', b'{"result": "pass"}'], ids=repr)
def test_a_report_that_names_no_payload_is_not_kept(report: bytes) -> None:
    digest = "a" * 64
    assert subject_of(report) != digest
    assert json.loads(report_for(digest, report))["result"] == "not-run"
