"""Wall time of `hubrelease --help` against `hf --help`.

python bench/startup.py [--rounds 15]
"""

from __future__ import annotations

import sys
from pathlib import Path

from common import arguments, medians, run, table

BIN = Path(sys.executable).parent


def main() -> None:
    asked = arguments("start-up", rounds=15)
    works = {"hf --help": lambda: run(str(BIN / "hf"), "--help"), "hubrelease --help": lambda: run(str(BIN / "hubrelease"), "--help")}
    found = medians(asked.rounds, works)
    rows = [(name, f"{1000 * s:.0f} ms", f"{s / found['hf --help']:.2f}") for name, s in found.items()]
    table(f"start-up, medians of {asked.rounds}", rows, ("", "time", "of hf"))


if __name__ == "__main__":
    main()
