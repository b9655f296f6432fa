"""hubrelease: build, pin, hash and verify releases of models for the Hugging Face Hub.

The public names are those of api.py, loaded on first use so that `import hubrelease` costs nothing:

    import hubrelease
    spec = hubrelease.load_spec("examples/minilm")
    lock = hubrelease.pin(spec)
    hubrelease.build(spec, out="dist/minilm")
    assert hubrelease.verify("dist/minilm").exit == 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubrelease.api import bench_report, build, load_spec, pin, render_card, seal, validate, verify

__version__ = "0.1.0"
__all__ = ["__version__", "bench_report", "build", "load_spec", "pin", "render_card", "seal", "validate", "verify"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'hubrelease' has no attribute {name!r}")
    from hubrelease import api

    return getattr(api, name)
