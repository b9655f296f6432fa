"""A pass-through build against the larger of copying the files and hashing them; a rebuild after an edit of the card alone.

python bench/build_speed.py [--gib 8] [--shards 16] [--rounds 3]
"""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path

from common import GIB, HUBRELEASE, arguments, files_of, hash_with_two_threads, make_model, run, scratch, table, timed, write_spec


def copy(source: Path, target: Path) -> None:
    run("cp", "-r", "--reflink=auto", str(source), str(target))


def main() -> None:
    asked = arguments("speed of build", gib=8.0, shards=16, rounds=3)
    with scratch(asked.folder) as folder:
        make_model(folder / "spec/model", int(asked.gib * GIB), asked.shards)
        write_spec(folder / "spec", "model")
        run(*HUBRELEASE, "pin", str(folder / "spec"))
        files = files_of(folder / "spec/model")
        out, times = folder / "out", {"copy (cp -r)": [], "hash, two threads": [], "hubrelease build": [], "rebuild, card edited": []}
        for number in range(asked.rounds):
            times["hash, two threads"].append(timed(lambda: hash_with_two_threads(files)))
            times["copy (cp -r)"].append(timed(lambda: copy(folder / "spec/model", out)))
            shutil.rmtree(out)
            times["hubrelease build"].append(timed(lambda: run(*HUBRELEASE, "build", str(folder / "spec"), "--out", str(out))))
            write_spec(folder / "spec", "model", f"Card of round {number}.")
            times["rebuild, card edited"].append(timed(lambda: run(*HUBRELEASE, "build", str(folder / "spec"), "--out", str(out))))
            assert f"Card of round {number}." in (out / "README.md").read_text()
            shutil.rmtree(out)
    found = {name: statistics.median(values) for name, values in times.items()}
    limit = max(found["copy (cp -r)"], found["hash, two threads"])
    rows = [(name, f"{s:.2f} s", f"{s / limit:.2f}") for name, s in found.items()]
    table(
        f"build of {asked.gib:g} GiB in {asked.shards} shards, cached, one file system, medians of {asked.rounds}",
        rows,
        ("", "time", "of the larger limit"),
    )


if __name__ == "__main__":
    main()
