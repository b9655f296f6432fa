"""The weights: passed through as they are, cut into shards of another size, or converted to a quantised format."""

from __future__ import annotations

from hubrelease import beside
from hubrelease.conversion import configs
from hubrelease.conversion.convert import Request, convert, open_checkpoint
from hubrelease.conversion.request import form_for
from hubrelease.conversion.rules import Wishes
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
        if build.spec.weights.converts:
            rest = converted(build, files)
        elif build.spec.weights.max_shard_bytes is not None:
            rest = reshard(build, files, build.spec.weights.max_shard_bytes)
        else:
            rest = files
        build.tree.copy_all([Copy(f.path, f) for f in rest], "weights" if rest is files else "other weights")


def converted(build: Build, files: list[SourceFile]) -> list[SourceFile]:
    """Converts the checkpoint into the tree; the weight files that are no part of it."""
    wanted = build.spec.weights
    config = build.sources.file(wanted.source, configs.CONFIG).read()
    checkpoint = open_checkpoint(files, config)
    where = build.spec.where("/weights")
    form = form_for(wanted.format, dict(wanted.options), "cpu", where)
    asked = Request(form, wishes=Wishes(wanted.include, wanted.exclude), scales=activation_scales(build), where=where)
    convert(build.tree, checkpoint, asked, build.sources.outside.cache / "conversions")
    return list(checkpoint.rest)


def activation_scales(build: Build) -> tuple[str, bytes] | None:
    asked = build.spec.weights.activation_scales
    if asked is None:
        return None
    source, path = asked
    data = build.sources.file(source, path).read() if source else beside.read(build.spec, path, "/weights/activation_scales/path")
    return path, data
