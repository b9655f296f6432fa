"""conversion/: how the weights were made, and a script that makes them again with torch alone.

The format's own file says the rounding rules; reference.py has them in plain torch; rederive.py compares every converted
tensor of a release with a base that somebody has fetched.
"""

from __future__ import annotations

import inspect
from pathlib import Path

from hubrelease import __version__, canonical, resources
from hubrelease.arithmetic import reference
from hubrelease.formats import named
from hubrelease.steps import Build


class ConversionFiles:
    name = "conversion files"

    def skip(self, build: Build) -> str | None:
        return None if build.spec.weights.converts else "nothing is converted"

    def run(self, build: Build) -> None:
        form = named(build.spec.weights.format, dict(build.spec.weights.options))
        folder = Path(inspect.getsourcefile(named) or "").parent
        versions = {
            "format": form.name,
            "formatVersion": form.version,
            "arithmetic": form.arithmetic,
            "hubrelease": __version__,
            "options": dict(build.spec.weights.options),
        }
        build.tree.put(f"conversion/{form.name}.py", (folder / f"{form.name}.py").read_bytes())
        build.tree.put("conversion/reference.py", Path(inspect.getsourcefile(reference) or "").read_bytes())
        build.tree.put("conversion/rederive.py", (resources.folder("runtime") / "rederive.py").read_bytes())
        build.tree.put("conversion/versions.json", canonical.dumps(versions))
