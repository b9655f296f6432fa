"""A report is put into a release: the report, the card that shows it, then the provenance, each replaced whole.

Only validation files, the card and its translations change; every other file was just held against the provenance, whose
rows are kept. A kill between two of them leaves whole files of which `verify` says which are not those listed, and the
next `validate` goes on from there. A `model.sig` no longer fits and is removed.

A report in the payload (conversion_validation.json) changes the payload digest. What was validated stays as it was, so
reports about the same files are told the new digest: validatedDigest says that they are the same.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hubrelease import canonical, verify_release
from hubrelease.cards import CARD, files
from hubrelease.digest import sha256
from hubrelease.errors import OutsideError, Problem, ReleaseError, problem
from hubrelease.manifest import REPORT, Entry, payload_digest, role_of
from hubrelease.payload import measure
from hubrelease.provenance import subject
from hubrelease.release import Release
from hubrelease.steps.validation import report_for
from hubrelease.validation_reports import OTHERS, validated_digest
from hubrelease.workspace import write_together

MINE = (REPORT, *(path for path in OTHERS if path != "dflash_compatibility.json"))


@dataclass(frozen=True)
class Resealed:
    """`notes` are for people; `warnings` say what of the card could not be made again."""

    release_digest: str
    notes: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()


def own_files(paths: Iterable[str]) -> set[str]:
    """Those that a validation writes."""
    return {p for p in paths if p in (*MINE, CARD, verify_release.SIGNATURE) or (p.startswith("docs/README.") and p.endswith(".md"))}


def reseal(release: Release, file: str, report: dict[str, Any]) -> Resealed:
    """Writes the report as `file`. OutsideError where the disk does not take it, or where the release is another one by now."""
    unchanged(release)
    kept = there(release)
    made = reports_made(release, kept, file, report)
    texts, warnings = card_again(release, together(kept, made), made)
    made |= texts
    rows = together(kept, made)
    had_signature = verify_release.SIGNATURE in release.result.entries
    write(release, made, provenance_again(release, rows))
    notes = ("model.sig was removed: it no longer fits; sign again",) if had_signature else ()
    return Resealed(verify_release.release_digest(verify_subjects(rows)), notes, warnings)


def unchanged(release: Release) -> None:
    """A build may have put another release into the folder while this one ran; its provenance must not be written over."""
    try:
        now = verify_release.strict_json((release.root / verify_release.PROVENANCE).read_bytes())
    except (OSError, ValueError):
        now = None
    if now != release.document:
        message = "was changed while it was validated: the report is about what was there before, and was not written"
        raise OutsideError(problem("disk-fault", verify_release.PROVENANCE, message, "validate again"))


def there(release: Release) -> list[Entry]:
    """Every file of the release: rows of the provenance, but for what a validation writes itself, which may have been cut short."""
    subjects = release.result.provenance.subjects
    mine = own_files([*release.files, *(s.name for s in subjects)])
    rows = [Entry(s.name, s.sha256, s.size, s.role or role_of(s.name)) for s in subjects if s.name not in mine]
    for path in sorted(mine & release.files - {verify_release.SIGNATURE}):
        data = release.read(path) or b""
        rows.append(Entry(path, sha256(data), len(data), role_of(path)))
    return rows


def together(kept: Iterable[Entry], made: Mapping[str, bytes]) -> list[Entry]:
    rest = [entry for entry in kept if entry.path not in made]
    return sorted([*rest, *(Entry(p, sha256(d), len(d), role_of(p)) for p, d in made.items())], key=lambda e: e.path.encode())


def verify_subjects(rows: Iterable[Entry]) -> list[verify_release.Subject]:
    return [verify_release.Subject(e.path, e.sha256, e.size, e.role) for e in rows]


# --------------------------------------------------------------------------------------------------------------- reports


def reports_made(release: Release, kept: list[Entry], file: str, report: dict[str, Any]) -> dict[str, bytes]:
    """{path: bytes} of the new report, and of those whose payload digest it moves."""
    inside = validated_digest(verify_subjects(kept))
    if verify_release.in_payload(file):
        report["subject"]["payloadDigest"] = inside
        made = {file: canonical.dumps(report)}
    else:
        made = {}
    digest = payload_digest(together(kept, made))
    if not made:
        report["subject"]["payloadDigest"] = digest
        made[file] = canonical.dumps(report)
    for path in (REPORT, "benchmarks/validation.json"):
        if path != file and path in release.files and (again := told_anew(release, path, digest, inside)):
            made[path] = again
    if REPORT not in made and REPORT not in release.files:
        made[REPORT] = report_for(digest, None)
    return made


def told_anew(release: Release, path: str, digest: str, inside: str) -> bytes | None:
    """A report about the same files with the payload digest that now holds; None where it is right, or about other files."""
    found = release.json(path)
    about = found.get("subject") if isinstance(found, dict) else None
    if not isinstance(about, dict) or about.get("payloadDigest") == digest:
        return None
    if found.get("result") == "not-run" and "validatedDigest" not in about:
        return report_for(digest, None)
    if about.get("validatedDigest") != inside:
        return None
    return canonical.dumps({**found, "subject": {**about, "payloadDigest": digest}})


# ------------------------------------------------------------------------------------------------------------- the card


def card_again(release: Release, rows: list[Entry], made: Mapping[str, bytes]) -> tuple[dict[str, bytes], tuple[Problem, ...]]:
    """({path: bytes} of the card's files, warnings). A card that its data does not render to was written by hand and is kept."""
    from hubrelease.released import of_release

    try:
        facts, before = of_release(release.root)
        old = files(facts, before)
        if CARD in release.files and not same(release, old[CARD]):
            return {}, (kept_card("is not what its data renders to: it was written or edited by hand, and kept"),)
        receipts = {**facts.receipts, **{p: verify_release.strict_json(d) for p, d in made.items() if p in facts.receipts}}
        now = replace(facts, payload=measure(release.root, rows), receipts=receipts, found={})
        report = verify_release.strict_json(made[REPORT]) if REPORT in made else before
        return {path: text.encode() for path, text in files(now, report).items()}, ()
    except ReleaseError as error:
        first = error.problems[0].message if error.problems else str(error)
        return {}, (kept_card(f"could not be rendered again: {first[:200]}"),)


def same(release: Release, text: str) -> bool:
    return release.read(CARD) == text.encode()


def kept_card(why: str) -> Problem:
    return problem("card-differs", CARD, why, "render it where its release.yaml is: `hubrelease card render`", severity="warning")


# -------------------------------------------------------------------------------------------------------- the provenance


def provenance_again(release: Release, rows: list[Entry]) -> bytes:
    """The statement that is there with the files as they are now; what else it says is kept."""
    document = copy.deepcopy(dict(release.document))
    document["subject"] = [subject(entry) for entry in rows]
    predicate = document.setdefault("predicate", {})
    details = predicate.setdefault("runDetails", {}) if isinstance(predicate, dict) else {}
    if isinstance(details, dict):
        made = [{"name": e.path, "digest": {"sha256": e.sha256}} for e in rows if e.path == REPORT]
        before = details.get("byproducts")
        others = [b for b in before if isinstance(b, dict) and b.get("name") != REPORT] if isinstance(before, list) else []
        details["byproducts"] = [*others, *made]
    return canonical.dumps(document)


def write(release: Release, made: Mapping[str, bytes], provenance: bytes) -> None:
    root = release.root
    try:
        for path in made:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
        files = {root / path: data for path, data in sorted(made.items())}
        write_together({**files, root / verify_release.PROVENANCE: provenance}, stale=(root / verify_release.SIGNATURE,))
    except OSError as error:
        mend = "free space or give yourself write access, then validate again"
        raise OutsideError(problem("disk-fault", str(error.filename or root), f"could not be written: {error.strerror}", mend)) from None
