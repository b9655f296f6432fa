"""hubrelease diff: what changed between two releases."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click

from hubrelease.against import opened
from hubrelease.commands.options import common
from hubrelease.compare import Difference, differences
from hubrelease.report import Outcome

SIGNS = {"added": "+", "removed": "-", "changed": "~"}


@click.command(epilog="Example: hubrelease diff dist/v1 dist/v2")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@common
def COMMAND(first: str, second: str, as_json: bool, quiet: bool) -> Outcome:
    """What changed between two releases, down to tensors, JSON values, template lines and figures.

    Exit code 0 whether or not they differ; --json has the list.
    """
    found = list(differences(opened(Path(first)), opened(Path(second))))
    lines = [text(d) for d in found] or ["no difference"]
    counts = Counter(d.change for d in found)
    summary = ", ".join(f"{n} {change}" for change, n in sorted(counts.items()))
    return Outcome("diff", lines=[*lines, *([summary] if found else [])], value={"differences": [asdict(d) for d in found]})


def text(found: Difference) -> str:
    return f"{SIGNS[found.change]} {found.file} {found.part}: {found.detail}"
