"""hubrelease verify: is this release what it says it is?"""

from __future__ import annotations

from pathlib import Path

import click

from hubrelease import report
from hubrelease.commands.options import common
from hubrelease.report import Outcome
from hubrelease.verifier import Verdict, verify


@click.command(epilog="Example: hubrelease verify dist/minilm --json")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option("--strict", is_flag=True, help="A warning is as bad as an error; waivers don't count.")
@common
def COMMAND(folder: str, strict: bool, as_json: bool, quiet: bool) -> Outcome:
    """Is this release what it says it is?

    Compares every file of DIR (default: the current folder) with its MODEL_PROVENANCE.json and runs every check, offline.
    Exit code 0: good; 1: bad; 3: could not decide, such as a partial download.
    """
    if not Path(folder).exists():
        from hubrelease.workspace import recover  # a build that was killed while it replaced DIR

        recover(Path(folder).absolute())
    return outcome_of(verify(folder, strict=strict, progress=report.progress_for(quiet)), folder)


def outcome_of(verdict: Verdict, folder: str) -> Outcome:
    release = {"name": verdict.name, "releaseDigest": verdict.release_digest, "payloadDigest": verdict.payload_digest}
    lines = [
        f"{verdict.word}: {verdict.name or folder}, {verdict.checked['files']} files, {report.size_text(verdict.checked['bytes'])} checked"
    ]
    if verdict.word == "good":
        lines += [
            f"release digest {verdict.release_digest}",
            "Every file is the one that was released. Not proved: who released it.",
        ]
    value = {"verdict": verdict.word, "release": release, "checked": dict(verdict.checked)}
    hint = "mend what is listed above, or tell the publisher" if verdict.word == "bad" else None
    return Outcome("verify", verdict.exit, verdict.problems, lines, value, hint, problems_key="findings")
