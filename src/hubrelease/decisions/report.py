"""`bench report`: two rows files → one JSON value, schemas/decision-report.schema.json. A pure function of both files' bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hubrelease import canonical
from hubrelease.decisions import bootstrap, calibration, differences, latency, paired
from hubrelease.decisions.columns import FLOOR, Side, Table, mean, together
from hubrelease.decisions.pairing import MEND, Matching, pairs
from hubrelease.decisions.records import reading
from hubrelease.decisions.rows import STATUSES
from hubrelease.decisions.rows_file import RowsFile
from hubrelease.decisions.runs import run_facts
from hubrelease.errors import CheckFailed, OutsideError, Problem, Where, problem
from hubrelease.workspace import write_durably

KIND = "decision-report"
Figures = dict[str, Any]
DEFINITIONS = {
    "compared": "rows with the same id, request, task, type, label and candidates, answered by both; figures are over these",
    "accuracy": "rows whose choice is the label / compared rows",
    "ece": calibration.ECE,
    "meanNll": f"mean of -ln(probability of the label); probabilities below {FLOOR:.6g} (2^-52) count as that",
    "quantiles": latency.QUANTILES,
    "latency": "as the client saw it, from sending a request to its whole answer, in milliseconds",
    "buckets": "by input tokens as the baseline counted them",
    "probabilityDifferences": differences.DIFFERENCES,
    "mcnemar": paired.MCNEMAR,
    "change": "(candidate / baseline - 1) x 100",
    "intervals": bootstrap.METHOD,
}


def compare(baseline: Path, candidate: Path, exclude_unmatched: bool = False) -> Figures:
    """The report. CheckFailed with every bad line; with rows that don't match, unless these are to be excluded."""
    with reading(baseline) as first, reading(candidate) as second:
        files = RowsFile(baseline, first), RowsFile(candidate, second)
        matching, apart = Matching(), differences.Differences()
        tables: dict[str, Table] = {}
        for left, right in pairs(*files, matching):
            tables.setdefault(left.task, Table()).add(left, right)
            apart.add(left, right)
    refuse(*files, matching, exclude_unmatched)
    whole = together(tables)
    before, after = profile(whole.baseline), profile(whole.candidate)
    return {
        "kind": KIND,
        "schemaVersion": 1,
        "definitions": DEFINITIONS,
        "matching": matching_figures(matching),
        "baseline": file_facts(files[0]) | before | {"bins": calibration.bins(whole.baseline)},
        "candidate": file_facts(files[1]) | after | {"bins": calibration.bins(whole.candidate)},
        "comparison": comparison(whole, before, after, *files) | {"intervals": bootstrap.intervals(whole), "seed": bootstrap.SEED},
        "probabilityDifferences": apart.figures(),
        "buckets": with_change(latency.buckets(whole), *files),
        "tasks": [task(name, tables[name], *files) for name in sorted(tables)],
    }


def refuse(baseline: RowsFile, candidate: RowsFile, matching: Matching, exclude_unmatched: bool) -> None:
    """Raises CheckFailed if there is a reason not to compare. Bad lines first: rows that they hide would be told as missing."""
    if found := [*baseline.problems, *candidate.problems]:
        raise CheckFailed(found)
    found = [] if exclude_unmatched else [*matching.problems(candidate.name), *unfinished(baseline), *unfinished(candidate)]
    if not found and not matching.compared:
        found = [problem("decision-runs-unmatched", candidate.name, "no row can be compared", MEND)]
    if found:
        raise CheckFailed(found)


def unfinished(file: RowsFile) -> list[Problem]:
    planned, rows = file.run.planned_rows, len(file.line_of)
    if planned is None or planned == rows:
        return []
    message = f"has {rows:,} rows, and the run's header says {planned:,}"
    return [problem("decision-runs-unmatched", Where(file.name, 1, "/dataset/rows"), message, "resume the run with `hubrelease bench run`")]


def matching_figures(matching: Matching) -> dict[str, int]:
    return {
        "compared": matching.compared,
        **matching.unmatched,
        "notAnswered": matching.not_answered,
        "inputTokensDiffer": matching.other_tokens,
    }


def file_facts(file: RowsFile) -> Figures:
    """What is said of one file as a whole, its rows that were not compared included."""
    return {
        "file": {"name": file.name, "sha256": file.digest.hexdigest(), "sizeBytes": file.size, "rows": len(file.line_of)},
        "run": run_facts(file.run),
        "statuses": {status: file.statuses[status] for status in STATUSES},
        "rotations": [
            {"rotations": n, "rows": count} for n, count in sorted(file.rotations.items(), key=lambda item: (item[0] is None, item[0]))
        ],
        "longestInputTokens": file.longest,
        "abstained": file.abstained,
        "choiceNotMostProbable": file.not_most_probable,
    }


def profile(side: Side) -> Figures:
    """One run's figures over the compared rows."""
    correct = sum(side.correct)
    return {
        "rows": len(side.correct),
        "correct": correct,
        "accuracy": correct / len(side.correct),
        "ece": calibration.expected_error(calibration.bins(side)),
        "meanNll": mean(side.nll),
        "nllAtFloor": side.floored,
        "latency": latency.spread(side.latency_ms),
    }


def comparison(table: Table, before: Figures, after: Figures, baseline: RowsFile, candidate: RowsFile) -> Figures:
    """The candidate against the baseline."""
    return paired.outcomes(table) | {
        "accuracyDifference": after["accuracy"] - before["accuracy"],
        "eceDifference": after["ece"] - before["ece"],
        "meanNllDifference": after["meanNll"] - before["meanNll"],
        "meanLatencyChangePercent": change(before["latency"], after["latency"], baseline, candidate),
    }


def change(before: dict[str, float], after: dict[str, float], baseline: RowsFile, candidate: RowsFile) -> float | None:
    """Latencies at different concurrency are of different things: None."""
    if baseline.run.concurrency != candidate.run.concurrency:
        return None
    return latency.change_percent(before["meanMs"], after["meanMs"])


def with_change(found: list[Figures], baseline: RowsFile, candidate: RowsFile) -> list[Figures]:
    for bucket in found:
        sides = bucket["baseline"], bucket["candidate"]
        bucket["meanLatencyChangePercent"] = change(*sides, baseline, candidate) if bucket["rows"] else None
    return found


def task(name: str, table: Table, baseline: RowsFile, candidate: RowsFile) -> Figures:
    before, after = profile(table.baseline), profile(table.candidate)
    return {"task": name, "baseline": before, "candidate": after, "comparison": comparison(table, before, after, baseline, candidate)}


def write(path: Path, report: Figures) -> None:
    """Replaces the file whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(path, canonical.dumps(report))
    except OSError as error:
        raise OutsideError(problem("disk-fault", str(path), f"could not be written: {error.strerror}", "choose another -o")) from None
