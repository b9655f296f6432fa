"""Spec + Lock + manifest → MODEL_PROVENANCE.json: an in-toto Statement v1 with an SLSA v1 predicate (contract.md 3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hubrelease import __version__, canonical, disclosure
from hubrelease.lock import Lock, LockedSource
from hubrelease.manifest import REPORT, Entry
from hubrelease.spec import Spec
from hubrelease.verify_release import PREDICATE_TYPE, STATEMENT_TYPE


def statement(spec: Spec, lock: Lock, entries: Sequence[Entry]) -> bytes:
    """The bytes of MODEL_PROVENANCE.json for these files."""
    byproducts = [{"name": e.path, "digest": {"sha256": e.sha256}} for e in entries if e.path == REPORT]
    value = {
        "_type": STATEMENT_TYPE,
        "subject": [subject(e) for e in sorted(entries, key=lambda e: e.path.encode())],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:hubrelease:release:v1",
                "externalParameters": {"spec": disclosure.document(spec, lock)},
                "resolvedDependencies": [
                    *(dependency(s, disclosure.uri(spec, lock, s)) for s in lock.sources),
                    *image_dependency(spec),
                    *packages(lock),
                ],
            },
            "runDetails": {
                "builder": {"id": "urn:hubrelease", "version": {"hubrelease": __version__}},
                "byproducts": byproducts,
            },
        },
    }
    return canonical.dumps(value)


def subject(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.path,
        "digest": {"sha256": entry.sha256},
        "annotations": {"sizeBytes": entry.size, "role": entry.role},
    }


def dependency(locked: LockedSource, uri: str) -> dict[str, Any]:
    kind = {"hf": "gitCommit", "git": "gitCommit", "folder": "dirHash"}.get(locked.kind, "sha256")
    notes: dict[str, Any] = {"files": sorted([*(f.path for f in locked.files), *locked.others])} if locked.kind != "image" else {}
    if locked.license:
        notes["license"] = locked.license
    return {
        "name": locked.name,
        "uri": uri,
        "digest": {kind: locked.revision},
        **({"annotations": notes} if notes else {}),
    }


def image_dependency(spec: Spec) -> list[dict[str, Any]]:
    """The image that `runtime.image` gives itself, rather than by a source's name."""
    image = spec.runtime.image if spec.runtime else None
    if not image or spec.source(image):
        return []
    name, digest = image.split("@sha256:")
    return [{"name": "runtime_image", "uri": f"oci://{name}", "digest": {"sha256": digest}}]


def packages(lock: Lock) -> list[dict[str, Any]]:
    found = lock.packages.packages if lock.packages else ()
    return [
        {
            "name": re.sub(r"[^a-z0-9]+", "_", p.name),
            "uri": f"pkg:pypi/{p.name}@{p.version}",
            "digest": {"sha256": p.sha256[0]},
        }
        for p in found
    ]
