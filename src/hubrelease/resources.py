"""Where templates/, schemas/ and runtime/ are: in the wheel under _resources/, else at the top of the checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The folder `templates`, `schemas` or `runtime`."""
    packed = HERE / "_resources" / name
    return packed if packed.is_dir() else HERE.parent.parent / name


@cache
def schema(name: str) -> dict[str, Any]:
    """The JSON Schema schemas/`name`.schema.json."""
    text = (folder("schemas") / f"{name}.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
