"""hubrelease card render: the model card from its data."""

from __future__ import annotations

from pathlib import Path

import click

from hubrelease.commands.card_preview import COMMAND as PREVIEW
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
@click.option("--locale", metavar="L", help="The card in one of its languages (card.locales).")
@click.option("--tree", metavar="DIR", help="A built release from which facts about the payload are taken.")
@common
def render(release: str, output: str | None, check: bool, locale: str | None, tree: str | None, as_json: bool, quiet: bool) -> Outcome:
    """Render the model card from release.yaml, the lock, the receipts and the templates.

    Facts about the weights come from --tree, else from the last build that fits. A release without release.yaml is rendered
    from its provenance and its own files. Texts in marked blocks of the card that is there are kept.
    """
    from hubrelease.card_command import card_of
    from hubrelease.cards_check import compare_all, write_card

    if check and output:
        raise click.UsageError("--check compares and writes nothing; leave out -o")
    card = card_of(Path(release), Path(tree) if tree else None, locale, Path(output) if output else None, all_files=check)
    if check:
        lines, problems = compare_all(card.files)
        return Outcome(
            "card render",
            Exit.BAD if problems else Exit.GOOD,
            [*problems, *card.warnings],
            lines or [f"{', '.join(path.name for path in card.files)}: what the data renders to"],
            {"diff": lines},
        )
    if output:
        write_card(Path(output), card.text)
        return Outcome("card render", problems=list(card.warnings), lines=[f"wrote {output}"], value={"file": output})
    return Outcome("card render", problems=list(card.warnings), raw=card.text, value={"card": card.text, "figures": card.figures})


COMMAND.add_command(PREVIEW, "preview")
