"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def common(function: Callable[..., Any]) -> Callable[..., Any]:
    """--json and -q. They are read by commands.main; here they are declared and documented."""
    function = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object on standard output.")(function)
    return click.option("-q", "--quiet", is_flag=True, help="Print problems only.")(function)


def release(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.argument("release", default=".", metavar="[RELEASE]")(function)


offline = click.option("--offline", is_flag=True, help="Use what is on this disk only (as HF_HUB_OFFLINE=1).")
