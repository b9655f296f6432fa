"""The weights: passed through as they are, or cut into shards of another size. Conversion has steps of its own."""

from __future__ import annotations

from hubrelease.errors import CheckFailed, problem
from hubrelease.fetch import SourceFile
from hubrelease.manifest import role_of
from hubrelease.reshard import reshard
from hubrelease.steps import Build
from hubrelease.steps.side_files import left_behind
from hubrelease.tree import Copy


def weight_files(build: Build) -> list[SourceFile]:
    """The weight files of the weights' source that are not omitted, sorted by path."""
    files = build.sources.files(build.spec.weights.source)
    return [f for f in files if role_of(f.path) == "weights" and not left_behind(build.spec, f.path)]


class Weights:
    name = "weights"

    def skip(self, build: Build) -> str | None:
        return None

    def run(self, build: Build) -> None:
        files = weight_files(build)
        if not files:
            where = build.spec.where("/weights")
            message = f'the source "{build.spec.weights.source}" has no weights'
            raise CheckFailed(problem("weights-unusable", where, message, "correct weights.source, its path or its files"))
        limit = build.spec.weights.max_shard_bytes
        if limit is None:
            build.tree.copy_all([Copy(f.path, f) for f in files], "weights")
            return
        rest = reshard(build, files, limit)
        build.tree.copy_all([Copy(f.path, f) for f in rest], "other weights")
