"""hubrelease check: everything that can be said without building and without the network."""

from __future__ import annotations

import click

from hubrelease.checker import check
from hubrelease.commands.options import common, release
from hubrelease.errors import Exit, worst
from hubrelease.report import Outcome, pasted
from hubrelease.spec import load_spec


@click.command(epilog="Example: hubrelease check examples/minilm")
@release
@common
def COMMAND(release: str, as_json: bool, quiet: bool) -> Outcome:
    """Say everything that can be said without building: spec, lock, licence, omissions, receipts, figures, card.

    Exit code 0: ready to build; 1: problems; 2: release.yaml can't be understood.
    """
    problems = check(release)
    code = worst(problems)
    if code != Exit.GOOD:
        return Outcome("check", code, problems, ["not ready to build"])
    spec = load_spec(release)
    if spec.source(spec.weights.source) is None:  # the weights lie beside release.yaml
        return Outcome("check", code, problems, ["good: ready to seal"], hint=pasted("hubrelease", "seal", spec.folder))
    return Outcome("check", code, problems, ["good: ready to build"], hint=pasted("hubrelease", "build", release, "--out", "DIR"))
