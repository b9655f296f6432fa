"""Each kernel of the runtime against plain torch, for every (N, K) of the checkpoint's block-FP8 weights, outputs poisoned first.

A library that refuses a shape in silence leaves the poison where it was. It runs in a process of its own over a copy of
the release's kernels (kernel_check.py), before the server takes the memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hubrelease import canonical
from hubrelease.engines import EngineFault
from hubrelease.engines.sm120 import SM120, copied
from hubrelease.probes import FAIL, Probe, Row, Session, judged

TIMEOUT_S = 900
CHECK = Path(__file__).with_name("_kernel_check.py")


def skip(session: Session) -> str | None:
    if not isinstance(session.engine, SM120) or session.engine.is_running:
        return "the runtime's own kernels do not run here: logits and answers are held against their limits"
    if not shapes_of(session):
        return "no weight of the checkpoint is block-FP8"
    return "a CPU has no kernels of its own" if session.device == "cpu" else None


def shapes_of(session: Session) -> list[list[int]]:
    """(N, K) of every F8_E4M3 matrix that has a scale_inv, each once."""
    main = session.release.containers.main
    tensors = main.tensors if main is not None else {}
    found = {tuple(t.tensor.shape) for name, t in tensors.items() if t.tensor.dtype == "F8_E4M3" and f"{name}_scale_inv" in tensors}
    return sorted(list(shape) for shape in found if len(shape) == 2)


def run(session: Session) -> Iterator[Row]:
    shapes = shapes_of(session)
    error = session.suite.at_most("kernel_error")
    for backend, rows in asked(session, shapes).items():
        for row in rows:
            name = f"kernel:{backend}:{row['n']}x{row['k']}"
            if "refused" in row:
                yield Row(name, FAIL, measured={"n": row["n"], "k": row["k"]}, reason=str(row["refused"])[:300])
            else:
                limit = {"relativeError": {"max": error}, "why": session.suite.reason("kernel_error")}
                yield judged(name, {"n": row["n"], "k": row["k"], "relativeError": row["relativeError"]}, limit)


def asked(session: Session, shapes: list[list[int]]) -> dict[str, list[dict[str, Any]]]:
    """{backend: rows} as the check in its own process prints them."""
    with tempfile.TemporaryDirectory(prefix="hubrelease-validate-") as scratch:
        place = copied(session.release, Path(scratch))
        words = [sys.executable, "-I", str(CHECK), str(place), canonical.compact(shapes).decode()]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=TIMEOUT_S, cwd=scratch)
        except subprocess.TimeoutExpired:
            raise EngineFault(f"the kernels were not through within {TIMEOUT_S} s") from None
    try:
        value = json.loads(done.stdout.splitlines()[-1])
        assert isinstance(value, dict)
    except (ValueError, IndexError, AssertionError):
        said = " | ".join(done.stderr.strip().splitlines()[-3:])[-400:]
        raise EngineFault(f"the kernels could not be run (exit code {done.returncode}): {said}") from None
    if "error" in value:
        raise EngineFault(f"the kernels could not be run: {value['error']}")
    found: dict[str, list[dict[str, Any]]] = value["backends"]
    return found


PROBE = Probe("kernels", skip, run, required=False)
