"""kill -9 at random moments of a build: never a half release, always a good one after the next run.

Two variants of a model are built over one target in turn. Each build is killed at a random moment; then what lies there
must be the old release or the new one, whole, or nothing; then the next run must give the new one. Half of the builds
swap folders without the kernel's exchange, as on file systems that lack it.

    python bench/kill.py [--kills 200] [--seed 7] [--mib 24]
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from common import HUBRELEASE, MIB, arguments, machine, make_model, scratch, write_spec

NO_EXCHANGE = "import hubrelease.workspace as w; w.exchange = lambda a, b: False; from hubrelease.commands import main; main()"


def build(variant: Path, out: Path, exchange: bool) -> list[str]:
    start = HUBRELEASE if exchange else [sys.executable, "-c", NO_EXCHANGE]
    return [*start, "build", str(variant), "--out", str(out), "-q"]


def digest_of(out: Path) -> str | None:
    """The release digest of what lies at `out`, verified; None where nothing does. AssertionError for a half release."""
    if not out.exists():
        return None
    done = subprocess.run([*HUBRELEASE, "verify", str(out), "--json"], capture_output=True, text=True, check=False)
    verdict = json.loads(done.stdout)
    assert done.returncode == 0, f"half a release: {verdict['findings'][:3]}"
    return str(verdict["release"]["releaseDigest"])


def main() -> None:
    asked = arguments("kill -9 at random moments of a build", kills=200, seed=7, mib=24)
    chance = random.Random(asked.seed)
    with scratch(asked.folder) as folder:
        variants = [folder / "a", folder / "b"]
        for variant in variants:
            make_model(variant / "model", asked.mib * MIB, 6)
            write_spec(variant, "model", f"Variant {variant.name}.")
        out, digests = folder / "out", []
        for variant in variants:
            started = time.perf_counter()
            subprocess.run(build(variant, out, True), check=True)
            longest = time.perf_counter() - started
            digests.append(digest_of(out))
        seen: Counter[str] = Counter()
        for number in range(asked.kills):
            which = number % 2
            before, after = digests[1 - which], digests[which]
            exchange = chance.random() < 0.5
            child = subprocess.Popen(build(variants[which], out, exchange), stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.05, longest * 1.1))
            child.send_signal(signal.SIGKILL)
            child.wait()
            found = digest_of(out)  # `verify` finishes a swap that was cut between its two renames
            assert found in (before, after), "the target holds another release"
            seen["new" if found == after else "old"] += 1
            subprocess.run(build(variants[which], out, exchange), check=True)
            assert digest_of(out) == after, "the next run did not give the release"
            assert [p.name for p in folder.iterdir() if p.name.startswith(".out")] == [], "something was left behind"
    print(f"{asked.kills} kills (seed {asked.seed}) on {machine()}: after the kill {dict(seen)}; 0 half releases; every next run good")


if __name__ == "__main__":
    main()
