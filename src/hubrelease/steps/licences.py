"""LICENSE and NOTICE: carried over from the base; a licence that differs from the base's needs a stated reason."""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease import beside, resources
from hubrelease.errors import CheckFailed, Problem, problem
from hubrelease.lock import Lock
from hubrelease.spec import Spec
from hubrelease.steps import Build
from hubrelease.steps.side_files import is_licence_text, left_behind
from hubrelease.tree import Copy

CANONICAL = "canonical"


def licence_problems(spec: Spec, lock: Lock) -> Iterator[Problem]:
    """What can be said of the licence from spec and lock alone."""
    base = lock.source(spec.weights.source)
    if base is None:
        return
    if base.license and base.license != spec.license and not spec.text("license_reason"):
        message = f'the base "{base.name}" is {base.license}, the release {spec.license}'
        yield problem("license-undeclared", spec.where("/license"), message, "correct license, or give license_reason")
    asked = spec.text("license_text")
    if asked is None and not carried_text(spec, lock):
        message = "the base ships no licence text"
        yield problem(
            "license-undeclared",
            spec.where("/license"),
            message,
            "give license_text: a file beside release.yaml, or `canonical`",
        )
    if asked == CANONICAL and canonical_text(spec.license) is None:
        known = ", ".join(sorted(p.stem for p in (resources.folder("templates") / "licences").glob("*.txt")))
        yield problem("license-undeclared", spec.where("/license_text"), f"no canonical text of {spec.license} comes with hubrelease",
                      f"name a file; there are: {known}")  # fmt: skip
    if asked is not None and asked != CANONICAL and (fault := beside.fault_of(spec, asked, spec.where("/license_text"))):
        yield fault


def carried_text(spec: Spec, lock: Lock) -> bool:
    base = lock.source(spec.side_files.source) if spec.side_files else None
    return base is not None and any(is_licence_text(f.path) and not f.path.upper().startswith("NOTICE") for f in base.files)


def canonical_text(license_id: str) -> bytes | None:
    file = resources.folder("templates") / "licences" / f"{license_id}.txt"
    return file.read_bytes() if file.name in {p.name for p in file.parent.glob("*.txt")} else None


class Licences:
    name = "licences"

    def skip(self, build: Build) -> str | None:
        return None

    def run(self, build: Build) -> None:
        spec = build.spec
        if problems := list(licence_problems(spec, build.sources.lock)):
            raise CheckFailed(problems)
        assert spec.side_files is not None
        texts = [f for f in build.sources.files(spec.side_files.source) if is_licence_text(f.path) and not left_behind(spec, f.path)]
        asked, notice = spec.text("license_text"), spec.text("notice")
        replaced = {"LICENSE"} if asked else set()
        notices = [f for f in texts if f.path == "NOTICE"] if notice else []
        build.tree.copy_all([Copy(f.path, f) for f in texts if f.path not in replaced and f not in notices], "licences")
        if asked:
            text = canonical_text(spec.license) if asked == CANONICAL else beside.read(spec, asked, "/license_text")
            build.tree.put("LICENSE", text or b"")
        if notice:
            parts = [*(f.read() for f in notices), beside.read(spec, notice, "/notice")]
            build.tree.put("NOTICE", b"\n".join(part.rstrip(b"\n") + b"\n" for part in parts))
