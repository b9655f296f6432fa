"""Wall time of rendering a card with 300 figures: the function alone, and the whole command with its start-up.

python bench/card_speed.py [--rounds 9] [--figures 300]

The spec has a table of 100 tasks with baseline, candidate and recovery, from two receipts of lm-evaluation-harness.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import arguments, medians, run, table

BIN = Path(sys.executable).parent


def receipt(tasks: list[str], factor: float, model: str) -> dict[str, Any]:
    rows = {task: {"acc,none": factor * (0.3 + n / 1000), "acc_stderr,none": 0.01} for n, task in enumerate(tasks)}
    shots = dict.fromkeys(tasks, 5)
    return {"results": rows, "versions": dict.fromkeys(tasks, 1), "n-shot": shots, "config": {"model_args": f"pretrained={model}"}}


def write(root: Path, figures: int) -> int:
    """Writes the release; returns how many figures its card places."""
    tasks = [f"task_{n:03}" for n in range(figures // 3)]
    for name, factor, model in (("base", 1.0, "org/base"), ("own", 0.98, "org/own")):
        (root / f"{name}.json").write_text(json.dumps(receipt(tasks, factor, model)))
    columns = [{"name": name, "receipt": f"benchmarks/{name}.json", "baseline": name == "base"} for name in ("base", "own")]
    compare = {"columns": columns, "rows": tasks, "as": "percent", "decimals": 2}
    spec = {
        "schema": 1,
        "name": "org/own",
        "version": "1.0.0",
        "license": "mit",
        "weights": {"format": "as-is"},
        "benchmarks": [{"receipt": "base.json", "of": "org/base"}, {"receipt": "own.json"}],
        "card": {"tables": [{"title": "Scores", "compare": compare}]},
    }
    (root / "release.yaml").write_text(json.dumps(spec, indent=1))
    return 3 * len(tasks)


def main() -> None:
    asked = arguments("card-speed", rounds=9, figures=300)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        count = write(root, asked.figures)
        command = medians(asked.rounds, {"whole command": lambda: run(str(BIN / "hubrelease"), "card", "render", str(root), "-q")})
        function = min(in_process(root, count) for _ in range(asked.rounds))
    rows = [(name, f"{1000 * s:.0f} ms") for name, s in {**command, "render alone": function}.items()]
    table(f"a card with {count} figures", rows, ("", "time"))


def in_process(root: Path, count: int) -> float:
    from hubrelease.card_command import card_of

    began = time.perf_counter()
    made = card_of(root)
    took = time.perf_counter() - began
    assert len(made.figures) == count, len(made.figures)
    return took


if __name__ == "__main__":
    main()
