"""Receipts: raw results of benchmarks, copied unchanged into benchmarks/."""

from __future__ import annotations

from hubrelease.receipts import read_all
from hubrelease.steps import Build


class Receipts:
    name = "receipts"

    def skip(self, build: Build) -> str | None:
        return None if build.spec.receipts else "no benchmarks in release.yaml"

    def run(self, build: Build) -> None:
        for path, (data, _) in read_all(build.spec).items():
            build.tree.put(path, data)
