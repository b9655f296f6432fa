"""hubrelease build: the whole release."""

from __future__ import annotations

from dataclasses import replace

import click

from hubrelease import api, report
from hubrelease.builder import Built
from hubrelease.commands.options import common, offline, release
from hubrelease.errors import ReleaseError, attempted
from hubrelease.report import Outcome, pasted
from hubrelease.spec import load_spec, override


@click.command(epilog="Example: hubrelease build examples/minilm --out dist/minilm --locked")
@release
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    help="Where the release is made. An older release there is replaced at the end, in one step.",
)
@click.option("--locked", is_flag=True, help="Refuse to build if release.lock.json is absent or does not fit release.yaml.")
@offline
@click.option("--jobs", type=click.IntRange(1, 64), metavar="N", help="Files worked on at once (default: one a core).")
@click.option("--link", is_flag=True, help="Hard-link files from this disk instead of copying them. Editing one then edits both.")
@click.option("--rehash", is_flag=True, help="Trust no record of earlier builds: hash again whatever is taken over.")
@click.option(
    "--max-shard-size",
    metavar="SIZE",
    help="Re-shard to at most SIZE (such as 5GB); as weights.max_shard_size in release.yaml.",
)
@click.option("--validate", is_flag=True, help="Then run it on this machine's GPU, as `hubrelease validate` does.")
@common
def COMMAND(release: str, out: str, locked: bool, offline: bool, jobs: int | None, link: bool, rehash: bool, max_shard_size: str | None,
            validate: bool, as_json: bool, quiet: bool) -> Outcome:  # fmt: skip
    """Make the whole release: pinned sources, weights, side files, licences, receipts, runtime, card, provenance.

    A build that fails or is killed leaves DIR as it was; the next run goes on from what was finished.
    """
    spec = load_spec(release)
    spec = override(spec, max_shard_size=max_shard_size) if max_shard_size else spec
    built = api.build(
        spec,
        out,
        locked=locked,
        offline=offline,
        jobs=jobs,
        link=link,
        rehash=rehash,
        progress=report.progress_for(quiet),
    )
    outcome = built_outcome("build", built, out)
    return with_validation(outcome, out, quiet) if validate else outcome


def with_validation(outcome: Outcome, out: str, quiet: bool) -> Outcome:
    """The build's outcome and that of a validation of what was built. What can't be validated here stays built."""
    from hubrelease.commands.validate import validated_outcome

    tried = attempted(lambda: api.validate(out, progress=report.progress_for(quiet)))
    if isinstance(tried, ReleaseError):
        lines = [*outcome.lines, "built, and not validated"]
        return replace(outcome, exit=tried.exit, problems=[*outcome.problems, *tried.problems], lines=lines)
    done = validated_outcome(tried, out, "build")
    return replace(
        done,
        problems=[*outcome.problems, *done.problems],
        lines=[*outcome.lines[:1], *done.lines, f"release digest {done.value['releaseDigest']}"],
        value={**outcome.value, **done.value},
    )


def built_outcome(command: str, built: Built, folder: str) -> Outcome:
    """What build and seal have to say."""
    lines = [f"{folder}: {built.files} files, {report.size_text(built.size)}", f"release digest {built.release_digest}"]
    if built.signature_removed:
        lines.append("model.sig was removed: it no longer fits; sign again")
    value = {
        "folder": str(built.folder),
        "releaseDigest": built.release_digest,
        "files": built.files,
        "bytes": built.size,
    }
    return Outcome(command, problems=built.warnings, lines=lines, value=value, hint=pasted("hubrelease", "verify", folder))
