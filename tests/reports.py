"""Validation reports for the tiny release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tiny
from meaning import Found, kinds, problems_of

from hubrelease import verify_release
from hubrelease.release import Release

REPORT = "benchmarks/release-validation.json"
PASSED = {"name": "load", "status": "pass", "required": True}


def report(**keys: Any) -> dict[str, Any]:
    return {"schemaVersion": 1, "result": "pass", "checks": [PASSED]} | keys


def with_report(
    tmp_path: Path, value: Any, spec: dict[str, Any] | None = None, path: str = REPORT, files: dict[str, bytes] | None = None
) -> Release:
    """The tiny release with a report about its own payload; a report without a subject gets the right one."""
    root = tiny.release(tmp_path / "release", files, spec)
    digest = verify_release.payload_digest(verify_release.check_folder(root).provenance.subjects)
    if isinstance(value, dict) and "subject" not in value:
        value = {**value, "subject": {"payloadDigest": digest}}
    tiny.write(root, {path: value if isinstance(value, bytes) else tiny.dumps(value)})
    tiny.seal(root, spec)
    return Release(root, verify_release.check_folder(root))


def judged_report(tmp_path: Path, value: Any, spec: dict[str, Any] | None = None, **more: Any) -> Found:
    return kinds(problems_of(with_report(tmp_path, value, spec, **more)))
