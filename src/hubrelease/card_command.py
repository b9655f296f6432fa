"""The card of a spec outside of a build: where its facts come from when nothing is being built."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hubrelease import __version__, beside, canonical, verify_release
from hubrelease import lock as locks
from hubrelease.cards import CARD, apart_locales, files, path_of, render, rendered
from hubrelease.cards_kept import kept_beside
from hubrelease.digest import key_of, sha256
from hubrelease.errors import CheckFailed, OutsideError, Problem, ReleaseError, SpecError, problem
from hubrelease.facts import Facts
from hubrelease.lock import Lock
from hubrelease.manifest import REPORT, Entry
from hubrelease.outside import Outside, cache_folder
from hubrelease.payload import Payload, measure
from hubrelease.phrases import locales_of
from hubrelease.pieces import Placed
from hubrelease.receipts import read_all
from hubrelease.spec import FILE_NAME, Spec, load_spec
from hubrelease.weights import ContainerFault


class Ready(NamedTuple):
    """What a card is rendered from. `folder` is where its README.md lies."""

    facts: Facts
    report: Mapping[str, Any] | None
    folder: Path


def ready(path: Path, cache: Path, tree: Path | None = None, target: Path | None = None) -> Ready:
    """The facts of a spec (a folder with release.yaml, or the file), or of a release that has none any more.

    `target` is the card that will be replaced, whose marked blocks are kept; by default README.md beside release.yaml.
    """
    if path.is_dir() and not (path / FILE_NAME).exists() and (path / verify_release.PROVENANCE).is_file():
        from hubrelease.released import of_release

        return Ready(*of_release(path, target), path)
    spec = load_spec(path)
    return Ready(*facts_of(spec, cache, tree, target), spec.folder)


class Made(NamedTuple):
    """A card as text, the files that it goes with as they should be, every figure placed in it, and warnings."""

    text: str
    files: Mapping[Path, str]
    figures: list[dict[str, Any]]
    warnings: tuple[Problem, ...]


def card_of(path: Path, tree: Path | None = None, locale: str | None = None, target: Path | None = None, all_files: bool = False) -> Made:
    """The card that `card render` shows: README.md, or one language alone. `all_files`: with those that go with it and are there."""
    found = ready(path, cache_folder(), tree, target)
    locales = locales_of(found.facts.spec)
    if locale is not None and locale not in locales:
        message = f'the card has no language "{locale[:20]}"'
        raise SpecError(problem("usage", "--locale", message, f"choose among {', '.join(locales)}, or add it to card.locales"))
    apart = locale if locale in apart_locales(found.facts.spec) or (locale and locale != locales[0]) else None
    card = rendered(found.facts, found.report, apart)
    made = {found.folder / (path_of(apart) if apart else CARD): card.text}
    if apart is None and all_files:
        others = files(found.facts, found.report)
        made |= {found.folder / name: text for name, text in others.items() if name != CARD and (found.folder / name).exists()}
    return Made(card.text, made, [figure_json(placed) for placed in card.figures], card.warnings)


def figure_json(placed: Placed) -> dict[str, Any]:
    return {"text": placed.text, "line": placed.line, "column": placed.column, **placed.figure.as_json()}


def facts_of(spec: Spec, cache: Path, tree: Path | None = None, target: Path | None = None) -> tuple[Facts, Mapping[str, Any] | None]:
    """Payload facts from `tree`, else from the last build with the same payload key, else from a sealed folder, else none."""
    lock = locks.read(spec)
    if lock and (stale := list(locks.stale(spec, lock))):
        raise CheckFailed(stale)
    receipts = {path: value for path, (_, value) in read_all(spec).items()}
    payload: Payload | None
    if tree:
        payload, report = facts_of_tree(tree)
    else:
        payload, report = last_build(spec, lock or Lock(), cache)
        if payload is None and (spec.folder / verify_release.PROVENANCE).is_file():
            payload, report = facts_of_tree(spec.folder)
    return Facts(spec, lock or Lock(), receipts, payload, kept=kept_beside(spec, target)), report


def render_spec(spec: Spec, outside: Outside, tree: Path | None = None) -> str:
    """The card of `spec`."""
    facts, report = facts_of(spec, outside.cache, tree)
    return render(facts, report)


def facts_of_tree(root: Path) -> tuple[Payload, Mapping[str, Any] | None]:
    """Payload and report of a release folder; its digests are those that its own provenance lists."""
    folder = verify_release.Folder(root)
    try:
        provenance = verify_release.parse_provenance(folder.read(verify_release.PROVENANCE, verify_release.MAX_PROVENANCE_BYTES))
        if provenance.findings:
            raise CheckFailed(problem("lock-invalid", str(root), provenance.findings[0].message, "build it again"))
        payload = measure(root, [Entry(s.name, s.sha256, s.size, s.role) for s in provenance.subjects])
    except ContainerFault as fault:
        raise CheckFailed([problem("weights-unusable", str(root), f.message, "build it again") for f in fault.faults]) from None
    except OSError as error:
        absent = os.path.relpath(error.filename, root) if error.filename else ""
        message = f"is no whole release: {absent} {error.strerror}".replace("  ", " ")
        raise OutsideError(problem("source-unreachable", str(root), message, "name a built release")) from None
    return payload, report_of(folder, payload.digest)


def report_of(folder: verify_release.Folder, digest: str) -> Mapping[str, Any] | None:
    """The validation report of a release, if it is about this very payload."""
    try:
        data = folder.read(REPORT, 2**24)
        report = verify_release.strict_json(data)
    except (OSError, ValueError):
        return None
    from hubrelease.steps.validation import subject_of

    return report if subject_of(data) == digest else None


# ------------------------------------------------------------------------------------------ what the last build measured


def payload_key(spec: Spec, lock: Lock) -> str:
    """Equal for specs that give the same payload: everything but the card, receipts and texts outside of it.

    Files beside release.yaml that become part of the payload count with their bytes. CheckFailed where one is absent.
    """
    local = [sha256(beside.read(spec, f.path, f"/files/{i}/from")) for i, f in enumerate(spec.files) if f.source is None]
    shaping = {k: v for k, v in spec.document.items() if k not in ("card", "benchmarks", "waive", "publish", "notice", "license_text")}
    return key_of(__version__, shaping, local, locks.dumps(lock).decode())  # another version may measure otherwise


def facts_file(cache: Path, key: str) -> Path:
    return cache / "payloads" / f"{key}.json"


def save_facts(spec: Spec, lock: Lock, cache: Path, payload: Payload) -> None:
    """Keeps what a build measured, for `card render`. Losing it only means building again."""
    file = facts_file(cache, payload_key(spec, lock))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        scratch = file.with_suffix(f".{os.getpid()}")
        scratch.write_bytes(canonical.dumps({"digest": payload.digest, "facts": payload.facts}))
        scratch.replace(file)
    except OSError:
        return


def last_build(spec: Spec, lock: Lock, cache: Path) -> tuple[Payload | None, Mapping[str, Any] | None]:
    try:
        value = json.loads(facts_file(cache, payload_key(spec, lock)).read_bytes())
        payload = Payload(str(value["digest"]), {name: dict(facts) for name, facts in value["facts"].items()})
        if not {"files", "weights"} <= set(payload.facts):
            return None, None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ReleaseError):
        return None, None
    from hubrelease.steps.validation import report_for

    return payload, json.loads(report_for(payload.digest, None))
