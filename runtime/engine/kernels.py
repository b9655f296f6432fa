"""The sibling folder `kernels`, wherever this package was imported from.

The server has `runtime/` itself on the path, so that this package is `engine`; a top-level `kernels` beside it would hide the
package of that name (transformers asks for it). There it is imported as `runtime_kernels`; under a parent it is a sibling.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[1] / "kernels"
PARENT = (__package__ or "").rpartition(".")[0]
NAME = f"{PARENT}.kernels" if PARENT else "runtime_kernels"


def package() -> None:
    """Registers the folder under NAME unless a parent package makes it importable."""
    if PARENT or NAME in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(NAME, FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)


def module(name: str) -> ModuleType:
    """A module of the folder. Some need Triton or fla: they are imported when asked for."""
    package()
    return importlib.import_module(f"{NAME}.{name}")


package()
dispatch, linear, reference = module("dispatch"), module("linear"), module("reference")
