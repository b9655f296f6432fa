"""seal: a folder that is already there becomes a release in place. The payload is hashed once and not touched.

Written are only the card, the receipts' copies where release.yaml asks for another name, runtime/verify_release.py where
it is absent, the validation report, and MODEL_PROVENANCE.json last. Everything is checked before the first byte is
written; the old provenance goes first, so that a kill leaves a folder that is no release rather than a false one.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hubrelease import beside, builder, identities, verify_release
from hubrelease.builder import Built
from hubrelease.card_command import save_facts
from hubrelease.cards import files
from hubrelease.cards_kept import kept_beside
from hubrelease.checks import as_problem
from hubrelease.digest import sha256
from hubrelease.errors import CheckFailed, OutsideError, problem
from hubrelease.facts import Facts
from hubrelease.identities import Identity, Known, content_key
from hubrelease.lock import Lock
from hubrelease.manifest import REPORT, Entry, payload_digest, release_digest, role_of
from hubrelease.outside import Outside
from hubrelease.payload import measure
from hubrelease.plots import pictures
from hubrelease.provenance import statement
from hubrelease.receipts import read_all
from hubrelease.release import Release
from hubrelease.spec import Spec
from hubrelease.steps.licences import CANONICAL, canonical_text, licence_problems
from hubrelease.steps.runtime import VERIFIER, verifier_bytes
from hubrelease.steps.validation import report_for
from hubrelease.workspace import clear_leftovers, write_together

CARD = "README.md"
MADE = (REPORT, verify_release.PROVENANCE, verify_release.SIGNATURE)  # made here, so not hashed as found
SAVE_EVERY_S = 30.0


def seal(spec: Spec, outside: Outside, rehash: bool = False) -> Built:
    """Seals the folder of `spec`. Raises a ReleaseError with every problem; then nothing was written."""
    root = Path(os.path.realpath(spec.folder))
    with held(root):
        lock = builder.lock_for(spec, outside, locked=False)
        if problems := list(licence_problems(spec, lock)) if spec.source(spec.weights.source) else []:
            raise CheckFailed(problems)
        entries = hash_folder(root, outside, rehash)
        made = make(spec, lock, root, entries)
        rows = [
            *(e for e in entries if e.path not in made),
            *(Entry(p, sha256(d), len(d), role_of(p)) for p, d in made.items()),
        ]
        provenance = statement(spec, lock, rows)
        warnings = builder.judge(spec, view(root, rows, made, provenance))
        had_signature = write(root, made, provenance)
        remember(outside, root, rows)
        save_facts(spec, lock, outside.cache, measure(root, rows))
    return Built(root, release_digest(rows), len(rows) + 1, sum(e.size for e in rows), warnings, had_signature)


@contextmanager
def held(root: Path) -> Iterator[None]:
    """Two seals or validations of one folder at once: the second says so."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        clear_leftovers(root)
        yield
    except BlockingIOError:
        raise OutsideError(problem("build-running", str(root), "another seal or validate of it is running", "wait for it")) from None
    finally:
        os.close(fd)


def hash_folder(root: Path, outside: Outside, rehash: bool) -> list[Entry]:
    """Every file of the folder with its digest, from known identities where they fit. CheckFailed for what can't be part."""
    folder = verify_release.Folder(root)
    entries, found = folder.scan()
    found += [*verify_release.entry_findings(folder, entries, set()), *verify_release.collisions(set(entries))]
    if found:
        raise CheckFailed([as_problem(f) for f in found])
    paths = sorted(p for p in entries if p not in MADE and not skipped(p))
    known = {k.path: k for k in identities.read_state(outside.cache, root)}
    outside.progress.start("hashing", sum(entries[p].size for p in paths))
    keeper = Keeper(outside, root)
    rows = verify_release.in_threads(lambda path: hash_one(root, path, known.get(root / path), outside, rehash, keeper), paths)
    outside.progress.finish()
    return [Entry(path, row.sha256, row.identity.size, role_of(path)) for path, row in zip(paths, rows, strict=True)]


def skipped(path: str) -> bool:
    """Download caches and editors' litter are no part of a release."""
    return path == ".gitattributes" or bool(verify_release.LOCAL_DIR.fullmatch(path) or verify_release.LITTER.search(path))


class Keeper:
    """Saves what was hashed so far now and then, so that a killed seal of a huge folder goes on from there."""

    def __init__(self, outside: Outside, root: Path) -> None:
        self.outside, self.root, self.rows, self.saved = outside, root, list[Known](), time.monotonic()

    def add(self, known: Known) -> None:
        self.rows.append(known)
        if time.monotonic() - self.saved > SAVE_EVERY_S:
            self.saved = time.monotonic()
            identities.save_state(self.outside.cache, self.root, list(self.rows))


def hash_one(root: Path, path: str, known: Known | None, outside: Outside, rehash: bool, keeper: Keeper) -> Known:
    where = root / path
    try:
        identity = identities.identity_of(where)
        if known and known.identity == identity and not rehash:
            outside.progress.advance(identity.size)
            keeper.add(known)
            return known
        fd, info = verify_release.Folder(root).open_file(path)
        before = identities.identity_of(fd)
        digest, size = verify_release.hash_fd(os.dup(fd), info.st_size, outside.progress.advance)
        after: Identity = identities.identity_of(fd)
        os.close(fd)
    except OSError as error:
        raise OutsideError(
            problem("disk-fault", path, f"could not be read: {error.strerror}", "give yourself read access, then run again")
        ) from None
    if before != after or size != before.size:
        raise OutsideError(problem("disk-fault", path, "changed while it was hashed", "run again when nothing writes to the folder"))
    row = Known(content_key(digest), digest, where, after)
    keeper.add(row)
    return row


def make(spec: Spec, lock: Lock, root: Path, entries: list[Entry]) -> dict[str, bytes]:
    """The small files that sealing writes, in memory."""
    there = {e.path: e for e in entries}
    receipts = read_all(spec)
    made = {path: data for path, (data, _) in receipts.items() if path not in there or there[path].sha256 != sha256(data)}
    if VERIFIER not in there:
        made[VERIFIER] = verifier_bytes()
    made |= licence_files(spec, there)
    rows = [
        *(e for e in entries if e.path not in made),
        *(Entry(p, sha256(d), len(d), role_of(p)) for p, d in made.items()),
    ]
    digest = payload_digest(rows)
    made[REPORT] = report_for(digest, read_or_none(root / REPORT))
    if CARD in there and "card" not in spec.document:
        return made  # a card that somebody wrote is kept while release.yaml asks for none
    payload = measure(root, [e for e in rows if e.path not in made or e.role != "weights"])
    facts = Facts(spec, lock, {path: value for path, (_, value) in receipts.items()}, payload, kept=kept_beside(spec))
    texts = files(facts, verify_release.strict_json(made[REPORT]))
    for path, data in ({path: text.encode() for path, text in texts.items()} | pictures(facts)).items():
        made[path] = data
        if path in there and there[path].sha256 not in (sha256(made[path]), sealed_digest(root, path)):
            mend = "put what you wrote between marks (docs/cards.md), move it away, or remove the card section to keep it as it is"
            raise CheckFailed(problem("target-occupied", path, "was written or edited by hand, and would be lost", mend))
    return made


def licence_files(spec: Spec, there: dict[str, Entry]) -> dict[str, bytes]:
    """LICENSE and NOTICE that release.yaml asks for. CheckFailed where another text lies there already."""
    wanted = {}
    if asked := spec.text("license_text"):
        text = canonical_text(spec.license) if asked == CANONICAL else beside.read(spec, asked, "/license_text")
        wanted["LICENSE"] = text or b""
    if notice := spec.text("notice"):
        wanted["NOTICE"] = beside.read(spec, notice, "/notice")
    for path, data in wanted.items():
        if path in there and there[path].sha256 != sha256(data):
            mend = f"remove {path}, or the key in release.yaml that gives another text"
            raise CheckFailed(problem("target-occupied", path, "is there with another text, and would be lost", mend))
    return {path: data for path, data in wanted.items() if path not in there}


def sealed_digest(root: Path, path: str) -> str | None:
    """The SHA-256 under which the release that is there lists a file."""
    data = read_or_none(root / verify_release.PROVENANCE) or b""
    return next((s.sha256 for s in verify_release.parse_provenance(data).subjects if s.name == path), None)


def read_or_none(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else None
    except OSError:
        return None


def view(root: Path, rows: list[Entry], made: dict[str, bytes], provenance: bytes) -> Release:
    """The release as it will be, for the checks."""
    entries = {e.path: verify_release.Entry("file", e.size) for e in rows}
    parsed = verify_release.parse_provenance(provenance)
    result = verify_release.Result(parsed, entries, parsed.findings, [], len(rows), 0)
    return Release(root, result, {**made, verify_release.PROVENANCE: provenance})


def write(root: Path, made: dict[str, bytes], provenance: bytes) -> bool:
    """Puts the made files in place, provenance last. True if a signature was there, which no longer fits."""
    signature, statement = root / verify_release.SIGNATURE, root / verify_release.PROVENANCE
    had_signature = signature.exists()
    try:
        for path in made:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
        files = {root / path: data for path, data in made.items()}
        write_together({**files, statement: provenance}, stale=(statement, signature))
    except OSError as error:
        mend = "free space or give yourself write access, then seal again; the payload is untouched"
        raise OutsideError(problem("disk-fault", str(error.filename or root), f"could not be written: {error.strerror}", mend)) from None
    return had_signature


def remember(outside: Outside, root: Path, rows: list[Entry]) -> None:
    known = [Known(content_key(e.sha256), e.sha256, root / e.path, identities.identity_of(root / e.path)) for e in rows]
    identities.save_state(outside.cache, root, known)
