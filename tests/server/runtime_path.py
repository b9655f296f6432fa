"""Puts runtime/ where its packages `server` and `engine` are found, as the image does."""

import sys
from pathlib import Path

RUNTIME = Path(__file__).resolve().parent.parent.parent / "runtime"
if str(RUNTIME) not in sys.path:
    sys.path.insert(0, str(RUNTIME))
