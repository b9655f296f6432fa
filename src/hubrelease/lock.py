"""release.lock.json: every source as commit, digest and files, as frozen values. Reads and writes; resolves nothing.

Its form is schemas/lock.schema.json. An entry keeps what was asked (`request`) beside what it was resolved to, so that
a changed release.yaml is seen without a network: `stale`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hubrelease import canonical, resources
from hubrelease.digest import FileDigest, tree_digest
from hubrelease.errors import CheckFailed, OutsideError, Problem, Where, problem
from hubrelease.schema_problems import validate
from hubrelease.spec import Source, Spec
from hubrelease.verify_release import path_fault, strict_json

FILE_NAME = "release.lock.json"


@dataclass(frozen=True, slots=True)
class LockedSource:
    """One source as resolved.

    `revision`: 40 hex (hf, git), the wheel's sha256 (pypi), the image's (image), the tree digest (folder).
    `files`: the wanted ones; `others`: paths that the source has besides. `archive`: the wheel itself.
    """

    name: str
    kind: str
    request: Mapping[str, Any]
    revision: str
    files: tuple[FileDigest, ...] = ()
    others: tuple[str, ...] = ()
    license: str | None = None
    archive: FileDigest | None = None
    private: bool = False

    def file(self, path: str) -> FileDigest | None:
        return next((f for f in self.files if f.path == path), None)


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """A Python package of the runtime: its version and the sha256 of each file that may be installed."""

    name: str
    version: str
    sha256: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LockedPackages:
    request: Mapping[str, Any]
    packages: tuple[LockedPackage, ...]


@dataclass(frozen=True, slots=True)
class Lock:
    """Sources in order of name, as in the file: a lock made just now and the same one read later give the same bytes."""

    sources: tuple[LockedSource, ...] = ()
    packages: LockedPackages | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", tuple(sorted(self.sources, key=lambda s: s.name)))

    def source(self, name: str) -> LockedSource | None:
        return next((s for s in self.sources if s.name == name), None)


# ------------------------------------------------------------------------------------------------------------ requests


def request_of(source: Source) -> dict[str, Any]:
    """What release.yaml asks of a source; equal requests need no new resolution."""
    asked: dict[str, Any] = {source.kind: source.locator}
    if source.revision is not None:
        asked["revision"] = source.revision
    if source.path:
        asked["path"] = source.path
    if source.kind != "image":
        asked["files"] = list(source.wanted)
    if source.license is not None:
        asked["license"] = source.license
    return asked


def same_files(source: Source, locked: LockedSource) -> bool:
    """True if the lock answers what is asked, the licence apart."""
    asked, held = request_of(source), dict(locked.request)
    return asked | {"license": None} == held | {"license": None}


def same_license(source: Source, locked: LockedSource) -> bool:
    """True if the licence that release.yaml states, or leaves to the source, is the one in the lock."""
    return source.license == locked.request.get("license") or (source.license is not None and source.license == locked.license)


def packages_request(spec: Spec) -> dict[str, Any] | None:
    runtime = spec.runtime
    if runtime is None or not runtime.packages:
        return None
    return {"packages": list(runtime.packages), "python": runtime.python, "platform": runtime.platform}


def stale(spec: Spec, lock: Lock) -> Iterator[Problem]:
    """A Problem for each way in which the lock does not fit the spec."""
    for source in spec.sources:
        locked = lock.source(source.name)
        where = spec.where(f"/sources/{source.name}")
        if locked is None:
            yield problem("lock-stale", where, f'{FILE_NAME} has no source "{source.name}"', "run `hubrelease pin`")
        elif not (same_files(source, locked) and same_license(source, locked)):
            yield problem(
                "lock-stale",
                where,
                f'"{source.name}" is asked for otherwise than {FILE_NAME} resolved it',
                "run `hubrelease pin`",
            )
    for locked in lock.sources:
        if spec.source(locked.name) is None:
            where = Where(FILE_NAME, None, f"/sources/{locked.name}")
            yield problem("lock-stale", where, f'"{locked.name}" is no longer a source of release.yaml', "run `hubrelease pin`")
    asked, held = packages_request(spec), lock.packages.request if lock.packages else None
    if asked != held:
        yield problem(
            "lock-stale",
            spec.where("/runtime/packages"),
            f"the runtime's packages are not those of {FILE_NAME}",
            "run `hubrelease pin`",
        )


# ---------------------------------------------------------------------------------------------------- reading, writing


def path_of(spec: Spec) -> Path:
    return spec.folder / FILE_NAME


def read(spec: Spec) -> Lock | None:
    """The lock beside release.yaml, None if there is none. CheckFailed (HR113) if it can't be understood."""
    try:
        data = path_of(spec).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OutsideError(
            problem("lock-invalid", FILE_NAME, f"could not be read: {error.strerror}", "give yourself read access")
        ) from None
    return loads(data)


def loads(data: bytes) -> Lock:
    """The Lock of the bytes of release.lock.json. CheckFailed (HR113) with every fault."""
    try:
        value = strict_json(data)
        canonical.compact(value)  # what could not be written again is refused here: half surrogates, endless nesting
        faults = validate(value, resources.schema("lock"), lambda pointer: Where(FILE_NAME, None, pointer))
    except RecursionError:
        raise CheckFailed(invalid("", "is nested too deeply")) from None
    except UnicodeEncodeError:
        raise CheckFailed(invalid("", "holds half a surrogate pair, which is no text")) from None
    except ValueError as error:
        raise CheckFailed(invalid("", f"is not JSON: {error}")) from None
    if faults:
        raise CheckFailed([invalid(p.where.pointer or "", p.message) for p in faults])
    lock = Lock(tuple(to_source(name, s) for name, s in value["sources"].items()), to_packages(value.get("packages")))
    if problems := list(content_faults(lock)):
        raise CheckFailed(problems)
    return lock


def invalid(pointer: str, message: str) -> Problem:
    return problem(
        "lock-invalid",
        Where(FILE_NAME, None, pointer),
        message,
        "restore it from version control, or remove it and run `hubrelease pin`",
    )


def content_faults(lock: Lock) -> Iterator[Problem]:
    """What a schema can't say: hostile paths, doubled paths, a tree digest that does not fit."""
    for source in lock.sources:
        seen: set[str] = set()
        for number, file in enumerate(source.files):
            at = f"/sources/{source.name}/files/{number}/path"
            if fault := path_fault(file.path):
                yield invalid(at, f"the path {file.path[:80]!r} {fault}")
            if file.path in seen:
                yield invalid(at, f"the path {file.path[:80]!r} stands twice")
            seen.add(file.path)
        if source.kind == "folder" and tree_digest(source.files) != source.revision:
            yield invalid(f"/sources/{source.name}/dirHash", "is not the digest of the files listed")


REVISION_KEYS = {"hf": "gitCommit", "git": "gitCommit", "pypi": "sha256", "image": "sha256", "folder": "dirHash"}


def to_source(name: str, value: Mapping[str, Any]) -> LockedSource:
    kind = next(kind for kind in REVISION_KEYS if kind in value["request"])
    archive = value.get("archive")
    return LockedSource(
        name=name, kind=kind, request=value["request"], revision=value[REVISION_KEYS[kind]],
        files=tuple(to_file(f) for f in value.get("files", ())), others=tuple(value.get("others", ())),
        license=value.get("license"), archive=to_file(archive) if archive else None, private=value.get("private", False),
    )  # fmt: skip


def to_file(value: Mapping[str, Any]) -> FileDigest:
    return FileDigest(value["path"], value["sha256"], value["sizeBytes"])


def to_packages(value: Mapping[str, Any] | None) -> LockedPackages | None:
    if value is None:
        return None
    rows = value["resolved"]
    return LockedPackages(value["request"], tuple(LockedPackage(r["name"], r["version"], tuple(r["sha256"])) for r in rows))


def dumps(lock: Lock) -> bytes:
    """The bytes of release.lock.json."""
    value: dict[str, Any] = {"schemaVersion": 1, "sources": {s.name: from_source(s) for s in lock.sources}}
    if lock.packages:
        value["packages"] = {
            "request": dict(lock.packages.request),
            "resolved": [{"name": p.name, "version": p.version, "sha256": list(p.sha256)} for p in lock.packages.packages],
        }
    return canonical.dumps(value)


def from_source(source: LockedSource) -> dict[str, Any]:
    value: dict[str, Any] = {"request": dict(source.request), REVISION_KEYS[source.kind]: source.revision}
    if source.kind != "image":
        value["files"] = [from_file(f) for f in sorted(source.files)]
    if source.others:
        value["others"] = sorted(source.others)
    if source.license:
        value["license"] = source.license
    if source.archive:
        value["archive"] = from_file(source.archive)
    if source.private:
        value["private"] = True
    return value


def from_file(file: FileDigest) -> dict[str, Any]:
    return {"path": file.path, "sha256": file.sha256, "sizeBytes": file.size}
