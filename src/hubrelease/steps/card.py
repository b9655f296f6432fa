"""README.md, rendered from spec, lock, receipts and payload."""

from __future__ import annotations

import json

from hubrelease.cards import render
from hubrelease.errors import CheckFailed, problem
from hubrelease.facts import Facts
from hubrelease.manifest import REPORT
from hubrelease.payload import measure
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
        facts = Facts(build.spec, build.sources.lock, receipts, payload)
        build.tree.put("README.md", render(facts, report).encode("utf-8"))
