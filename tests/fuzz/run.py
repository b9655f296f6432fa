"""Coverage-guided fuzzing with atheris, in an environment of its own: `make fuzz`.

python tests/fuzz/run.py TARGET [--runs 200000] [--seconds-per-input 2]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent))

with atheris.instrument_imports(include=["hubrelease", "targets"]):
    import targets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=sorted(targets.TARGETS))
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--seconds-per-input", type=int, default=2)
    asked = parser.parse_args()
    corpus = Path(tempfile.mkdtemp())
    for number, seed in enumerate(targets.SEEDS[asked.target]):
        (corpus / str(number)).write_bytes(seed)
    options = [
        f"-runs={asked.runs}",
        f"-timeout={asked.seconds_per_input}",
        "-seed=1",
        "-max_len=4096",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], targets.TARGETS[asked.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
