"""The card of a spec outside of a build: where its facts come from when nothing is being built."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hubrelease import __version__, beside, canonical, verify_release
from hubrelease import lock as locks
from hubrelease.cards import render
from hubrelease.digest import key_of, sha256
from hubrelease.errors import CheckFailed, OutsideError, ReleaseError, problem
from hubrelease.facts import Facts
from hubrelease.lock import Lock
from hubrelease.manifest import REPORT, Entry
from hubrelease.outside import Outside
from hubrelease.payload import Payload, measure
from hubrelease.receipts import read_all
from hubrelease.spec import Spec
from hubrelease.steps.validation import report_for, subject_of
from hubrelease.weights import ContainerFault


def render_spec(spec: Spec, outside: Outside, tree: Path | None = None) -> str:
    """The card of `spec`; payload facts from `tree`, else from the last build with the same payload key, else none."""
    lock = locks.read(spec) or Lock()
    receipts = {path: value for path, (_, value) in read_all(spec).items()}
    payload, report = facts_of_tree(tree) if tree else last_build(spec, lock, outside.cache)
    return render(Facts(spec, lock, receipts, payload), report)


def facts_of_tree(root: Path) -> tuple[Payload, Mapping[str, Any] | None]:
    """Payload and report of a release folder; its digests are those that its own provenance lists."""
    folder = verify_release.Folder(root)
    try:
        provenance = verify_release.parse_provenance(folder.read(verify_release.PROVENANCE, verify_release.MAX_PROVENANCE_BYTES))
        if provenance.findings:
            raise CheckFailed(problem("lock-invalid", str(root), provenance.findings[0].message, "build it again"))
        payload = measure(root, [Entry(s.name, s.sha256, s.size, s.role) for s in provenance.subjects])
    except ContainerFault as fault:
        raise CheckFailed([problem("weights-unusable", str(root), f.message, "build it again") for f in fault.faults]) from None
    except OSError as error:
        absent = os.path.relpath(error.filename, root) if error.filename else ""
        message = f"is no whole release: {absent} {error.strerror}".replace("  ", " ")
        raise OutsideError(problem("source-unreachable", str(root), message, "name a built release")) from None
    return payload, report_of(folder, payload.digest)


def report_of(folder: verify_release.Folder, digest: str) -> Mapping[str, Any] | None:
    """The validation report of a release, if it is about this very payload."""
    try:
        data = folder.read(REPORT, 2**24)
        report = verify_release.strict_json(data)
    except (OSError, ValueError):
        return None
    return report if subject_of(data) == digest else None


# ------------------------------------------------------------------------------------------ what the last build measured


def payload_key(spec: Spec, lock: Lock) -> str:
    """Equal for specs that give the same payload: everything but the card, receipts and texts outside of it.

    Files beside release.yaml that become part of the payload count with their bytes. CheckFailed where one is absent.
    """
    local = [sha256(beside.read(spec, f.path, f"/files/{i}/from")) for i, f in enumerate(spec.files) if f.source is None]
    shaping = {
        k: v
        for k, v in spec.document.items()
        if k not in ("card", "benchmarks", "waive", "publish", "validation", "notice", "license_text")
    }
    return key_of(__version__, shaping, local, locks.dumps(lock).decode())  # another version may measure otherwise


def facts_file(cache: Path, key: str) -> Path:
    return cache / "payloads" / f"{key}.json"


def save_facts(spec: Spec, lock: Lock, cache: Path, payload: Payload) -> None:
    """Keeps what a build measured, for `card render`. Losing it only means building again."""
    file = facts_file(cache, payload_key(spec, lock))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        scratch = file.with_suffix(f".{os.getpid()}")
        scratch.write_bytes(canonical.dumps({"digest": payload.digest, "facts": payload.facts}))
        scratch.replace(file)
    except OSError:
        return


def last_build(spec: Spec, lock: Lock, cache: Path) -> tuple[Payload | None, Mapping[str, Any] | None]:
    try:
        value = json.loads(facts_file(cache, payload_key(spec, lock)).read_bytes())
        payload = Payload(str(value["digest"]), {name: dict(value["facts"][name]) for name in ("files", "weights")})
    except (OSError, ValueError, KeyError, TypeError, ReleaseError):
        return None, None
    return payload, json.loads(report_for(payload.digest, None))
