"""Peak memory of build and verify on sparse releases of two sizes each; whether the holes are kept.

python bench/memory.py [--build-gib 16] [--verify-gib 64]
"""

from __future__ import annotations

import sys
from pathlib import Path

from common import GIB, HUBRELEASE, arguments, files_of, make_model, peak_mib, run, scratch, sealed, table, write_spec


def allocated(folder: Path) -> int:
    return sum(p.stat().st_blocks * 512 for p in files_of(folder))


def main() -> None:
    asked = arguments("peak memory", build_gib=16, verify_gib=64)
    rows = []
    with scratch(asked.folder) as folder:
        for gib in (1, asked.build_gib):
            spec = folder / f"build-{gib}"
            make_model(spec / "model", gib * GIB, max(1, gib), sparse=True)
            write_spec(spec, "model")
            run(*HUBRELEASE, "pin", str(spec))
            peak, seconds = peak_mib([*HUBRELEASE, "build", str(spec), "--out", str(folder / f"out-{gib}")])
            rows.append(
                ("build", f"{gib} GiB", f"{peak:.0f} MiB", f"{seconds:.1f} s", f"{allocated(folder / f'out-{gib}') / 1e6:.1f} MB on disk")
            )
        for gib in (1, asked.verify_gib):
            release = sealed(folder / f"verify-{gib}", gib * GIB, max(1, gib // 4), sparse=True)
            alone = [sys.executable, "-I", str(release / "runtime/verify_release.py")]
            for name, verifier in (("verify", [*HUBRELEASE, "verify"]), ("verify_release.py", alone)):
                command = [*verifier, str(release)]
                peak, seconds = peak_mib(command)
                rows.append((name, f"{gib} GiB", f"{peak:.0f} MiB", f"{seconds:.1f} s", ""))
    table("peak resident memory, sparse weights", rows, ("", "size", "peak", "time", "holes"))


if __name__ == "__main__":
    main()
