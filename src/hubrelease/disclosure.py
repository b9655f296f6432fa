"""What a release may say of where its bytes come from: private repositories and folders of this machine stay out of it.

A private repository is named only if `publish.disclose` lists its source; a repository on this disk (git over file://)
never is, for its address is a path of this machine. In their place stands a stand-in, with the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hubrelease.errors import Problem, problem
from hubrelease.lock import Lock, LockedSource
from hubrelease.manifest import Entry
from hubrelease.sources import kinds
from hubrelease.spec import Spec

STAND_INS = {"hf": "undisclosed/undisclosed", "git": "file:///undisclosed"}
MAX_BYTES = 16 * 2**20  # larger files, and weights, are not searched for names


def hidden(spec: Spec, lock: Lock) -> dict[str, LockedSource]:
    """The sources that the release must not name, by name."""
    allowed = spec.document.get("publish", {}).get("disclose", ())
    return {s.name: s for s in lock.sources if is_local(s) or (s.private and s.name not in allowed)}


def is_local(locked: LockedSource) -> bool:
    return locked.kind == "git" and locked.request["git"].startswith("file:")


def document(spec: Spec, lock: Lock) -> Mapping[str, Any]:
    """release.yaml as read, with stand-ins."""
    found = hidden(spec, lock)
    if not found:
        return spec.document
    sources = {
        name: {**value, found[name].kind: STAND_INS[found[name].kind]} if name in found else value
        for name, value in spec.document["sources"].items()
    }
    return {**spec.document, "sources": sources}


def uri(spec: Spec, lock: Lock, locked: LockedSource) -> str:
    """in-toto's address of a source, or its stand-in."""
    if locked.name not in hidden(spec, lock):
        return kinds()[locked.kind].uri(locked)
    return {"hf": "hf://", "git": "git+"}[locked.kind] + STAND_INS[locked.kind]


def leaks(spec: Spec, lock: Lock, root: Path, entries: Iterable[Entry]) -> Iterator[Problem]:
    """A Problem for each file of a staged release that names a source which must stay out of it."""
    names = {name: locator_of(locked).encode() for name, locked in hidden(spec, lock).items()}
    rows = [e for e in entries if e.role != "weights" and e.size <= MAX_BYTES] if names else []
    for entry in rows:
        data = (root / entry.path).read_bytes()
        plain = data.replace(b"\\", b"")  # Markdown and JSON may have put backslashes before its characters
        for name, locator in names.items():
            if locator in data or locator in plain:
                message = f'names the repository of "{name}", which is private or of this machine'
                mend = f"take the name out; a private one may stay if publish.disclose lists {name}"
                yield problem("source-undisclosed", entry.path, message, mend)


def locator_of(locked: LockedSource) -> str:
    found: str = locked.request[locked.kind]
    return found.removeprefix("file://")
