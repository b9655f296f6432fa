"""Packages that a release's runtime installs: requirements files, pip and uv lines of Dockerfiles, dependencies of pyproject.toml.

A requirement is read by PEP 508's grammar as far as it is needed: name, extras, version clauses, marker, or a direct
reference. Names are compared in PEP 503's normal form.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hubrelease.dockerfiles import Dockerfile, dockerfiles, expand

if TYPE_CHECKING:
    from hubrelease.release import Release

FILE = re.compile(r"(.*/)?(requirements[\w.-]*|constraints[\w.-]*|[\w.-]*requirements)\.(txt|in|lock)|requirements/[^/]+\.(txt|in)")
REQUIREMENT = re.compile(r"([A-Za-z0-9](?:[\w.-]{0,100}[A-Za-z0-9])?)\s{0,4}(\[[^\]]{0,200}\])?\s{0,4}(.*)", re.S)
INSTALL = re.compile(r"(?:\bpip3?(?:\.\d+)?|\buv\s+pip|\bpython3?(?:\.\d+)?\s+-m\s+pip)\s+install\b")
OPTIONS_WITH_VALUE = (
    "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target --python --platform --prefix --root "
    "--src --timeout --retries --trusted-host --cache-dir --progress-bar --index-strategy -C --config-settings --config-setting "
    "--no-binary --only-binary --implementation --abi --python-version --proxy --torch-backend --global-option --report --log "
    "--upgrade-strategy --index --default-index --no-build-package"
)
WITH_VALUE = frozenset(OPTIONS_WITH_VALUE.split())
MAX_BYTES, MAX_LINES = 4 * 2**20, 100_000


@dataclass(frozen=True)
class Requirement:
    """`exact` is the version of an == or === clause, or of a wheel's file name; `pinned` says that nothing can move.

    `marker` is what follows the semicolon: the same package may be pinned twice under different markers.
    """

    name: str
    text: str
    file: str
    line: int
    exact: str | None
    pinned: bool
    marker: str = ""


def requirements(release: Release) -> Iterator[Requirement]:
    for path in sorted(release.files):
        if FILE.fullmatch(path):
            yield from in_file(path, text_of(release, path))
        elif path.rpartition("/")[2] == "pyproject.toml":
            yield from in_pyproject(path, text_of(release, path))
    for found in dockerfiles(release):
        yield from in_dockerfile(found)


def text_of(release: Release, path: str) -> str:
    try:
        data = release.read(path, MAX_BYTES)
    except OSError:
        data = None
    return data.decode("utf-8-sig", "replace") if data else ""


def in_file(path: str, text: str) -> Iterator[Requirement]:
    pending, start = "", 0
    for number, row in enumerate(text.replace("\r\n", "\n").split("\n")[:MAX_LINES], 1):
        if not pending:
            start = number
        if row.endswith("\\"):
            pending += row[:-1] + " "
            continue
        whole, pending = re.sub(r"(^|\s)#.*", "", pending + row).strip(), ""
        if whole and not whole.startswith("-"):
            found = requirement(re.split(r"\s--hash[=\s]", whole)[0].strip(), path, start)
            if found:
                yield found


def in_dockerfile(found: Dockerfile) -> Iterator[Requirement]:
    for row in found.instructions:
        if row.word == "RUN":
            for command in INSTALL.split(expand(row.text, found.variables))[1:]:
                yield from in_command(re.split(r"&&|\|\||;|\||\n(?!\s)", command)[0], found.file, row.line)


def in_command(words: str, file: str, line: int) -> Iterator[Requirement]:
    try:
        parts = shlex.split(words)
    except ValueError:
        parts = words.split()
    skip = False
    for part in parts:
        if skip or part.startswith("-"):
            skip = not skip and part in WITH_VALUE
        elif not part.startswith((".", "/", "$", "<", ">")) and (found := requirement(part, file, line)):
            yield found


def in_pyproject(path: str, text: str) -> Iterator[Requirement]:
    """Only what [project] dependencies pin exactly: a library's ranges are right as they are."""
    try:
        project = tomllib.loads(text).get("project")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return
    rows = project.get("dependencies") if isinstance(project, dict) else None
    for row in rows if isinstance(rows, list) else ():
        found = requirement(row, path, text.count("\n", 0, max(text.find(row), 0)) + 1) if isinstance(row, str) else None
        if found and found.exact:
            yield found


def requirement(text: str, file: str, line: int) -> Requirement | None:
    """None for what is no requirement by name."""
    text = text.strip()[:1000]
    spec, _, marker = text.partition(";")
    if re.match(r"(git\+|hg\+|svn\+|bzr\+)?[a-z]+(\+[a-z]+)?://", spec):
        return by_address(spec.strip(), "", text, file, line)
    match = REQUIREMENT.fullmatch(spec.strip())
    if match is None:
        return by_wheel(spec.strip(), text, file, line)
    name, rest = match[1], match[3].strip()
    if spec.strip().endswith((".whl", ".tar.gz", ".zip")) and "==" not in rest:
        return by_wheel(spec.strip(), text, file, line)
    if rest.startswith("@"):
        return by_address(rest[1:].strip(), name, text, file, line)
    clauses = [c.strip() for c in rest.strip("()").split(",") if c.strip()]
    if any(not re.match(r"(===|==|~=|!=|<=|>=|<|>)", c) for c in clauses):
        return None
    exact = next((c.lstrip("=").strip() for c in clauses if c.startswith("==")), None)
    wild = exact is not None and (exact.endswith(".*") or "$" in exact)  # a variable without a value pins nothing
    return Requirement(normal(name), text, file, line, None if wild else exact, exact is not None and not wild, marker.strip())


def by_address(address: str, name: str, text: str, file: str, line: int) -> Requirement:
    """A direct reference: pinned by a commit, or by a hash or a version in the file's name."""
    commit = re.search(r"@([0-9a-f]{7,40})(?:[#?].*)?$", address)
    egg = re.search(r"#(?:.*&)?egg=([\w.-]{1,100})", address)
    wheel = wheel_version(address.partition("#")[0].rpartition("/")[2])
    pinned = bool(commit) or "sha256=" in address or wheel is not None
    shown = name or (egg[1] if egg else "") or (wheel[0] if wheel else address.partition("?")[0].rpartition("/")[2])
    return Requirement(normal(shown), text, file, line, wheel[1] if wheel else None, pinned)


def by_wheel(text: str, whole: str, file: str, line: int) -> Requirement | None:
    wheel = wheel_version(text.rpartition("/")[2])
    return Requirement(normal(wheel[0]), whole, file, line, wheel[1], True) if wheel else None


def wheel_version(name: str) -> tuple[str, str] | None:
    match = re.fullmatch(r"([\w.]{1,100}?)-(\d[\w.+!]{0,60})(?:-[\w.+-]{1,200})?\.(?:whl|tar\.gz|zip)", name)
    return (match[1], match[2].replace("%2B", "+")) if match else None


def normal(name: str) -> str:
    """PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()
