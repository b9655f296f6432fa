"""The members of a folder of formats, checks, steps or sources: each module's one constant. No registration."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType


def members(package: ModuleType, constant: str) -> tuple[object, ...]:
    """`constant` of each module of `package`, in order of the modules' names; those that begin with _ are no members."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))
    return tuple(getattr(import_module(f"{package.__name__}.{name}"), constant) for name in names)
