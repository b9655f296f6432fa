"""hubrelease check: everything that can be said without building and without the network."""

from __future__ import annotations

import click

from hubrelease.checker import check
from hubrelease.commands.options import common, release
from hubrelease.errors import Exit, worst
from hubrelease.report import Outcome


@click.command(epilog="Example: hubrelease check examples/minilm")
@release
@common
def COMMAND(release: str, as_json: bool, quiet: bool) -> Outcome:
    """Say everything that can be said without building: spec, lock, licence, omissions, receipts, figures, card.

    Exit code 0: ready to build; 1: problems; 2: release.yaml can't be understood.
    """
    problems = check(release)
    code = worst(problems)
    line = "good: ready to build" if code == Exit.GOOD else "not ready to build"
    return Outcome("check", code, problems, [line], hint=f"hubrelease build {release} --out DIR" if code == Exit.GOOD else None)
