"""`bench report` over two generated runs: seconds and peak memory of the whole command, rows in the same order and in another.

python bench/report_speed.py [--rounds 5] [--rows 23900]

The aim is 23,900 rows a run in under 5 s. The rows are those of tests/decision_rows.py: 2 to 12 candidates, 3 tasks.
"""

from __future__ import annotations

import random
import shutil
import statistics
import sys
from pathlib import Path

from common import HUBRELEASE, arguments, peak_mib, scratch, table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from decision_rows import two_runs

MAX_SECONDS = 5.0


def main() -> None:
    asked = arguments("report_speed", rounds=5, rows=23_900)
    with scratch(asked.folder) as folder:
        baseline, candidate = two_runs(folder, asked.rows)
        files = {"same order": candidate, "another order": shuffled(candidate)}
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in files}
        for _ in range(asked.rounds):
            for name, other in files.items():
                command = [
                    *HUBRELEASE,
                    "bench",
                    "report",
                    "--baseline",
                    str(baseline),
                    "--candidate",
                    str(other),
                    "-o",
                    str(folder / "r.json"),
                ]
                found[name].append(peak_mib([shutil.which(command[0]) or command[0], *command[1:]]))
        size = f"{(baseline.stat().st_size + candidate.stat().st_size) / 1e6:.1f} MB"
    rows = [(name, f"{statistics.median(s for _, s in runs):.2f}", f"{max(m for m, _ in runs):.0f}") for name, runs in found.items()]
    table(f"bench report, 2 x {asked.rows:,} rows ({size}), medians of {asked.rounds}", rows, ("rows", "seconds", "peak MiB"))
    if any(float(seconds) > MAX_SECONDS for _, seconds, _ in rows):
        sys.exit(f"slower than {MAX_SECONDS:g} s")


def shuffled(path: Path) -> Path:
    """The same rows in another order: every one waits for its partner."""
    head, *lines = path.read_bytes().splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    other = path.with_name("shuffled.jsonl")
    other.write_bytes(head + b"".join(lines))
    return other


if __name__ == "__main__":
    main()
