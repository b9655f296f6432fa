"""The command line: one file a command (options → one library call → Outcome), and the one place that turns ends into exit codes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from hubrelease.errors import Exit, ReleaseError, Where, problem
from hubrelease.report import Outcome, show, show_bug
from hubrelease.verify_release import digest_of

if TYPE_CHECKING:
    from typing import NoReturn

COMMANDS = {
    "check": ("check", "Say everything that can be said without building."),
    "pin": ("pin", "Resolve every source to a commit and digests: release.lock.json."),
    "build": ("build", "Make the whole release."),
    "convert": ("convert", "Convert a model folder to a quantised format."),
    "seal": ("seal", "Make a folder that is there a release in place."),
    "card": ("card", "Render the model card from its data."),
    "bench": ("bench", "Decision benchmarks: run one, and a paired report of two runs."),
    "validate": ("validate", "Run a release on a device and write down what came out."),
    "verify": ("verify", "Is this release what it says it is?"),
    "diff": ("diff", "What changed between two releases, down to tensors."),
    "init": ("init", "Write a release.yaml for a model folder that is there."),
    "explain": ("explain", "What a finding means, why it matters, how to mend it."),
    "doctor": ("doctor", "What this machine can and can't do."),
}


class Lazy(click.Group):
    """Loads a command's module when it is used, so that --help and each command start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        from importlib import import_module

        command: click.Command = import_module(f"hubrelease.commands.{COMMANDS[name][0]}").COMMAND
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        from difflib import get_close_matches

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(f"there is no command {args[0]!r}" + (f"; the nearest is {near[0]!r}" if near else ""))
        return super().resolve_command(ctx, args)


EPILOG = """Example:

  hubrelease build examples/minilm --out dist/minilm && hubrelease verify dist/minilm

Exit codes: 0 good, 1 the release is bad, 2 usage or release.yaml, 3 could not decide or the outside failed,
4 signature or identity, 5 remote conflict, 70 a bug in hubrelease."""


@click.group(cls=Lazy, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="hubrelease", message="%(prog)s %(version)s")
def group() -> None:
    """Build, pin, hash and verify releases of models for the Hugging Face Hub."""


def main() -> NoReturn:
    """Runs the command line and exits. Every foreseen end is an exit code; what is not foreseen keeps its traceback."""
    arguments = sys.argv[1:]
    as_json, quiet = "--json" in arguments, "-q" in arguments or "--quiet" in arguments
    command = name_of(arguments)
    try:
        sys.exit(run(arguments, command, as_json, quiet))
    except BrokenPipeError:  # whoever read the messages has gone, and nothing was decided
        silence()
        sys.exit(Exit.OUTSIDE)


def name_of(arguments: list[str]) -> str:
    """The command that was asked for, `card render` and `bench report` in two words, as it stands in --json."""
    words = [a for a in arguments if not a.startswith("-")]
    return " ".join(words[:2]) if words[:1] in (["card"], ["bench"]) else next(iter(words), "hubrelease")


def run(arguments: list[str], command: str, as_json: bool, quiet: bool) -> int:
    try:
        outcome = group.main(args=arguments, prog_name="hubrelease", standalone_mode=False)
    except ReleaseError as error:
        outcome = ended(command, error)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.ctx.get_help() if error.ctx else "", file=sys.stderr)
        return Exit.USAGE
    except click.UsageError as error:
        outcome = usage(error, command, as_json)
    except (KeyboardInterrupt, click.Abort):
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        raise
    except Exception as error:  # a bug: the one place that catches what nobody foresaw
        show_bug(error)
        outcome = Outcome(command, Exit.BUG, value={"error": f"{type(error).__name__}: {error}"})
        if not as_json:
            return Exit.BUG
    if not isinstance(outcome, Outcome):  # --help and --version have printed what they have
        return int(outcome or 0)
    return show_or_say(outcome, as_json, quiet)


def ended(command: str, error: ReleaseError) -> Outcome:
    """What a command that came to a foreseen end has to say. Of a `verify` that was understood readers expect a verdict."""
    if command == "verify" and error.exit != Exit.USAGE:
        nothing = digest_of(())
        value = {
            "verdict": "undecided" if error.exit == Exit.OUTSIDE else "bad",
            "release": {"name": None, "releaseDigest": nothing, "payloadDigest": nothing},
            "checked": {"files": 0, "bytes": 0},
        }
        return Outcome(command, error.exit, error.problems, value=value, problems_key="findings")
    said = {"build": "No release was made.", "seal": "No release was made.", "pin": "Nothing was written."}.get(command)
    return Outcome(command, error.exit, error.problems, [said] if said else [])


def show_or_say(outcome: Outcome, as_json: bool, quiet: bool) -> int:
    """Shows the outcome; its exit code, which stands whether or not anybody reads on. What can't be shown is not good."""
    try:
        show(outcome, as_json, quiet)
    except BrokenPipeError:  # the reader has seen enough
        silence()
    except OSError as error:
        silence()
        print(f"the result could not be written: {error.strerror}", file=sys.stderr)
        return outcome.exit or Exit.OUTSIDE
    return outcome.exit


def silence() -> None:
    """What is still to be written to standard output is dropped; else the interpreter would fail over it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def usage(error: click.UsageError, command: str, as_json: bool) -> Outcome:
    if not as_json and error.ctx:
        print(error.ctx.get_usage(), file=sys.stderr)
    path = error.ctx.command_path if error.ctx else "hubrelease"
    found = problem("usage", Where("command line"), error.format_message(), f"see `{path} --help`")
    return Outcome(command, Exit.USAGE, [found])
