"""A tiny release that is sealed for real, and `hubrelease validate` on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import tiny
from project import Ended, run_here

from hubrelease import cards, gpus, released, suites, validator
from hubrelease.gpus import GPU, Found
from hubrelease.verifier import verify

REPORT, CPU, FUNCTIONAL = "benchmarks/release-validation.json", "conversion_validation.json", "benchmarks/validation.json"
NO_GPU = Found(missing="no NVIDIA driver (nvidia-smi is not there)")
PROMISE = {"kind": "verify", "image": "i@sha256:" + "0" * 64, "compute_capabilities": ["9.0"]}
QUICK = {"latency_tokens": [16], "limits": {"start_s": 0.6, "request_s": 2}}


def h200(capability: str = "9.0") -> Found:
    return Found((GPU("NVIDIA H200", capability, 143771, 700.0, 700.0),), "580.65", "13.0")


def release(
    root: Path, spec: dict[str, Any] | None = None, takes: tuple[str, ...] = ("chat", "streaming"), asked: dict[str, Any] | None = None
) -> Path:
    """Sealed with a card that its data renders to, and with a suite."""
    document = suites.document_for(takes, QUICK if asked is None else QUICK | asked, None)
    files: dict[str, bytes | None] = {suites.FILE: tiny.dumps(document), REPORT: tiny.dumps({}), "README.md": b""}
    pictures = {name for request in document["requests"] for name in request.get("images", ())}
    files |= {f"{suites.FOLDER}/{name}": suites.default_picture(name) for name in pictures}
    tiny.release(root, files, spec)
    digest = verify(root).payload_digest
    empty = {
        "schemaVersion": 1,
        "result": "not-run",
        "reason": "no validation was run on these files",
        "subject": {"payloadDigest": digest},
        "checks": [],
    }
    tiny.write(root, {REPORT: tiny.dumps(empty)})
    tiny.seal(root, spec)
    facts, report = released.of_release(root)
    tiny.write(root, {path: text.encode() for path, text in cards.files(facts, report).items()})
    return tiny.seal(root, spec)


@contextmanager
def machine(found: Found = NO_GPU) -> Iterator[None]:
    """With the GPUs that are given, and no other."""
    used = 1000 if found.gpus else None
    with mock.patch.object(gpus, "find", return_value=found), mock.patch.object(gpus, "memory_used_mib", return_value=used):
        yield


def validate(root: Path, *words: str, found: Found = NO_GPU) -> Ended:
    with machine(found):
        return run_here({"PATH": "/usr/bin:/bin", "HOME": str(root.parent)}, "validate", str(root), *words)


def report(root: Path, file: str = REPORT) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((root / file).read_bytes())
    return value


def row(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(check for check in found["checks"] if check["name"] == name)


def kinds(root: Path) -> set[tuple[str, str]]:
    """What verify finds: kinds and severities."""
    return {(p.kind, p.severity) for p in verify(root).problems}


__all__ = ["CPU", "FUNCTIONAL", "PROMISE", "REPORT", "h200", "kinds", "machine", "release", "report", "row", "validate", "validator"]
