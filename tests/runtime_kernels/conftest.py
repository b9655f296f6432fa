"""The kernels' own environment: torch (CPU) and plain Triton; kernels run in Triton's interpreter here.

`make kernels` makes it. Elsewhere every test of this folder is skipped by name.
"""

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = [name for name in ("torch", "triton", "numpy") if importlib.util.find_spec(name) is None]

if not NEEDED:
    os.environ["TRITON_INTERPRET"] = "1"  # before any kernel is imported: the decorator reads it once
    sys.path.insert(0, str(ROOT))
