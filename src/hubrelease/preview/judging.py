"""The findings beside a card: those of `hubrelease check`, of `card render --check` and of the checks that read README.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from hubrelease import published, receipts, verify_release
from hubrelease.card_text import FILE
from hubrelease.checks import checks
from hubrelease.errors import Problem, ReleaseError
from hubrelease.release import Release
from hubrelease.spec import Spec
from hubrelease.verifier import apply_waivers, collected
from hubrelease.verify_release import Folder, Provenance, Result

RANGES = ("HR51", "HR52", "HR61")  # the checks on cards and on what they claim


def card_findings(release: Release) -> list[Problem]:
    """What the checks on cards find, waivers applied."""
    found = [p for check in checks() if check.code.startswith(RANGES) for p in collected(check.kind, check.run(release))]
    return list(apply_waivers(release, dict.fromkeys(found), strict=False))


def of_spec(spec: Spec, card: str) -> list[Problem]:
    """Findings on a card that was rendered and is not in a release yet: it and the receipts are all that is looked at."""
    document = {"predicate": {"buildDefinition": {"externalParameters": {"spec": dict(spec.document)}}}}
    overlay: Mapping[str, bytes] = {FILE: card.encode(), **dict(receipt_bytes(spec))}
    found = card_findings(Release(spec.folder, Result(Provenance(document, [], []), {}, [], [], 0, 0), overlay))
    return [p for p in found if p.kind != published.KIND]  # `check` tells of them at their lines


def receipt_bytes(spec: Spec) -> Iterator[tuple[str, bytes]]:
    try:
        yield from ((path, data) for path, (data, _) in receipts.read_all(spec).items())
    except ReleaseError:
        return  # `check` tells of them


def of_folder(root: Path, card: str | None = None) -> list[Problem]:
    """Findings on the README.md of a folder that is, or may become, a release; on `card` in its place. Nothing is hashed."""
    folder = Folder(root)
    entries, _ = folder.scan()
    provenance = verify_release.load_provenance(folder, entries)
    overlay = {} if card is None else {FILE: card.encode()}
    return card_findings(Release(root, Result(provenance, entries, [], [], 0, 0), overlay))
