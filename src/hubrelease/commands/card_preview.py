"""hubrelease card preview: a page on this machine that shows the card as the Hub would."""

from __future__ import annotations

import click

from hubrelease.commands.options import common
from hubrelease.report import Outcome, show


@click.command(epilog="Example: hubrelease card preview examples/minilm")
@click.argument("release", default=".", metavar="[RELEASE|DIR]")
@click.option("--port", default=0, metavar="N", type=click.IntRange(0, 65535), help="The port on 127.0.0.1; a free one if not given.")
@click.option("--no-open", is_flag=True, help="Print the address only, and open no browser.")
@common
def COMMAND(release: str, port: int, no_open: bool, as_json: bool, quiet: bool) -> None:
    """Show the card as the Hub would, with its findings and where each figure comes from, until Ctrl-C.

    The page reloads whenever a file of the folder changes. It is served to this machine alone and fetches nothing.
    """
    from hubrelease.preview import live

    running = live.start(release, port)

    def announce() -> None:
        show(Outcome("card preview", raw=f"{running.url}\nCtrl-C ends it.\n", value={"url": running.url}), as_json, quiet)
        if not no_open:
            live.open_browser(running.url)

    running.run(announce)
