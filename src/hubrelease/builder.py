"""The build: its steps in order, and the loop that runs them in a work folder beside the target.

Spec and lock in, a release folder out. Nothing of the target changes before the last rename; a build that fails or is
killed leaves the old release, and its finished files are taken up by the next run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hubrelease import disclosure, identities, receipts, verify_release
from hubrelease import lock as locks
from hubrelease.card_command import save_facts
from hubrelease.errors import CheckFailed, OutsideError, Problem, SpecError, problem
from hubrelease.fetch import Sources
from hubrelease.identities import Known, Pool, content_key
from hubrelease.lock import Lock
from hubrelease.manifest import REPORT, release_digest
from hubrelease.outside import Outside
from hubrelease.payload import measure
from hubrelease.pins import pin
from hubrelease.provenance import statement
from hubrelease.release import Release
from hubrelease.spec import Spec
from hubrelease.steps import Build, Step
from hubrelease.steps.adapter import Adapter
from hubrelease.steps.card import Card
from hubrelease.steps.conversion_files import ConversionFiles
from hubrelease.steps.files import Files
from hubrelease.steps.licences import Licences
from hubrelease.steps.receipts import Receipts
from hubrelease.steps.runtime import Runtime
from hubrelease.steps.side_files import SideFiles
from hubrelease.steps.suite import Suite
from hubrelease.steps.validation import Validation
from hubrelease.steps.weights import Weights
from hubrelease.tree import Tree
from hubrelease.validation_reports import OTHERS
from hubrelease.verifier import apply_waivers, run_checks, unused_waivers
from hubrelease.workspace import Workspace, opened, refuse_loss, write_durably

STEPS: tuple[Step, ...] = (
    Weights(),  # first: the largest, and the likeliest to fail
    ConversionFiles(),
    SideFiles(),
    Adapter(),
    Runtime(),
    Suite(),
    Files(),
    Licences(),
    Receipts(),
    Validation(),  # after everything that the payload digest covers
    Card(),  # last: it may quote all of the above
)


@dataclass(frozen=True)
class Built:
    """A finished release: where it is, its digest, files and bytes, and warnings."""

    folder: Path
    release_digest: str
    files: int
    size: int
    warnings: tuple[Problem, ...]
    signature_removed: bool = False


@dataclass(frozen=True)
class Options:
    """How to build; nothing here shapes the release. `jobs` None: one a core."""

    locked: bool = False
    jobs: int | None = None
    link: bool = False
    rehash: bool = False


def build(spec: Spec, out: str | Path, outside: Outside, options: Options) -> Built:
    """Builds the release of `spec` at `out`. Raises a ReleaseError with every problem; then `out` is as it was."""
    lock = lock_for(spec, outside, options.locked)
    target = Path(os.path.realpath(out))
    with opened(target) as work:
        refuse_loss(target, outside.cache)
        tree = stage(spec, lock, outside, options, work)
        warnings = seal_tree(spec, lock, tree)
        had_signature = (target / verify_release.SIGNATURE).exists()
        tree.finish()
        if target.exists():
            tree.flush()  # the old release goes only when the new one is on the disk
        work.publish(tree.root)
        work.clear()
        remember(outside.cache, target, tree)
        save_facts(spec, lock, outside.cache, measure(target, [e for e in tree.list() if e.path != verify_release.PROVENANCE]))
    entries = tree.list()
    return Built(
        target,
        release_digest(e for e in entries if e.path != verify_release.PROVENANCE),
        len(entries),
        sum(e.size for e in entries),
        warnings,
        had_signature,
    )


def lock_for(spec: Spec, outside: Outside, locked: bool) -> Lock:
    """The lock beside release.yaml if it fits; otherwise a new one is pinned, or, with `locked`, CheckFailed."""
    found = locks.read(spec)
    problems = list(locks.stale(spec, found or Lock()))
    if not problems and (found is not None or not spec.sources):
        return found or Lock()
    if locked:
        raise CheckFailed(problems or problem("lock-stale", locks.FILE_NAME, "is not there", "run `hubrelease pin`"))
    fresh = pin(spec, found, outside)
    write_lock(spec, fresh)
    return fresh


def write_lock(spec: Spec, lock: Lock) -> bool:
    """Writes release.lock.json if it would change; True if it did."""
    data, path = locks.dumps(lock), locks.path_of(spec)
    try:
        if path.exists() and path.read_bytes() == data:
            return False
        write_durably(path, data)
    except OSError as error:
        mend = "give yourself the right to write beside release.yaml"
        raise OutsideError(problem("disk-fault", locks.FILE_NAME, f"could not be written: {error.strerror}", mend)) from None
    return True


def stage(spec: Spec, lock: Lock, outside: Outside, options: Options, work: Workspace) -> Tree:
    """Runs every step into a new staging folder."""
    if lock.source(spec.weights.source) is None:
        raise SpecError(
            problem(
                "source-unknown",
                spec.where("/sources"),
                f'there is no source "{spec.weights.source}" for the weights',
                "add it under sources; where the weights lie beside release.yaml, run `hubrelease seal`",
            )
        )
    known = [*work.journal.read(), *identities.read_state(outside.cache, work.target)]
    jobs = options.jobs or len(os.sched_getaffinity(0))
    tree = Tree(work.new_tree(), work.journal, Pool(known, options.rehash), jobs, options.link, outside.progress)
    build_ = Build(spec, Sources(lock, outside), tree, kept_files(work.target))
    for step in STEPS:
        reason = step.skip(build_)
        if reason is None:
            step.run(build_)
    return tree


def kept_files(target: Path) -> Mapping[str, bytes]:
    """Small files of the release that is replaced which a step may carry over."""
    folder, found = verify_release.Folder(target), {}
    for path in (REPORT, *OTHERS):
        with suppress(OSError):
            found[path] = folder.read(path, 2**24)
    return found


def seal_tree(spec: Spec, lock: Lock, tree: Tree) -> tuple[Problem, ...]:
    """Writes provenance over the staged files and runs every check on them; the warnings. CheckFailed for errors."""
    data = statement(spec, lock, tree.list())
    with tree.write(verify_release.PROVENANCE, "other") as out:
        out.write(data)
    if problems := list(disclosure.leaks(spec, lock, tree.root, tree.list())):
        raise CheckFailed(problems)
    entries = {path: verify_release.Entry("file", entry.size) for path, entry in tree.entries.items()}
    provenance = verify_release.parse_provenance(data)
    result = verify_release.Result(provenance, entries, provenance.findings, [], len(entries), 0)
    return judge(spec, Release(tree.root, result))


def judge(spec: Spec, release: Release) -> tuple[Problem, ...]:
    """Every check and every waiver of a release about to be sealed: its warnings; CheckFailed for errors."""
    found = run_checks(release)
    unfit = [
        problem("waiver-fault", spec.where(f"/waive/{n}"), f"{code} {why}", "remove it") for n, code, why in unused_waivers(release, found)
    ]
    judged = [*apply_waivers(release, found, strict=False), *unfit, *receipts.warnings(spec, receipts.read_all(spec))]
    if any(p.severity == "error" for p in judged):
        raise CheckFailed(judged)
    return tuple(judged)


def remember(cache: Path, target: Path, tree: Tree) -> None:
    """Saves the identities of the published files; after the old release is gone, for that changes link counts and ctimes."""
    rows = []
    for path, entry in tree.entries.items():
        key = tree.keys.get(path, content_key(entry.sha256))
        try:
            rows.append(Known(key, entry.sha256, target / path, identities.identity_of(target / path)))
        except OSError:
            continue
    identities.save_state(cache, target, [*rows, *tree.origins])
