"""hubrelease validate: run the release on a device, and write down what came out."""

from __future__ import annotations

from pathlib import Path

import click

from hubrelease import api, report
from hubrelease.commands.options import common
from hubrelease.report import Outcome
from hubrelease.validated import DEVICES, RUNTIMES, SUITES, Asked, Validated, lines


@click.command(epilog="Example: hubrelease validate dist/minilm --runtime transformers --device cpu")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option(
    "--runtime", type=click.Choice(RUNTIMES), help="What runs the release (default: runtime.kind of release.yaml, else transformers)."
)
@click.option("--device", type=click.Choice(DEVICES), help="Where it runs (default: cuda).")
@click.option("--base-url", metavar="U", help="A server that runs already: OpenAI-compatible, or with --runtime sm120 the decision API.")
@click.option("--suite", type=click.Choice(SUITES), default="full", show_default=True, help="Every probe, or only the requests.")
@click.option("--image", metavar="NAME@DIGEST", help="The container image that this runs in, for the report and for --print-job.")
@click.option("--print-job", is_flag=True, help="Run nothing: print commands that run it on the Hub's job runner and in Docker.")
@common
def COMMAND(folder: str, runtime: str | None, device: str | None, base_url: str | None, suite: str, image: str | None, print_job: bool,
            as_json: bool, quiet: bool) -> Outcome:  # fmt: skip
    """Run the release in DIR on a device: does it load, answer, and answer sense?

    The report is bound to the payload's digest and put into the release; card and provenance are made again.
    Exit code 0: every required check passed; 1: one failed; 3: one could not be run, or there is no GPU.
    """
    asked = Asked(runtime, device, base_url, suite, image)
    progress = report.progress_for(quiet)
    if print_job:
        from hubrelease.jobs import lines as job_lines
        from hubrelease.validator import opened, settled

        release = opened(Path(folder), progress)
        made = job_lines(release, settled(asked, release))
        return Outcome("validate", lines=made, value={"commands": [line for line in made if not line.startswith("#")]})
    return validated_outcome(
        api.validate(folder, runtime=runtime, device=device, base_url=base_url, suite=suite, image=image, progress=progress), folder
    )


def validated_outcome(done: Validated, folder: str, command: str = "validate") -> Outcome:
    """What validate, and build --validate, have to say."""
    value = {
        "folder": folder,
        "file": done.file,
        "result": done.result,
        "releaseDigest": done.resealed.release_digest,
        "report": done.report,
    }
    return Outcome(command, done.exit, done.problems, list(lines(done)), value, f"hubrelease verify {folder}")
