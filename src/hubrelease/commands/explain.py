"""hubrelease explain: what a finding means."""

from __future__ import annotations

from dataclasses import asdict

import click

from hubrelease import explain
from hubrelease.commands.options import common
from hubrelease.report import Outcome


@click.command(epilog="Example: hubrelease explain HR216")
@click.argument("code", metavar="CODE")
@common
def COMMAND(code: str, as_json: bool, quiet: bool) -> Outcome:
    """What a finding means, why it matters and how to mend it. CODE is a code (HR216) or a kind (hash-mismatch)."""
    found = explain.page(code)
    lines = [line for page in found for line in explain.lines(page)]
    return Outcome("explain", lines=lines, value={"pages": [asdict(page) for page in found]})
