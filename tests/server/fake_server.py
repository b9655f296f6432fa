"""The real program over the fake engine, in a process of its own: fake_server.py [OPTION ...] as `python -m server` takes them.

FAKE_SECONDS: how long a decision takes. FAKE_LOAD: `fault` for a release that can't be loaded.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from fakes import FakeEngine


def load_engine(folder: Any, **options: Any) -> FakeEngine:
    from engine import LoadError

    if os.environ.get("FAKE_LOAD") == "fault":
        raise LoadError("3 shards are missing: a, b, c")
    return FakeEngine(float(os.environ.get("FAKE_SECONDS", "0")))


if __name__ == "__main__":
    import server.__main__ as program

    program.load_engine = load_engine  # type: ignore[assignment]
    status = program.main(["release", *sys.argv[1:]])
    sys.stderr.flush()
    os._exit(status)
