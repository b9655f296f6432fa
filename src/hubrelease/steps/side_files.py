"""Everything that the base has besides weights: config, generation config, tokenizer, chat template, processor files.

Nothing is lost silently: a file of the base that the release would not have is a problem unless side_files.omit names
it with a reason. The base's own card, licence texts, receipts and manifests are other steps' business, or the base's.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.errors import CheckFailed, Problem, problem
from hubrelease.glob_paths import matches
from hubrelease.lock import Lock
from hubrelease.manifest import role_of
from hubrelease.spec import Spec
from hubrelease.steps import Build
from hubrelease.steps.runtime import VERIFIER
from hubrelease.tree import Copy
from hubrelease.verify_release import LITTER, PROVENANCE, SIGNATURE

NOT_OURS = (".gitattributes", ".gitignore", "README.md", PROVENANCE, SIGNATURE, "SHA256SUMS", VERIFIER)
THE_BASES = ("benchmarks/", ".eval_results/", ".cache/")  # the base's own scores are no receipts of this release


def left_behind(spec: Spec, path: str) -> bool:
    """True for a file of the base that no step carries: declared omissions, and what only speaks of the base itself."""
    if path in NOT_OURS or path.startswith(THE_BASES) or LITTER.search(path):
        return True
    return spec.side_files is not None and any(matches(path, omission.path) for omission in spec.side_files.omit)


def is_licence_text(path: str) -> bool:
    return "/" not in path and role_of(path) == "licence"


def is_side_file(spec: Spec, path: str) -> bool:
    return not left_behind(spec, path) and not is_licence_text(path) and role_of(path) != "weights"


def omission_problems(spec: Spec, lock: Lock) -> Iterator[Problem]:
    """Files of the base that would be lost without a reason, and omissions that fit nothing. Needs no network."""
    if spec.side_files is None or (base := lock.source(spec.side_files.source)) is None:
        return
    pattern_mend = "leave it out under side_files.omit with a reason, or widen the source's files"
    for path in base.others:
        if not left_behind(spec, path) and not is_licence_text(path):
            yield problem(
                "omission-undeclared",
                spec.where(f"/sources/{base.name}/files"),
                f"the base has {path}, which `files` leaves out",
                pattern_mend,
            )
    everything = [*(f.path for f in base.files), *base.others]
    for number, omission in enumerate(spec.side_files.omit):
        if not any(matches(path, omission.path) for path in everything):
            where = spec.where(f"/side_files/omit/{number}/path")
            yield problem(
                "omission-undeclared",
                where,
                f'"{omission.path}" fits no file of the base',
                "correct the pattern, or remove it",
            )


class SideFiles:
    name = "side files"

    def skip(self, build: Build) -> str | None:
        return None

    def run(self, build: Build) -> None:
        if problems := list(omission_problems(build.spec, build.sources.lock)):
            raise CheckFailed(problems)
        assert build.spec.side_files is not None
        files = build.sources.files(build.spec.side_files.source)
        made = set(build.tree.entries)  # a conversion has written config.json already
        kept = [f for f in files if f.path not in made and is_side_file(build.spec, f.path)]
        build.tree.copy_all([Copy(f.path, f) for f in kept], "side files")
