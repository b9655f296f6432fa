"""hubrelease card render: the model card from its data."""

from __future__ import annotations

from pathlib import Path

import click

from hubrelease import api
from hubrelease.cards_check import compare, find_spec, write_card
from hubrelease.commands.options import common
from hubrelease.errors import Exit
from hubrelease.report import Outcome


@click.group("card", no_args_is_help=False, epilog="Example: hubrelease card render examples/minilm")
def COMMAND() -> None:
    """The model card."""


@COMMAND.command(epilog="Example: hubrelease card render examples/minilm -o README.md")
@click.argument("release", default=".", metavar="[RELEASE|DIR]")
@click.option("-o", "output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--check", is_flag=True, help="Compare with the README.md that is there and print the difference.")
@click.option("--tree", metavar="DIR", help="A built release from which facts about the payload are taken.")
@common
def render(release: str, output: str | None, check: bool, tree: str | None, as_json: bool, quiet: bool) -> Outcome:
    """Render the model card from release.yaml, the lock, the receipts and the templates.

    Facts about the weights come from --tree, else from the last build that fits.
    """
    if check and output:
        raise click.UsageError("--check compares and writes nothing; leave out -o")
    spec, readme = find_spec(Path(release))
    card = api.render_card(spec, tree=tree)
    if check:
        lines, problems = compare(card, readme)
        return Outcome(
            "card render",
            Exit.BAD if problems else Exit.GOOD,
            problems,
            lines or ["README.md is what its data renders to"],
            {"diff": lines},
        )
    if output:
        write_card(Path(output), card)
        return Outcome("card render", lines=[f"wrote {output}"], value={"file": output})
    return Outcome("card render", raw=card, value={"card": card})
