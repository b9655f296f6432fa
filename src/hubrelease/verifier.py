"""Every check over a release → a Verdict. `verify` reads a folder; build and seal run the same checks before sealing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hubrelease import remote, verify_release
from hubrelease.against import against_problems
from hubrelease.checks import as_problem, checks
from hubrelease.collector import paused_collector
from hubrelease.conversion.selection import Rederived, Selection
from hubrelease.errors import Exit, Problem, worst
from hubrelease.hub import HuggingFaceHub
from hubrelease.identity import Expected, identity_problems
from hubrelease.outside import network_is_off
from hubrelease.progress import SILENT, Progress
from hubrelease.release import Release
from hubrelease.remote_tree import read_listing, remote_problems


@dataclass(frozen=True)
class Verdict:
    """What verifying found: every problem, the release's name and digests, what was looked at."""

    problems: tuple[Problem, ...]
    name: str | None
    release_digest: str
    payload_digest: str
    checked: Mapping[str, int]
    strict: bool = False
    rederived: tuple[str, ...] = ()
    rederivable: int = 0

    @property
    def exit(self) -> Exit:
        """0 good, 1 bad, 3 undecided, 4 signature. With `strict`, a warning is bad."""
        code = worst(self.problems)
        return Exit.BAD if code in (Exit.GOOD, Exit.OUTSIDE) and self.strict and self.warnings else code

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(p for p in self.problems if p.severity == "warning")

    @property
    def word(self) -> str:
        return {Exit.GOOD: "good", Exit.OUTSIDE: "undecided"}.get(self.exit, "bad")


@dataclass(frozen=True)
class Request:
    """What else to hold a release against. `deep` reads all tensors, not only scales."""

    strict: bool = False
    deep: bool = False
    against: Path | None = None
    remote_tree: Path | None = None
    expected: Expected = field(default_factory=Expected)
    rederive: Selection | None = None
    base: Path | None = None


def verify(
    folder: str | Path,
    *,
    strict: bool = False,
    deep: bool = False,
    against: str | Path | None = None,
    remote_tree: str | Path | None = None,
    expected: Expected = Expected(),  # noqa: B008  a frozen value
    rederive: Selection | None = None,
    base: str | Path | None = None,
    progress: Progress = SILENT,
) -> Verdict:
    """The Verdict on a release folder, or on hf://REPO@REV; undecided, with that one problem, where it can't be opened.

    `against` is another build of the same release; `remote_tree` a stored listing of the Hub; `expected` what the
    reader wants it to be. `rederive` names weights to derive again from the pinned base (`base`: its folder, where it
    is not on the Hub). Raises OutsideError where the Hub, or one of those files, can't be reached.
    Example: `hubrelease.verify("dist/minilm").exit == 0`
    """
    asked = Request(strict, deep, path_or_none(against), path_or_none(remote_tree), expected, rederive, path_or_none(base))
    if isinstance(folder, str) and folder.startswith(remote.PREFIX):
        place = remote.place_of(folder)
        asked = replace(asked, expected=replace(expected, place_name=place.repo, place_version=place.version))
        with remote.remote_release(place, HuggingFaceHub(network_is_off()), progress) as release:
            return judged(release, asked, progress)
    root = Path(folder)
    progress.start("hashing", None)
    try:
        result = hashed_while_loading(root, progress)
    finally:
        progress.finish()
    return judged(Release(root, result, deep=deep), asked, progress)


def hashed_while_loading(root: Path, progress: Progress) -> verify_release.Result:
    """check_folder, while the checks' modules are imported: hashing needs the interpreter only between two chunks.

    The shorter switch interval keeps hashing threads from waiting 5 ms for it each time (measured: 0.2 s of 3.5).
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        result, _ = verify_release.in_threads(
            lambda work: work(), [lambda: verify_release.check_folder(root, count=progress.advance), checks], 2
        )
    finally:
        sys.setswitchinterval(interval)
    found: verify_release.Result = result
    return found


def path_or_none(value: str | Path | None) -> Path | None:
    return Path(value) if value else None


def judged(release: Release, asked: Request, progress: Progress) -> Verdict:
    """Every check, every comparison that was asked for, and what is absent."""
    found = run_checks(release)
    found += identity_problems(release, asked.expected)
    if asked.remote_tree:
        found += collected("remote-tree", remote_problems(release, read_listing(asked.remote_tree)))
    if asked.against:
        found += collected("against", against_problems(release, asked.against))
    derived = derived_again(release, asked, progress)
    found += derived.problems
    found += [as_problem(f) for f in verify_release.absences(release.result, worst(found) != Exit.GOOD)]
    return replace(verdict_of(release, found, asked.strict), rederived=derived.names, rederivable=derived.of)


def derived_again(release: Release, asked: Request, progress: Progress) -> Rederived:
    """The weights that were asked for, derived again from the base; none where none were asked for."""
    if asked.rederive is None:
        return Rederived((), 0, ())
    from hubrelease.conversion.rederive import base_reader, rederive

    read = base_reader(release, HuggingFaceHub(network_is_off()), asked.base)
    progress.start("deriving weights again", None)
    try:
        return rederive(release, asked.rederive, read, progress.advance)
    finally:
        progress.finish()


def verdict_of(release: Release, found: Iterable[Problem], strict: bool) -> Verdict:
    subjects = release.result.provenance.subjects
    rows = sorted(
        apply_waivers(release, found, strict),
        key=lambda p: (verify_release.printable(p.where.file), p.code, p.where.line or 0, p.where.pointer or ""),
    )
    return Verdict(
        tuple(rows),
        verify_release.release_name(release.document),
        verify_release.release_digest(subjects),
        verify_release.payload_digest(subjects),
        {"files": release.result.files_checked, "bytes": release.result.bytes_checked},
        strict,
    )


def run_checks(release: Release) -> list[Problem]:
    """Every finding of every check, each once."""
    found: list[Problem] = []
    with paused_collector():
        for check in checks():
            found += collected(check.kind, check.run(release))
    return list(dict.fromkeys(found))


def collected(name: str, problems: Iterable[Problem]) -> list[Problem]:
    """The problems that a check yields. A file that it can't read is an undecided finding."""
    found: list[Problem] = []
    try:
        found.extend(problems)
    except OSError as error:
        found.append(as_problem(verify_release.unreadable(str(error.filename or name), error)))
    return found


# -------------------------------------------------------------------------------------------------------------- waivers


def waivers_of(spec: Mapping[str, Any]) -> Iterator[tuple[str, str | None, str]]:
    """(code, file, reason) of each well-formed waiver of a spec, which may be a hostile document."""
    rows = spec.get("waive")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("code"), str) and isinstance(row.get("reason"), str) and row["reason"].strip():
            yield row["code"], row.get("file"), row["reason"]


def apply_waivers(release: Release, found: Iterable[Problem], strict: bool) -> Iterator[Problem]:
    """A waived error counts as a warning; with `strict` it stays an error."""
    waivable = {check.code for check in checks() if check.waivable}
    waivers = [waiver for waiver in waivers_of(release.spec) if waiver[0] in waivable]
    for item in found:
        reason = next((r for code, file, r in waivers if code == item.code and file in (None, item.where.file)), None)
        if reason is None:
            yield item
        else:
            message = f"{item.message} (waived by the publisher: {reason})"
            yield replace(item, message=message, waived=reason, severity=item.severity if strict else "warning")


def unused_waivers(release: Release, found: Iterable[Problem]) -> Iterator[tuple[int, str, str]]:
    """(number, code, what is wrong with it) of waivers that hide nothing or that may not be."""
    found = list(found)
    waivable = {check.code: check.waivable for check in checks()}
    for number, (code, file, _) in enumerate(waivers_of(release.spec)):
        if code not in waivable:
            yield number, code, "is the code of no check"
        elif not waivable[code]:
            yield (
                number,
                code,
                "can't be waived: findings on hashes, paths, signatures, secrets and stale validation stand",
            )
        elif not any(item.code == code and file in (None, item.where.file) for item in found):
            yield number, code, "waives nothing that was found"
