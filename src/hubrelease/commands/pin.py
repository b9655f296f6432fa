"""hubrelease pin: every source as a commit and digests."""

from __future__ import annotations

from dataclasses import asdict

import click

from hubrelease import api, pins, report
from hubrelease import lock as locks
from hubrelease.commands.options import common, offline, release
from hubrelease.errors import Exit
from hubrelease.pins import Change
from hubrelease.report import Outcome, pasted
from hubrelease.spec import Spec, load_spec


@click.command(epilog="Example: hubrelease pin examples/minilm --update base_model")
@release
@click.option(
    "--update",
    multiple=True,
    metavar="NAME",
    help="Move this source to what upstream has now; may be given several times. `packages` are the runtime's.",
)
@click.option("--outdated", is_flag=True, help="Only list what upstream has moved; write nothing.")
@offline
@common
def COMMAND(release: str, update: tuple[str, ...], outdated: bool, offline: bool, as_json: bool, quiet: bool) -> Outcome:
    """Resolve every source to a commit and the digests of its files, and write release.lock.json.

    A source that is pinned stays as it is, whatever upstream does, until --update names it.
    """
    spec = load_spec(release)
    progress = report.progress_for(quiet)
    if outdated and update:
        raise click.UsageError("--outdated only lists; give --update in a second command")
    if outdated:
        return outdated_outcome(spec, list(pins.outdated(spec, locks.read(spec) or locks.Lock(), api.outside_for(spec, offline, progress))))
    before = locks.read(spec)
    after = api.pin(spec, update=update, offline=offline, progress=progress)
    changes = list(pins.changes(before, after))
    sealed = spec.source(spec.weights.source) is None  # the weights lie beside release.yaml
    nothing = "nothing has changed" if after.sources or after.packages else "there is nothing to pin: release.yaml names no sources"
    return Outcome(
        "pin",
        value={"changes": [asdict(c) for c in changes]},
        lines=[change_text(c) for c in changes] or [nothing],
        hint=pasted("hubrelease", "seal", spec.folder) if sealed else pasted("hubrelease", "build", release, "--out", "DIR"),
    )


def outdated_outcome(spec: Spec, moved: list[Change]) -> Outcome:
    lines = [f"{c.name}: {pinned_text(c)}, upstream is at {short(c.after)}" for c in moved] or ["everything is as upstream has it"]
    hint = pasted("hubrelease", "pin", spec.folder, *(word for c in moved for word in ("--update", c.name))) if moved else None
    return Outcome("pin", Exit.GOOD, value={"outdated": [asdict(c) for c in moved]}, lines=lines, hint=hint)


def pinned_text(change: Change) -> str:
    return f"pinned {short(change.before)}" if change.before else "not pinned yet"


def change_text(change: Change) -> str:
    if change.before is None:
        return f"{change.name}: pinned at {short(change.after)}"
    if change.before == change.after:
        return f"{change.name}: still at {short(change.after)}, with what release.yaml asks for now"
    return f"{change.name}: removed" if change.after is None else f"{change.name}: {short(change.before)} → {short(change.after)}"


def short(revision: str | None) -> str:
    return (revision or "")[:12]
