"""check: what can be said of a release from its spec, its lock and the files beside them, without network or build."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from hubrelease import beside, receipts
from hubrelease import lock as locks
from hubrelease.card_command import last_build
from hubrelease.card_metadata import metadata_problems
from hubrelease.cards import files
from hubrelease.cards_kept import kept_beside
from hubrelease.checks import checks
from hubrelease.checks import hr512_card_license as hr512
from hubrelease.checks import hr611_results_non_finite as hr611
from hubrelease.errors import Problem, ReleaseError, problem
from hubrelease.evaluations import read
from hubrelease.facts import Facts
from hubrelease.lock import Lock
from hubrelease.outside import cache_folder
from hubrelease.plots import letter_problems
from hubrelease.published import published_problems
from hubrelease.receipts import read_all
from hubrelease.spec import Spec, load_spec
from hubrelease.steps.licences import licence_problems
from hubrelease.steps.side_files import omission_problems


def check(path: str | Path) -> list[Problem]:
    """Every problem of a release before it is built. SpecError where release.yaml can't be understood."""
    spec = load_spec(path)
    lock = locks.read(spec)
    found = [*beside_problems(spec), *waiver_problems(spec), *link_problems(spec), *adapter_problems(spec), *format_problems(spec)]
    if lock is None and (spec.sources or spec.runtime):
        found.append(problem("lock-stale", locks.FILE_NAME, "is not there: nothing is pinned yet", "run `hubrelease pin`"))
    if lock is not None:
        found += [
            *unpinned(spec, lock),
            *locks.stale(spec, lock),
            *omission_problems(spec, lock),
            *licence_problems(spec, lock),
        ]
    return list(dict.fromkeys([*found, *metadata_problems(spec, lock), *card_problems(spec, lock)]))


def unpinned(spec: Spec, lock: Lock) -> Iterator[Problem]:
    """Branches without a commit. The lock holds commits for all others."""
    for source in spec.sources:
        if source.kind in ("hf", "git") and lock.source(source.name) is None and not re.fullmatch("[0-9a-f]{40}", source.revision or ""):
            where = spec.where(f"/sources/{source.name}")
            yield problem(
                "revision-unpinned",
                where,
                f'"{source.revision}" is a branch or tag, not a commit',
                "run `hubrelease pin`",
            )


def beside_problems(spec: Spec) -> Iterator[Problem]:
    """Files beside release.yaml that are named and not there."""
    named = [(r.path, f"/benchmarks/{i}/receipt") for i, r in enumerate(spec.receipts)]
    named += [(f.path, f"/files/{i}/from") for i, f in enumerate(spec.files) if f.source is None]
    named += [(str(spec.card["template"]), "/card/template")] if "template" in spec.card else []
    named += [(spec.document["notice"], "/notice")] if "notice" in spec.document else []
    source, scales = spec.weights.activation_scales or (None, None)
    named += [(scales, "/weights/activation_scales/path")] if scales and source is None else []
    for path, pointer in named:
        if fault := beside.fault_of(spec, path, spec.where(pointer)):
            yield fault


def waiver_problems(spec: Spec) -> Iterator[Problem]:
    """Waivers for codes that are no check's, or that can't be waived. Whether one is used shows at the build."""
    waivable = {c.code: c.waivable for c in checks()}
    for number, waiver in enumerate(spec.waivers):
        where = spec.where(f"/waive/{number}")
        if waiver.code not in waivable:
            yield problem("waiver-fault", where, f"{waiver.code} is the code of no check", "correct it, or remove the waiver")
        elif not waivable[waiver.code]:
            yield problem("waiver-fault", where, f"{waiver.code} can't be waived", "remove the waiver, and mend what it hides")


def link_problems(spec: Spec) -> Iterator[Problem]:
    """A licence link into a folder that will be sealed as it is, to a file that is not there."""
    path = (spec.text("license_link") or "").partition("#")[0].removeprefix("./").lstrip("/")
    inside = path and "://" not in path and not path.startswith("www.")
    made = path == "LICENSE" and spec.text("license_text") is not None
    if inside and spec.source(spec.weights.source) is None and not made and not (spec.folder / path).is_file():
        message = f'names "{path[:80]}", which is not in the folder'
        yield hr512.CHECK.problem(spec.where("/license_link"), message, "add the file, give license_text, or correct the link")


def adapter_problems(spec: Spec) -> Iterator[Problem]:
    """The adapter's own config must name its base, so the base must be a repository of the Hub."""
    base = spec.source(spec.adapter.base_model) if spec.adapter else None
    if spec.adapter and (base is None or base.kind != "hf"):
        message = f'the adapter\'s base "{spec.adapter.base_model}" is no repository of the Hub, so the adapter could not name it'
        yield problem("source-invalid", spec.where("/adapter"), message, "set adapter.base_model to an hf: source")


def format_problems(spec: Spec) -> Iterator[Problem]:
    """Options that the format does not have. Whether it can run here shows at the build."""
    if not spec.weights.converts:
        return
    from hubrelease.formats import named

    try:
        named(spec.weights.format, dict(spec.weights.options))
    except (ValueError, TypeError) as error:
        yield problem("spec-invalid", spec.where("/weights/options"), str(error), "see docs/formats.md for the options of each format")


def card_problems(spec: Spec, lock: Lock | None) -> list[Problem]:
    """Receipts, figures and templates, as far as they need no build and no lock: what only those can tell is left for them."""
    try:
        found = read_all(spec)
    except ReleaseError as error:
        return list(error.problems)
    problems = [*receipts.warnings(spec, found), *non_finite_problems(spec, found)]
    held = lock or Lock()
    try:
        payload, report = last_build(spec, held, cache_folder())
        facts = Facts(spec, held, {path: value for path, (_, value) in found.items()}, payload, kept=kept_beside(spec))
        problems += published_problems(facts)
        files(facts, report)
        problems += letter_problems(facts)
    except ReleaseError as error:
        problems += [p for p in error.problems if not (p.kind == "figure-fault" and p.undecided)]
    return problems


def non_finite_problems(spec: Spec, found: Mapping[str, tuple[bytes, Any]]) -> Iterator[Problem]:
    """NaN and infinities in receipts, as HR611 will find them in the release; a warning where they are waived."""
    for receipt in spec.receipts:
        waived = any(w.code == hr611.CHECK.code and w.file in (None, receipt.to) for w in spec.waivers)
        runs = read(receipt.path, found[receipt.to][0])
        for where, token in islice((place for run in runs for place in hr611.of_receipt(run)), hr611.MAX_SHOWN):
            told = hr611.problem_of(where, token)
            yield told.as_warning() if waived else told
