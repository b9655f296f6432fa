"""README.md, its translations, .eval_results/ and plots, made from spec, lock, receipts and payload."""

from __future__ import annotations

import json

from hubrelease.cards import files
from hubrelease.cards_kept import kept_beside
from hubrelease.errors import CheckFailed, problem
from hubrelease.facts import Facts
from hubrelease.manifest import REPORT
from hubrelease.payload import measure
from hubrelease.plots import pictures
from hubrelease.receipts import read_all
from hubrelease.steps import Build
from hubrelease.weights import ContainerFault


class Card:
    name = "card"

    def skip(self, build: Build) -> str | None:
        return None

    def run(self, build: Build) -> None:
        receipts = {path: value for path, (_, value) in read_all(build.spec).items()}
        try:
            payload = measure(build.tree.root, build.tree.list())
        except ContainerFault as fault:
            raise CheckFailed(
                [problem("weights-unusable", "weights", f.message, "fetch or convert them again") for f in fault.faults]
            ) from None
        report = json.loads((build.tree.root / REPORT).read_bytes())
        facts = Facts(build.spec, build.sources.lock, receipts, payload, kept=kept_beside(build.spec))
        for path, text in files(facts, report).items():
            build.tree.put(path, text.encode("utf-8"))
        for path, data in pictures(facts).items():
            build.tree.put(path, data)
