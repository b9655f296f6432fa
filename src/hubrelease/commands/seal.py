"""hubrelease seal: a folder that is there becomes a release in place."""

from __future__ import annotations

import click

from hubrelease import api, report
from hubrelease.commands.build import built_outcome
from hubrelease.commands.options import common, offline
from hubrelease.report import Outcome


@click.command(epilog="Example: hubrelease seal /data/my-model")
@click.argument("folder", metavar="DIR")
@click.option("--rehash", is_flag=True, help="Trust no record of an earlier seal: hash every file again.")
@offline
@common
def COMMAND(folder: str, rehash: bool, offline: bool, as_json: bool, quiet: bool) -> Outcome:
    """Make a folder with a release.yaml a release in place: checks, card, provenance. Seals again after a hand edit.

    The weights are read once and not touched.
    """
    return built_outcome("seal", api.seal(folder, rehash=rehash, offline=offline, progress=report.progress_for(quiet)), folder)
