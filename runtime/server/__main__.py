"""Serves a release folder: python3 -m server FOLDER [--host H] [--port P] ...

Exit codes: 0 after a signal, 1 where the release could not be loaded, 2 for wrong arguments, 3 where the device was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from engine import BACKENDS, PROFILES, Engine, load_engine

from server import heap
from server.identity import identity
from server.logs import configure, log
from server.service import Limits, offline


HERE = Path(__file__).resolve().parents[1]


def leave_path() -> None:
    """Takes runtime/ off the path: its folder `kernels` would hide the package of that name, which transformers imports.

    Modules of `server` and `engine` are found through their packages from here on.
    """
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]


def between(least: int, most: int) -> Callable[[str], int]:
    """An argument's type: a whole number from `least` to `most`."""

    def number(word: str) -> int:
        if not least <= int(word) <= most:
            raise argparse.ArgumentTypeError(f"{word} is not between {least} and {most}")
        return int(word)

    return number


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="server", description="Serves the decision API of a release over HTTP.")
    parser.add_argument("folder", type=Path, help="the release")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; loopback unless you say otherwise")
    parser.add_argument("--port", type=between(0, 65_535), default=8000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--backend", choices=BACKENDS, default="auto", help="the linear layers' kernels; one that can't run here is an error"
    )
    parser.add_argument("--profile", choices=PROFILES, default="fused")
    parser.add_argument("--calibration", help="a file of the adapter's folder; default: the only one there")
    parser.add_argument("--max-tokens", type=between(1, 2**31), default=65_536, help="longest prompt; longer ones are refused")
    parser.add_argument("--no-graphs", action="store_true", help="no CUDA graphs")
    parser.add_argument("--queue", type=between(0, 100_000), default=16, help="requests that may wait; further ones get 503")
    parser.add_argument("--held-mib", type=between(1, 2**20), default=1024, help="bodies and pixels that all requests together may hold")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    asked = arguments(words)
    leave_path()
    heap.keep_large_apart()
    offline()
    configure()
    os.umask(0o077)

    def load() -> Engine:
        return load_engine(
            asked.folder,
            device=asked.device,
            backend=asked.backend,
            profile=asked.profile,
            max_tokens=asked.max_tokens,
            graphs=not asked.no_graphs,
            calibration=asked.calibration,
        )

    from server.serving import serve, server_of  # after the arguments: --help needs no Starlette

    limits = Limits(queue=asked.queue, held_bytes=asked.held_mib * 2**20)
    code = asyncio.run(serve(server_of(load, limits, asked.host, asked.port, identity(asked.folder))))
    log("ended", exitCode=code)
    return code


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)  # a lost CUDA context can hang in the interpreter's clean-up
