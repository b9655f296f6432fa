"""Prints what the adapters read from each real receipt of the fixtures: one row a file, or why it is refused.

python bench/receipts_table.py [--fixtures ../shared/fixtures/benchmarks] [FILE…]

Files of one folder are read together, as in a release: HELM and MTEB name the model in a file of its own. A refusal is what `check`
says of the file, a remark what it warns of.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from common import table

from hubrelease import canonical, load_spec
from hubrelease.described_runs import joined
from hubrelease.errors import ReleaseError
from hubrelease.evaluations import Evaluation, Metric, Receipt, evaluations_of, kinds_of, read
from hubrelease.footnotes import footnote
from hubrelease.receipts import read_all

FIXTURES = Path(__file__).resolve().parent.parent.parent / "shared" / "fixtures" / "benchmarks"
COLUMNS = ("file", "adapter", "model", "revision", "harness, engine", "runs", "figures", "for example", "refused, or remarked")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--fixtures", type=Path, default=FIXTURES)
    asked.add_argument("--footnotes", action="store_true", help="the footnote of each run besides")
    asked.add_argument("files", nargs="*", type=Path)
    options = asked.parse_args()
    files = options.files or sorted(path for path in options.fixtures.iterdir() if path.is_file())
    held = {file: list(read(file.name, file.read_bytes())) for file in files}
    runs = list(joined(e for receipts in held.values() for receipt in receipts for e in evaluations_of(receipt)))
    by_file = {file: [run for run in runs if run.file == file.name] for file in files}
    table("receipts", [row_of(file, held[file], by_file[file]) for file in files], COLUMNS)
    for file in files if options.footnotes else ():
        print(f"\n{file.name}", *dict.fromkeys(map(footnote, by_file[file])), sep="\n  ")


def row_of(file: Path, receipts: list[Receipt], runs: list[Evaluation]) -> tuple[str, ...]:
    kinds = sorted(set().union(*(kinds_of(receipt.value) for receipt in receipts)))
    metrics = [metric for run in runs for metric in run.metrics]
    reasons = [*refusal(file), *remarks(receipts, metrics)]
    return (file.name, ", ".join(kinds), *about(runs), str(len(runs)), str(len(metrics)), example(metrics), "; ".join(reasons))


def about(runs: list[Evaluation]) -> Iterator[str]:
    yield first(run.model for run in runs)
    yield first((run.revision or "")[:12] for run in runs)
    harness, engine = first(named(r.harness, r.harness_version) for r in runs), first(named(r.engine, r.engine_version) for r in runs)
    yield ", ".join(part for part in (harness, engine) if part)


def first(values: Iterable[str | None]) -> str:
    return next((value for value in values if value), "")


def named(name: str | None, version: str | None) -> str:
    return " ".join(part for part in (name, (version or "")[:16]) if part)


def example(metrics: list[Metric]) -> str:
    """The first score with a number, a latency or a throughput rather than a count."""
    known = [m for m in metrics if m.value is not None]
    chosen = next((m for m in known if m.unit in ("ms", "tok/s") or m.stderr is not None), known[0] if known else None)
    return f"{chosen.task} {chosen.name} = {chosen.value:g}{' ' if chosen.unit else ''}{chosen.unit} at {chosen.pointer}" if chosen else ""


def refusal(file: Path) -> Iterator[str]:
    """Why a release.yaml that lists the file is refused."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / file.name).write_bytes(file.read_bytes())
        spec = {
            "schema": 1,
            "name": "a/b",
            "version": "1",
            "license": "mit",
            "weights": {"format": "as-is"},
            "benchmarks": [{"receipt": file.name}],
        }
        (root / "release.yaml").write_bytes(canonical.dumps(spec))
        try:
            read_all(load_spec(root))
        except ReleaseError as error:
            yield from (f"{p.code} {p.message}" for p in error.problems)


def remarks(receipts: list[Receipt], metrics: list[Metric]) -> Iterator[str]:
    count = sum(len(receipt.non_finite) for receipt in receipts)
    if count:
        yield f"{count} NaN or infinite: no figures, the rest is usable (HR611)"
    if lacking := sum(metric.value is None for metric in metrics):
        yield f"{lacking} of the figures without a number"


if __name__ == "__main__":
    main()
