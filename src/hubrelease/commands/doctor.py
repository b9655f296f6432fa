"""hubrelease doctor: what this machine can and can't do."""

from __future__ import annotations

import click

from hubrelease.commands.options import common
from hubrelease.doctor import examine
from hubrelease.report import Outcome


@click.command(epilog="Example: hubrelease doctor --json")
@common
def COMMAND(as_json: bool, quiet: bool) -> Outcome:
    """List what this machine can and can't do: extras, GPU, programs, token (never its value), each with its mend."""
    rows = examine()
    width = max(len(row.what) for row in rows)
    lines = [f"{'yes' if row.ok else 'no ':3}  {row.what:{width}}  {row.found if row.ok else row.mend}" for row in rows]
    value = {"items": [{"what": r.what, "ok": r.ok, "found": r.found, "mend": None if r.ok else r.mend} for r in rows]}
    return Outcome("doctor", lines=lines, value=value)
