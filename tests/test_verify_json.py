"""MODEL_PROVENANCE.json as a hostile document: every fault is a finding with a place, none an exception, none without bound."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
from verifying import both, within

from hubrelease import verify_release
from hubrelease.verify_release import check_folder, collisions, parse_provenance

GUIDE = "docs/guide.txt"
GOOD = tiny.dumps(tiny.statement(tiny.model()))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tiny.release(tmp_path / "release")


# -------------------------------------------------------------------------------------------------------- what is no JSON

NO_JSON = {
    "empty": b"",
    "blank": b" \n",
    "text": b"good",
    "cut": GOOD[: len(GOOD) // 2],
    "cut-at-the-end": GOOD.rstrip()[:-1],
    "two": GOOD + GOOD,
    "comma": GOOD.replace(b'"subject": [', b'"subject": [,'),
    "trailing-comma": GOOD.rstrip()[:-1] + b",}",
    "comment": b"// a release\n" + GOOD,
    "single-quotes": GOOD.replace(b'"', b"'"),
    "bom": b"\xef\xbb\xbf" + GOOD,
    "utf-16": GOOD.decode().encode("utf-16"),
    "utf-16-be": GOOD.decode().encode("utf-16-be"),
    "utf-32": GOOD.decode().encode("utf-32"),
    "latin-1": GOOD.replace(b"tiny-llama", b"caf\xe9"),
    "surrogate-bytes": GOOD.replace(b"tiny-llama", b"\xed\xa0\x80"),
    "raw-newline-in-a-string": GOOD.replace(b"tiny-llama", b"a\nb"),
    "nul": GOOD + b"\0",
    "nan": GOOD.replace(b'"sizeBytes": 5192', b'"sizeBytes": NaN'),
    "infinity": GOOD.replace(b'"schema": 1', b'"schema": Infinity'),
    "minus-infinity": GOOD.replace(b'"schema": 1', b'"schema": -Infinity'),
    "1e999": GOOD.replace(b'"schema": 1', b'"schema": 1e999'),
    "-1e999": GOOD.replace(b'"schema": 1', b'"schema": -1e999'),
    "leading-zero": GOOD.replace(b'"schema": 1', b'"schema": 01'),
    "hex": GOOD.replace(b'"schema": 1', b'"schema": 0x1'),
    "10000-digits": GOOD.replace(b'"schema": 1', b'"schema": ' + b"9" * 10_000),
    "100000-deep-list": b"[" * 100_000 + b"]" * 100_000,
    "100000-deep-object": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "100000-deep-inside": GOOD.replace(b'"schema": 1', b'"schema": ' + b"[" * 100_000 + b"]" * 100_000),
    "100000-open": GOOD[:-3] + b',"a":' + b"[" * 100_000,
    "doubled-key": GOOD.replace(b'"schema": 1', b'"schema": 1, "schema": 1'),
    "doubled-subject": GOOD.rstrip()[:-1] + b', "subject": []}',
    "doubled-digest": GOOD.replace(b'"sha256": ', b'"sha256": "' + b"0" * 64 + b'", "sha256": ', 1),
    "doubled-by-an-escape": GOOD.replace(b'"schema": 1', b'"schema": 1, "sch\\u0065ma": 1'),
}


@pytest.mark.parametrize("data", NO_JSON.values(), ids=NO_JSON)
def test_a_provenance_that_is_no_json(root: Path, data: bytes) -> None:
    assert data != GOOD
    (root / tiny.PROVENANCE).write_bytes(data)
    with within(20):
        said = both(root)
    assert (said.code, said.errors) == (1, {("provenance-invalid", tiny.PROVENANCE)})
    assert said.only()["message"].startswith("is not usable JSON: ")
    assert len(said.only()["message"]) < 300


@pytest.mark.parametrize("depth", range(900, 1001))
def test_depths_about_the_limit_of_the_parser(depth: int) -> None:
    """What json.loads still takes json.dumps need not: a message that shows the value must not fail over it."""
    nested = b"[" * depth + b"]" * depth
    for data in (b'{"_type": ' + nested + b"}", b'{"subject": [{"name": ' + nested + b"}]}"):
        assert parse_provenance(data).findings


# ------------------------------------------------------------------------------------------------- JSON of another shape

Change = Callable[[dict[str, Any]], object]


def row(**changes: Any) -> Change:
    """A change of the row of the guide; a value that is a dictionary is merged into the row's own."""

    def change(statement: dict[str, Any]) -> None:
        found = next(r for r in statement["subject"] if r["name"] == GUIDE)
        for key, value in changes.items():
            found[key] = {**found[key], **value} if isinstance(value, dict) and value else value

    return change


HASH = tiny.sha256(tiny.model()[GUIDE])
WRONG_SHAPES: dict[str, tuple[Change, str]] = {
    "type": (lambda s: s.update(_type="https://in-toto.io/Statement/v0.1"), "/_type"),
    "type-list": (lambda s: s.update(_type=[]), "/_type"),
    "no-type": (lambda s: s.pop("_type"), "/_type"),
    "predicate-type": (lambda s: s.update(predicateType="https://slsa.dev/provenance/v0.2"), "/predicateType"),
    "no-predicate": (lambda s: s.pop("predicate"), "/predicate/buildDefinition/externalParameters/spec/name"),
    "predicate-list": (lambda s: s.update(predicate=[]), "/predicate/buildDefinition/externalParameters/spec/name"),
    "no-name": (lambda s: spec(s).pop("name"), "/predicate/buildDefinition/externalParameters/spec/name"),
    "empty-name": (lambda s: spec(s).update(name=""), "/predicate/buildDefinition/externalParameters/spec/name"),
    "name-number": (lambda s: spec(s).update(name=3), "/predicate/buildDefinition/externalParameters/spec/name"),
    "name-list": (lambda s: spec(s).update(name=["a"]), "/predicate/buildDefinition/externalParameters/spec/name"),
}
for label, value in {"null": None, "text": "x", "number": 3, "object": {"name": GUIDE}, "empty": [], "true": True}.items():
    WRONG_SHAPES[f"subject-{label}"] = (lambda s, value=value: s.update(subject=value), "/subject")  # type: ignore[misc]


def spec(statement: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = statement["predicate"]["buildDefinition"]["externalParameters"]["spec"]
    return found


@pytest.mark.parametrize(("change", "pointer"), WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_a_statement_of_another_shape(root: Path, change: Change, pointer: str) -> None:
    said = both(tiny.edit(root, change))
    assert said.code == 1
    assert pointer in {f["pointer"] for f in said.findings if f["kind"] == "provenance-invalid"}


@pytest.mark.parametrize("data", [b"[]", b"[1]", b"3", b'"x"', b"null", b"true", GOOD.replace(b"{", b"[{", 1).rstrip() + b"]"])
def test_a_statement_that_is_no_object(root: Path, data: bytes) -> None:
    (root / tiny.PROVENANCE).write_bytes(data)
    said = both(root)
    assert (said.code, said.errors, said.only()["pointer"]) == (1, {("provenance-invalid", tiny.PROVENANCE)}, "")


BAD_ROWS: dict[str, tuple[Change, str]] = {
    "no-name": (row(name=None), "/name"),
    "name-number": (row(name=7), "/name"),
    "name-list": (row(name=[GUIDE]), "/name"),
    "no-digest": (row(digest=None), "/digest/sha256"),
    "digest-text": (row(digest=HASH), "/digest/sha256"),
    "digest-empty": (row(digest={}), "/digest/sha256"),
    "digest-list": (row(digest=[HASH]), "/digest/sha256"),
    "only-sha512": (row(digest=[]), "/digest/sha256"),
    "upper-case": (row(digest={"sha256": HASH.upper()}), "/digest/sha256"),
    "short": (row(digest={"sha256": HASH[:-1]}), "/digest/sha256"),
    "long": (row(digest={"sha256": HASH + "0"}), "/digest/sha256"),
    "newline": (row(digest={"sha256": HASH + "\n"}), "/digest/sha256"),
    "prefixed": (row(digest={"sha256": "sha256:" + HASH}), "/digest/sha256"),
    "other-digits": (row(digest={"sha256": "٣" * 64}), "/digest/sha256"),
    "digest-number": (row(digest={"sha256": int("1" * 64)}), "/digest/sha256"),
    "no-annotations": (row(annotations=None), "/annotations/sizeBytes"),
    "annotations-empty": (row(annotations={}), "/annotations/sizeBytes"),
    "annotations-list": (row(annotations=[5]), "/annotations/sizeBytes"),
    "negative": (row(annotations={"sizeBytes": -1}), "/annotations/sizeBytes"),
    "true": (row(annotations={"sizeBytes": True}), "/annotations/sizeBytes"),
    "float": (row(annotations={"sizeBytes": 56.0}), "/annotations/sizeBytes"),
    "size-text": (row(annotations={"sizeBytes": "56"}), "/annotations/sizeBytes"),
    "huge": (row(annotations={"sizeBytes": 2**63}), "/annotations/sizeBytes"),
    "very-huge": (row(annotations={"sizeBytes": 10**4000}), "/annotations/sizeBytes"),
}


@pytest.mark.parametrize(("change", "pointer"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_row_of_another_shape(root: Path, change: Change, pointer: str) -> None:
    index = sorted(tiny.model(), key=str.encode).index(GUIDE)
    said = both(tiny.edit(root, change))
    assert said.code == 1
    faults = [f for f in said.findings if f["kind"] == "provenance-invalid"]
    assert [f["pointer"] for f in faults] == [f"/subject/{index}{pointer}"]
    assert len(faults[0]["message"]) < 200


@pytest.mark.parametrize("item", [None, 0, "x", [], [[]], True, 1.5], ids=repr)
def test_a_row_that_is_no_object(root: Path, item: object) -> None:
    said = both(tiny.edit(root, lambda s: s["subject"].insert(0, item)))
    assert [(f["kind"], f["pointer"]) for f in said.findings] == [("provenance-invalid", "/subject/0/name")]


def test_the_largest_size_that_counts(root: Path) -> None:
    said = both(tiny.edit(root, row(annotations={"sizeBytes": 2**63 - 1})))
    assert said.errors == {("hash-mismatch", GUIDE)}


def test_unknown_keys_and_missing_extras_are_no_findings(root: Path) -> None:
    def change(statement: dict[str, Any]) -> None:
        statement["later"] = {"a": [1, None, {}]}
        statement["predicate"] = {"buildDefinition": {"externalParameters": {"spec": {"name": "a/b", "odd": []}}}}
        for found in statement["subject"]:
            found["later"] = 1
            found["digest"]["sha512"] = 3
            found["annotations"] = {"sizeBytes": found["annotations"]["sizeBytes"], "role": ["odd"]}

    said = both(tiny.edit(root, change))
    assert (said.code, said.findings) == (0, [])


def test_every_fault_is_told(root: Path) -> None:
    def change(statement: dict[str, Any]) -> None:
        statement["_type"] = "x"
        statement["subject"][0]["digest"]["sha256"] = "x"
        statement["subject"][1]["annotations"]["sizeBytes"] = "x"
        statement["subject"][2]["name"] = "../x"

    said = both(tiny.edit(root, change))
    assert len([f for f in said.findings if f["kind"] in ("provenance-invalid", "unsafe-path")]) == 4


# ------------------------------------------------------------------------------------------------------------------ size


def test_a_provenance_beyond_the_limit_is_not_read(root: Path) -> None:
    os.truncate(root / tiny.PROVENANCE, verify_release.MAX_PROVENANCE_BYTES + 1)
    with within(60):
        said = both(root)
    assert (said.code, said.errors) == (1, {("provenance-invalid", tiny.PROVENANCE)})
    assert "was not read" in said.only()["message"]


MEASURED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (%d * 2**20,) * 2)
sys.argv = ["verify_release.py", "--json", "."]
import runpy
runpy.run_path(%r, run_name="__main__")
"""


def in_little_memory(root: Path, megabytes: int) -> tuple[int, dict[str, Any]]:
    """Exit code and answer of the stand-alone verifier with that much address space, of which Python itself takes some 30 MB."""
    program = MEASURED % (megabytes, str(tiny.VERIFIER_SOURCE))
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in done.stderr, done.stderr[-2000:]
    return done.returncode, json.loads(done.stdout)


LIMIT = verify_release.MAX_PROVENANCE_BYTES
measured = pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on address space")


@measured
@pytest.mark.parametrize("item", [b"[],", b"{},", b"0,", b'"a",'])
def test_sixty_megabytes_of_nothing(tmp_path: Path, item: bytes) -> None:
    """As Python objects they would take up to 1.5 GB."""
    (tmp_path / tiny.PROVENANCE).write_bytes(b'{"subject":[' + item * ((LIMIT - 20) // len(item)) + b"0]}")
    with within(60):
        code, value = in_little_memory(tmp_path, 512)
    assert code == 1
    assert [f["kind"] for f in value["findings"]] == ["provenance-invalid"]


@measured
@pytest.mark.parametrize("item", [b"[],", b"{},", b"0,", b'"a",'])
def test_a_million_malformed_rows(tmp_path: Path, item: bytes) -> None:
    (tmp_path / tiny.PROVENANCE).write_bytes(b'{"subject":[' + item * 1_000_000 + b"0]}")
    with within(60):
        code, value = in_little_memory(tmp_path, 512)
    assert code == 1
    assert len(value["findings"]) == verify_release.MAX_FAULTS + 1
    assert "the rest was not read" in json.dumps(value)


@measured
def test_a_million_rows_are_more_than_the_limit(tmp_path: Path) -> None:
    line = b'{"name":"%07d","digest":{"sha256":"' + b"0" * 64 + b'"},"annotations":{"sizeBytes":0}},'
    with (tmp_path / tiny.PROVENANCE).open("wb") as out:
        out.write(b'{"subject":[')
        for start in range(0, 1_000_000, 10_000):
            out.write(b"".join(line % n for n in range(start, start + 10_000)))
        out.write(b"0]}")
    with within(60):
        code, value = in_little_memory(tmp_path, 512)
    assert (code, [f["kind"] for f in value["findings"]]) == (1, ["provenance-invalid"])


def test_twenty_thousand_absent_files_are_one_finding(root: Path) -> None:
    tiny.edit(root, lambda s: s["subject"].extend(tiny.subject(f"shards/{n}.bin", b"x") for n in range(20_000)))
    with within(60):
        result = check_folder(root)
    assert result.findings == []
    (finding,) = verify_release.absences(result, other_errors=False)
    assert "of 20010 files" in finding.message
    assert len(finding.message) < 300


def test_deep_names_that_clash_take_no_more_than_themselves() -> None:
    """Each of these has 64 folders; telling all of them for each pair would take gigabytes."""
    names = [f"{n}{letter}/" + "/".join("d" * 63) for n in range(3000) for letter in "aA"]
    with within(60):
        assert len(list(collisions(names))) == 4 * 3000
