"""Every check over a release → a Verdict. `verify` reads a folder; build and seal run the same checks before sealing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hubrelease import verify_release
from hubrelease.checks import as_problem, checks
from hubrelease.errors import Exit, OutsideError, Problem, problem, worst
from hubrelease.progress import SILENT, Progress
from hubrelease.release import Release


@dataclass(frozen=True)
class Verdict:
    """What verifying found: every problem, the release's name and digests, what was looked at."""

    problems: tuple[Problem, ...]
    name: str | None
    release_digest: str
    payload_digest: str
    checked: Mapping[str, int]
    strict: bool = False

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


def verify(folder: str | Path, *, strict: bool = False, progress: Progress = SILENT) -> Verdict:
    """The Verdict on a release folder. Raises OutsideError only where the folder itself can't be opened.

    Example: `hubrelease.verify("dist/minilm").exit == 0`
    """
    root = Path(folder)
    progress.start("hashing", None)
    try:
        result = verify_release.check_folder(root, count=progress.advance)
    except OSError as error:
        mend = "name the folder of a release"
        raise OutsideError(problem("source-unreachable", str(folder), f"could not be opened: {error.strerror}", mend)) from None
    finally:
        progress.finish()
    release = Release(root, result)
    found = run_checks(release)
    found += [as_problem(f) for f in verify_release.absences(result, worst(found) != Exit.GOOD)]
    return verdict_of(release, found, strict)


def verdict_of(release: Release, found: Iterable[Problem], strict: bool) -> Verdict:
    subjects = release.result.provenance.subjects
    rows = sorted(
        apply_waivers(release, found, strict),
        key=lambda p: (p.where.file.encode("utf-8", "surrogateescape"), p.code, p.where.line or 0),
    )
    name = release.spec.get("name")
    return Verdict(
        tuple(rows),
        name if isinstance(name, str) else None,
        verify_release.release_digest(subjects),
        verify_release.payload_digest(subjects),
        {"files": release.result.files_checked, "bytes": release.result.bytes_checked},
        strict,
    )


def run_checks(release: Release) -> list[Problem]:
    """Every finding of every check. A file that a check can't read is an undecided finding, once."""
    found: list[Problem] = []
    for check in checks():
        try:
            found += check.run(release)
        except OSError as error:
            found.append(as_problem(verify_release.unreadable(str(error.filename or check.kind), error)))
    return list(dict.fromkeys(found))


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
    waivers = list(waivers_of(release.spec))
    for item in found:
        reason = next((r for code, file, r in waivers if code == item.code and file in (None, item.where.file)), None)
        if reason is None or item.code not in waivable:
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
