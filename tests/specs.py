"""Folders with a release.yaml for tests: the shortest spec that is good, and what load_spec says of others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import tiny
import tiny_upstream

import hubrelease
from hubrelease.errors import Problem, ReleaseError
from hubrelease.spec import Spec

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "sha256:" + "a" * 64
MINIMAL: dict[str, Any] = {"schema": 1, "name": "owner/tiny", "version": "1.0.0", "license": "apache-2.0", "weights": {"format": "as-is"}}
LOCAL: dict[str, Any] = {**MINIMAL, "sources": {"base_model": {"folder": "base", "license": "apache-2.0"}}}
Text = str | bytes | Mapping[str, Any]


def folder(root: Path, spec: Text, **files: Text) -> Path:
    """`root` with release.yaml and other files; mappings are written as JSON. `__` in a keyword stands for a dot."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in {"release.yaml": spec, **{key.replace("__", "."): value for key, value in files.items()}}.items():
        data = content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content, indent=1)).encode()
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def local(root: Path, **changes: Any) -> Path:
    """A folder whose base model is a tiny one beside its release.yaml, pinned."""
    folder(root, {**LOCAL, **changes})
    tiny.write(root / "base", tiny_upstream.base())
    hubrelease.pin(hubrelease.load_spec(root))
    return root


def load(root: Path, spec: Text, **files: Text) -> Spec:
    return hubrelease.load_spec(folder(root, spec, **files))


def problems(root: Path, spec: Text, **files: Text) -> list[Problem]:
    """What load_spec refuses."""
    with pytest.raises(ReleaseError) as caught:
        load(root, spec, **files)
    for problem in caught.value.problems:
        assert problem.message
        assert problem.mend
        assert len(problem.message) < 600
    return list(caught.value.problems)


def faults(call: Callable[[], object]) -> list[Problem]:
    """The problems with which a call ended; none if it did not. Anything but a ReleaseError that it raises fails the test."""
    found: list[Problem] | None = None
    try:
        call()
    except ReleaseError as error:
        found = list(error.problems)
    assert found is None or found
    return found or []


def places(found: list[Problem]) -> list[tuple[str, str, int | None, str | None]]:
    """(kind, file, line, pointer) of each problem."""
    return [(p.kind, p.where.file, p.where.line, p.where.pointer) for p in found]


def only(found: list[Problem]) -> Problem:
    (problem,) = found
    return problem
