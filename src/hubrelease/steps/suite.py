"""runtime/suite/: what the release is asked when it is validated, and the limits, where release.yaml has `validation`."""

from __future__ import annotations

import posixpath
from typing import Any

from hubrelease import beside, canonical, suites
from hubrelease.errors import CheckFailed, Where, problem
from hubrelease.steps import Build
from hubrelease.verify_release import strict_json


class Suite:
    name = "suite"

    def skip(self, build: Build) -> str | None:
        return None if "validation" in build.spec.document else "no validation in release.yaml"

    def run(self, build: Build) -> None:
        asked: dict[str, Any] = build.spec.document["validation"]
        own = own_suite(build) if "suite" in asked else None
        document = suites.document_for(takes(build), asked, own)
        if bad := list(suites.problems_of(document, lambda pointer: Where(suites.FILE, None, pointer))):
            raise CheckFailed(bad)
        for name in sorted({picture for request in document["requests"] for picture in request.get("images", ())}):
            build.tree.put(f"{suites.FOLDER}/{name}", picture_of(build, name, own is not None), "runtime")
        build.tree.put(suites.FILE, canonical.dumps(document), "runtime")


def own_suite(build: Build) -> dict[str, Any]:
    """The suite beside release.yaml."""
    path = build.spec.document["validation"]["suite"]
    try:
        value = strict_json(beside.read(build.spec, path, "/validation/suite"))
        if not isinstance(value, dict):
            raise ValueError("is no JSON object")
    except ValueError as error:
        where = build.spec.where("/validation/suite")
        raise CheckFailed(problem("suite-invalid", where, f"{path}: {error}", "see schemas/suite.schema.json")) from None
    if bad := list(suites.problems_of(value, lambda pointer: Where(path, None, pointer))):
        raise CheckFailed(bad)
    return value


def picture_of(build: Build, name: str, is_own: bool) -> bytes:
    """A picture lies beside the suite that names it; those of the default requests are hubrelease's own."""
    if not is_own:
        try:
            return suites.default_picture(name)
        except OSError:
            return beside.read(build.spec, name, "/validation/checks")
    folder = posixpath.dirname(build.spec.document["validation"]["suite"])
    return beside.read(build.spec, posixpath.join(folder, name), "/validation/suite")


def takes(build: Build) -> tuple[str, ...]:
    """Read from the files that are staged by now."""
    paths = frozenset(entry.path for entry in build.tree.list())
    return suites.takes_of(build.spec.document, staged_json(build, "config.json"), paths, staged_json(build, "tokenizer_config.json"))


def staged_json(build: Build, path: str) -> dict[str, Any]:
    try:
        value = strict_json((build.tree.root / path).read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
