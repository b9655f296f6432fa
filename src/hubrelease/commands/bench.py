"""hubrelease bench: decision benchmarks, and what a conversion costs."""

from __future__ import annotations

from pathlib import Path

import click

from hubrelease import api, greedy_answers
from hubrelease import report as reports
from hubrelease.commands.options import common
from hubrelease.decisions.report import write
from hubrelease.decisions.run import Asked
from hubrelease.decisions.run import run as run_rows
from hubrelease.decisions.run import summary as run_summary
from hubrelease.decisions.shown import lines
from hubrelease.fidelity import compare, summary, text_of
from hubrelease.report import Outcome


@click.group("bench", epilog="Example: hubrelease bench report --baseline bf16.jsonl --candidate fp8.jsonl")
def COMMAND() -> None:
    """Decision benchmarks, and what a conversion costs."""


@COMMAND.command(
    epilog="Example: hubrelease bench run --rows examples/decision-set/questions.jsonl --base-url http://127.0.0.1:8000 -o fp8.jsonl"
)
@click.option("--rows", required=True, metavar="FILE", help="Questions with their labels (schemas/decision-question.schema.json).")
@click.option("--base-url", required=True, metavar="URL", help="The server, without /v1/….")
@click.option("-o", "output", required=True, metavar="FILE", help="The rows file. One that is there is gone on with.")
@click.option("--profile", metavar="NAME", help="The run's name in tables (default: the model's).")
@click.option(
    "--concurrency", type=click.IntRange(1, 256), default=1, show_default=True, metavar="N", help="Requests on their way at once."
)
@click.option(
    "--warm-up", type=click.IntRange(0, 10_000), default=8, show_default=True, metavar="N", help="Rows asked before, and not counted."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N rows.")
@click.option(
    "--timeout", type=click.FloatRange(0.001, 86_400), default=600, show_default=True, metavar="S", help="Seconds that an answer may take."
)
@click.option(
    "--wait",
    type=click.FloatRange(0, 86_400),
    default=0,
    show_default=True,
    metavar="S",
    help="Seconds to wait for a server that is not ready.",
)
@common
def run(
    rows: str,
    base_url: str,
    output: str,
    profile: str | None,
    concurrency: int,
    warm_up: int,
    limit: int | None,
    timeout: float,
    wait: float,
    as_json: bool,
    quiet: bool,
) -> Outcome:
    """Ask a decision server every row of a questions file, and write its answers down row by row.

    Killed or stopped, the same command goes on where it was; no row is asked for twice. Rows that fail are kept with their reason.
    Exit code 1: no row was answered, or -o is of another run; 3: the server went away.
    """
    asked = Asked(Path(rows), base_url, Path(output), profile, concurrency, warm_up, limit, timeout, wait)
    done = run_rows(asked, reports.progress_for(quiet))
    value = {"file": output, "rows": done.rows, "asked": done.asked, "seconds": round(done.seconds, 3), **done.tally.json}
    hint = f"run another profile into another file, then: hubrelease bench report --baseline {output} --candidate OTHER.jsonl"
    return Outcome("bench run", done.exit, lines=list(run_summary(done, output)), value=value, hint=hint)


@COMMAND.command(
    epilog="Example: hubrelease bench report --baseline bf16.jsonl --candidate fp8.jsonl -o benchmarks/decisionbench-full.json"
)
@click.option("--baseline", required=True, metavar="FILE", help="Rows of the run to compare with (written by `bench run`).")
@click.option("--candidate", required=True, metavar="FILE", help="Rows of the run that is judged.")
@click.option("-o", "output", metavar="FILE", help="Write the report to FILE, as JSON for the card.")
@click.option("--exclude-unmatched", is_flag=True, help="Leave out and count rows that don't match, instead of refusing.")
@common
def report(baseline: str, candidate: str, output: str | None, exclude_unmatched: bool, as_json: bool, quiet: bool) -> Outcome:
    """Compare two runs over the same rows: accuracy, calibration, latency, paired answers and probabilities.

    Rows are matched one to one by id. Exit code 1: bad lines, or rows that don't match.
    """
    if output and Path(output).resolve() in (Path(baseline).resolve(), Path(candidate).resolve()):
        raise click.UsageError("-o names one of the two rows files, which it would overwrite")
    made = api.bench_report(baseline, candidate, exclude_unmatched=exclude_unmatched)
    if output is None:
        return Outcome(
            "bench report", lines=list(lines(made)), value={"report": made}, hint="keep it: add -o benchmarks/decisionbench-full.json"
        )
    write(Path(output), made)
    said = [*lines(made), "", f"wrote {output}"]
    return Outcome(
        "bench report",
        lines=said,
        value={"report": made, "file": output},
        hint=f"name it in release.yaml: benchmarks: [{{receipt: {output}}}]",
    )


@COMMAND.command(epilog="Example: hubrelease bench fidelity out/fp8 --reference base --text book.txt -o receipts/fidelity.json")
@click.argument("candidate", metavar="DIR")
@click.option("--reference", required=True, metavar="DIR", help="The model that DIR was converted from; its tokenizer cuts the text.")
@click.option("--text", metavar="FILE", help="UTF-8 text of some thousand tokens that both models read.")
@click.option("--prompts", metavar="FILE", help="Prompts, one JSON object a line: both models read what the reference answers to them.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", help="Where both models run.")
@click.option("--window", type=click.IntRange(2, 2**20), metavar="N", help="Tokens of the text read at once (default: 512).")
@click.option("--answer-tokens", type=click.IntRange(1, 2**16), metavar="N", help="At most so many an answer (default: 128).")
@click.option("-o", "output", metavar="FILE", help="Write the receipt to FILE, as JSON for the card.")
@common
def fidelity(
    candidate: str, reference: str, text: str | None, prompts: str | None, device: str, window: int | None, answer_tokens: int | None,
    output: str | None, as_json: bool, quiet: bool,
) -> Outcome:  # fmt: skip
    """Perplexity and top-1 agreement of a converted model against its reference.

    Both read one text (--text), or what the reference answers greedily to prompts (--prompts: {"prompt": …} or {"messages": […]}
    a line). Needs torch and transformers, and compressed-tensors for most formats.
    """
    if (text is None) == (prompts is None):
        raise click.UsageError("give one of --text and --prompts")
    if (window is not None and text is None) or (answer_tokens is not None and prompts is None):
        raise click.UsageError("--window belongs to --text, and --answer-tokens to --prompts")
    progress = reports.progress_for(quiet)
    if prompts is not None:
        made = greedy_answers.compare(Path(candidate), Path(reference), Path(prompts), device, answer_tokens or 128, progress)
    else:
        made = compare(Path(candidate), Path(reference), text_of(Path(text or "")), device, window or 512, progress)
    if output is None:
        return Outcome("bench fidelity", lines=list(summary(made)), value={"receipt": made}, hint="keep it: add -o receipts/fidelity.json")
    write(Path(output), made)
    said = [*summary(made), f"wrote {output}"]
    hint = f"name it in release.yaml: benchmarks: [{{receipt: {output}}}]"
    return Outcome("bench fidelity", lines=said, value={"receipt": made, "file": output}, hint=hint)
