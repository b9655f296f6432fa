"""Which release a folder says it is: told only by a sound provenance, with the verifier's own digest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import runtime_path  # noqa: F401
from server.identity import identity

from hubrelease import verify_release

RULES = Path(verify_release.__file__)
SPEC = {"name": "owner/tiny", "version": "1.2.0"}


def provenance(folder: Path, spec: Any, *names: str) -> list[verify_release.Subject]:
    subjects = [verify_release.Subject(name, "a" * 64, 7, "other") for name in sorted(names)]
    rows = [{"name": s.name, "digest": {"sha256": s.sha256}, "annotations": {"sizeBytes": s.size, "role": s.role}} for s in subjects]
    body = {
        "_type": verify_release.STATEMENT_TYPE,
        "subject": rows,
        "predicateType": verify_release.PREDICATE_TYPE,
        "predicate": {"buildDefinition": {"externalParameters": {"spec": spec}}},
    }
    (folder / verify_release.PROVENANCE).write_text(json.dumps(body))
    return subjects


def test_a_release_has_name_version_and_payload_digest(tmp_path: Path) -> None:
    subjects = provenance(tmp_path, SPEC, "config.json", "README.md")
    assert identity(tmp_path, RULES) == {
        "model": "owner/tiny",
        "version": "1.2.0",
        "payloadDigest": verify_release.payload_digest(subjects),
    }


def test_what_is_not_there_is_not_told(tmp_path: Path) -> None:
    assert identity(tmp_path, RULES) == {}
    provenance(tmp_path, {"name": "owner/tiny"}, "config.json")
    assert sorted(identity(tmp_path, RULES)) == ["model", "payloadDigest"]
    assert identity(tmp_path, tmp_path / "absent.py") == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"subject": 1}', "[" * 100_000, '{"a":1,"a":2}', "\ud800"])
def test_an_unsound_provenance_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / verify_release.PROVENANCE).write_bytes(text.encode("utf-8", "surrogatepass"))
    assert identity(tmp_path, RULES) == {}


def test_a_listing_with_a_fault_has_no_digest(tmp_path: Path) -> None:
    provenance(tmp_path, SPEC, "config.json", "../escape")
    assert identity(tmp_path, RULES) == {}
