"""What travels with the weights to run or check them: runtime/verify_release.py always, the rest where the spec has a runtime.

The rest is a Dockerfile, an entry point, the locked packages and what the kind of runtime adds.
"""

from __future__ import annotations

import inspect
from pathlib import Path

from hubrelease import resources, verify_release
from hubrelease.errors import CheckFailed
from hubrelease.lock import LockedPackages
from hubrelease.serving import sm120
from hubrelease.spec import Runtime as RuntimeSpec
from hubrelease.spec import Spec
from hubrelease.steps import Build

VERIFIER = "runtime/verify_release.py"
TEMPLATES = {"verify": "Dockerfile", "sm120": sm120.TEMPLATE}


def verifier_bytes() -> bytes:
    """The stand-alone verifier: the very file that hubrelease itself imports."""
    return Path(inspect.getsourcefile(verify_release) or "").read_bytes()


class Runtime:
    name = "runtime"

    def skip(self, build: Build) -> str | None:
        return None

    def run(self, build: Build) -> None:
        build.tree.put(VERIFIER, verifier_bytes(), "runtime")
        if build.spec.runtime is None:
            return
        build.tree.put("runtime/entrypoint.py", (resources.folder("runtime") / "entrypoint.py").read_bytes())
        build.tree.put("runtime/requirements.lock", requirements(build.sources.lock.packages))
        build.tree.put("Dockerfile", dockerfile(build.spec, build.spec.runtime))
        if build.spec.runtime.kind == "sm120":
            put_sm120(build)


def put_sm120(build: Build) -> None:
    if problems := list(sm120.problems(build.spec, build.sources.lock)):
        raise CheckFailed(problems)
    for path, data in sm120.code(resources.folder("runtime")):
        build.tree.put(path, data, "runtime")


def requirements(locked: LockedPackages | None) -> bytes:
    """A requirements file that pip takes with --require-hashes: every package, exact, with its files' sha256."""
    lines = ["# Resolved by `hubrelease pin`; install with: pip install --require-hashes --no-deps -r requirements.lock"]
    for package in locked.packages if locked else ():
        hashes = " ".join(f"--hash=sha256:{sha256}" for sha256 in package.sha256)
        lines.append(f"{package.name}=={package.version} {hashes}")
    return ("\n".join(lines) + "\n").encode()


def dockerfile(spec: Spec, runtime: RuntimeSpec) -> bytes:
    """The kind's template with the image, name, version and licence of the spec in their places."""
    source = spec.source(runtime.image) if runtime.image else None
    image = source.locator if source else (runtime.image or "")
    text = (resources.folder("runtime") / TEMPLATES[runtime.kind]).read_text("utf-8")
    replaced = (
        text.replace("@BASE_IMAGE@", image)
        .replace("@NAME@", spec.name)
        .replace("@VERSION@", spec.version)
        .replace("@LICENSE@", spec.license)
    )
    return replaced.encode()
