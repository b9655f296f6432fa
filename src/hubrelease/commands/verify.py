"""hubrelease verify: is this release what it says it is?"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click

from hubrelease import report
from hubrelease.commands.options import common
from hubrelease.conversion.selection import Selection
from hubrelease.identity import Expected
from hubrelease.report import Outcome
from hubrelease.verifier import Verdict, verify


@click.command(epilog="Example: hubrelease verify dist/minilm --json")
@click.argument("folder", default=".", metavar="[DIR|hf://REPO@REV]")
@click.option("--strict", is_flag=True, help="A warning is as bad as an error; waivers don't count.")
@click.option("--deep", is_flag=True, help="Also read the data of all tensors, not only of scales.")
@click.option("--against", metavar="DIR", help="Another build of the same release: says what differs, and whether only in its bytes.")
@click.option(
    "--remote-tree", metavar="FILE", help="A stored listing of the Hub (the tree call's JSON): says what is missing or differs there."
)
@click.option("--expect-name", metavar="N", help="Fail (4) if the release names another repository.")
@click.option("--expect-version", metavar="V", help="Fail (4) if the release is of another version.")
@click.option("--expect-digest", metavar="D", help="Fail (4) if the release digest is another one.")
@click.option("--rederive", is_flag=True, help="Derive tensors again from the pinned base and compare bits (16 of them).")
@click.option("--tensor", metavar="GLOB", help="Derive these weights again (* within a name's dots, ** across them).")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Derive N weights again.")
@click.option("--all", "all_", is_flag=True, help="Derive every converted weight again.")
@click.option("--base", metavar="DIR", help="The base's folder, where it is not on the Hub.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "github", "sarif"]),
    default="text",
    help="Findings for a pull request or a code scanner.",
)
@common
def COMMAND(
    folder: str,
    strict: bool,
    deep: bool,
    against: str | None,
    remote_tree: str | None,
    expect_name: str | None,
    expect_version: str | None,
    expect_digest: str | None,
    rederive: bool,
    tensor: str | None,
    sample: int | None,
    all_: bool,
    base: str | None,
    form: str,
    as_json: bool,
    quiet: bool,
) -> Outcome:
    """Is this release what it says it is?

    Compares every file of DIR (default: the current folder) with its MODEL_PROVENANCE.json and runs every check, offline.
    hf://REPO@REV is checked on the Hub without downloading the weights.
    Exit code 0: good; 1: bad; 3: could not decide, such as a partial download; 4: not the release that was expected.
    """
    finish_interrupted_build(folder)
    expected = Expected(expect_name, expect_version, expect_digest)
    progress = report.progress_for(quiet)
    wanted = selection(rederive, tensor, sample, all_)
    verdict = verify(
        folder,
        strict=strict,
        deep=deep,
        against=against,
        remote_tree=remote_tree,
        expected=expected,
        rederive=wanted,
        base=base,
        progress=progress,
    )
    return replace(outcome_of(verdict, folder), raw=formatted(verdict, folder, form))


def selection(rederive: bool, tensor: str | None, sample: int | None, all_: bool) -> Selection | None:
    if sum(map(bool, (tensor, sample, all_))) > 1:
        raise click.UsageError("give one of --tensor, --sample and --all")
    if tensor or sample or all_:
        return Selection(tensor, sample)
    return Selection() if rederive else None


def finish_interrupted_build(folder: str) -> None:
    """A build that was killed while it replaced DIR is finished or rolled back first."""
    if folder.startswith("hf://") or os.path.exists(folder):  # unlike Path.exists, False as well where a folder may not be entered
        return
    from hubrelease.workspace import folder_for, recover

    target = Path(folder).absolute()
    if os.path.exists(folder_for(target) / "swap.json"):
        recover(target)


def formatted(verdict: Verdict, folder: str, form: str) -> str | None:
    if form == "text":
        return None
    from hubrelease.finding_formats import github_lines, sarif

    prefix = "" if folder in (".", "./") or folder.startswith("hf://") else folder.rstrip("/") + "/"
    return sarif(verdict.problems, prefix) if form == "sarif" else "\n".join(github_lines(verdict.problems, prefix))


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
    if verdict.rederivable:
        lines.append(f"{len(verdict.rederived)} of {verdict.rederivable} tensors derived again from the pinned base")
    value = {"verdict": verdict.word, "release": release, "checked": dict(verdict.checked)}
    if verdict.rederivable:
        value["rederived"] = list(verdict.rederived)
    hint = "mend what is listed above, or tell the publisher" if verdict.word == "bad" else None
    return Outcome("verify", verdict.exit, verdict.problems, lines, value, hint, problems_key="findings")
