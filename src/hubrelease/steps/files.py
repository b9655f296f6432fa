"""Further files that release.yaml asks for: from a source, or from beside it."""

from __future__ import annotations

from hubrelease import beside
from hubrelease.steps import Build
from hubrelease.tree import Copy


class Files:
    name = "files"

    def skip(self, build: Build) -> str | None:
        return None if build.spec.files else "no files in release.yaml"

    def run(self, build: Build) -> None:
        copies = [Copy(f.to, build.sources.file(f.source, f.path)) for f in build.spec.files if f.source]
        build.tree.copy_all(copies, "files")
        for number, file in enumerate(build.spec.files):
            if not file.source:
                build.tree.put(file.to, beside.read(build.spec, file.path, f"/files/{number}/from"))
