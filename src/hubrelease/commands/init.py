"""hubrelease init: a release.yaml for a model folder that is there."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from hubrelease.commands.options import common
from hubrelease.report import Outcome, pasted
from hubrelease.starter import init


@click.command(epilog="Example: hubrelease init /data/my-model && hubrelease seal /data/my-model")
@click.argument("folder", default=".", metavar="[DIR]")
@common
def COMMAND(folder: str, as_json: bool, quiet: bool) -> Outcome:
    """Look at a model folder (config, quantisation, adapter, receipts, a card that is there) and write a commented release.yaml."""
    file, seen = init(Path(folder))
    lines = [
        f"wrote {file}",
        f"licence {seen.license or 'not found'}, base {seen.base_model or 'not found'}, format {seen.format}",
        f"receipts: {', '.join(seen.receipts) or 'none found'}",
    ]
    if seen.has_weights:
        hint = f"edit {file}, then: {pasted('hubrelease', 'seal', folder)}"
    else:
        lines.append("no weights found")
        hint = f"name a source in {file}, then: {pasted('hubrelease', 'pin', folder)}"
    return Outcome("init", lines=lines, value={"file": str(file), "seen": asdict(seen)}, hint=hint)
