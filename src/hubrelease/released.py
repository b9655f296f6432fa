"""The facts of a finished release that has no release.yaml beside it: the spec that its provenance embeds, and its own files.

So that anybody who downloads a release can render its card again and compare. The bytes are hostile: the spec is held
against the schema like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hubrelease import verify_release
from hubrelease.card_command import facts_of_tree
from hubrelease.cards_kept import kept_beside
from hubrelease.dependencies import of_document
from hubrelease.errors import CheckFailed, OutsideError, Problem, ReleaseError, SpecError, Where, problem
from hubrelease.evaluations import MAX_RECEIPT_BYTES
from hubrelease.facts import Facts
from hubrelease.lock import Lock
from hubrelease.receipts import parse
from hubrelease.spec import Spec, faults_of, to_spec
from hubrelease.strict_yaml import Scalar
from hubrelease.verify_release import PROVENANCE


def of_release(root: Path, target: Path | None = None) -> tuple[Facts, Mapping[str, Any] | None]:
    """(facts, validation report). Raises SpecError where the embedded spec is not of this version's form, and CheckFailed."""
    payload, report = facts_of_tree(root)
    folder = verify_release.Folder(root)
    document = verify_release.parse_provenance(folder.read(PROVENANCE, verify_release.MAX_PROVENANCE_BYTES)).document or {}
    spec = embedded_spec(root, document)
    return Facts(spec, Lock(), receipts_of(spec, folder), payload, pinned_of(spec, document), kept_beside(spec, target)), report


def embedded_spec(root: Path, document: Mapping[str, Any]) -> Spec:
    value = dict(verify_release.spec_of(document))
    if faults := faults_of(value, lambda pointer: Where(PROVENANCE, None, pointer)):
        raise SpecError(faults)
    spec = to_spec(root / PROVENANCE, value, Scalar("", False, PROVENANCE, 1))
    own = spec.card.get("template")
    if own and not (root / own).is_file():
        message = f"the card was made with a template of its own ({own}), which is no part of the release"
        raise CheckFailed(problem("template-fault", PROVENANCE, message, "render it where its release.yaml is"))
    return spec


def receipts_of(spec: Spec, folder: verify_release.Folder) -> dict[str, Any]:
    found: dict[str, Any] = {}
    problems: list[Problem] = []
    for receipt in spec.receipts:
        try:
            found[receipt.to] = parse(receipt.to, folder.read(receipt.to, MAX_RECEIPT_BYTES), has_non_finite=True)
        except OSError as error:
            gone = problem("source-unreachable", receipt.to, f"could not be read: {error.strerror or error}", "download the release whole")
            problems += OutsideError(gone).problems
        except ReleaseError as error:
            problems += error.problems
    if problems:
        raise CheckFailed(problems)
    return found


def pinned_of(spec: Spec, document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Of each source of the spec: its address, revision, licence and number of files. The provenance has no sizes of sources."""
    found: dict[str, Mapping[str, Any]] = {}
    for row in of_document(document):
        if row.name not in found and spec.source(row.name) is not None:
            revision, files = str(next(iter(row.digest.values()), "")), row.annotations.get("files")
            count = len(files) if isinstance(files, list) else 0
            found[row.name] = {"uri": row.uri, "revision": revision, "license": row.license, "files": count}
    return found
