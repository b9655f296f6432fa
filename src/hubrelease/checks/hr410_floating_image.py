"""The runtime is built from what moves: an image without a digest, or a package without an exact version.

Why it matters: what built yesterday does not build, or not run, tomorrow, and nobody can say what was validated.
Mend: Write IMAGE@sha256:DIGEST (docker buildx imagetools inspect IMAGE) and NAME==VERSION.
Source: noonghunna/qwen36-27b-single-3090 PR 6; NVIDIA/Model-Optimizer PR 2042; attevon-llc/OpenTranscribe issue 500.

Errors in what builds the runtime: Dockerfiles, the requirements beside them, at the root or in runtime/, and those that a
Dockerfile names. In examples, docs and other folders, in compose files and in serving configs a warning. A package
installed by pip itself (pip, setuptools, wheel, uv) moves nothing that a model sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.dockerfiles import Dockerfile, dockerfiles
from hubrelease.errors import Problem, Where
from hubrelease.packages import requirements
from hubrelease.release import Release
from hubrelease.texts import text_of

DIGEST = re.compile(r".+@sha256:[0-9a-f]{64}")
ASIDE = ("examples/", "docs/", "benchmarks/", "tests/")
RUNTIME = re.compile(r"((runtime|docker)/)?(requirements|constraints)\.(txt|in|lock)|(.*/)?[\w.-]*[Dd]ockerfile[\w.-]*")
SERVING = re.compile(r"(.*/)?((docker-)?compose[\w.-]*|deployment|deploy)\.ya?ml")
TRUSS = re.compile(r"(.*/)?(config|truss)\.ya?ml")
IMAGE_LINE = re.compile(r"(?m)^[ \t-]*(?:base_)?image:[ \t]*(?:\{[ \t]*image:[ \t]*)?[\"']?([\w./:@-]{3,300})")
TOOLS = frozenset(("pip", "setuptools", "wheel", "uv", "build", "packaging"))


def run(release: Release) -> Iterator[Problem]:
    builds = list(dockerfiles(release))
    for found in builds:
        yield from images(found)
    for path in sorted(release.files):
        if SERVING.fullmatch(path) or TRUSS.fullmatch(path):
            yield from serving_images(release, path)
    named = "\n".join(row.text for found in builds for row in found.instructions)
    for package in requirements(release):
        if not package.pinned and package.name not in TOOLS:
            builds_it = RUNTIME.fullmatch(package.file) is not None or package.file.rpartition("/")[2] in named
            severity = severity_of(package.file) if builds_it else "warning"
            message = f"{package.text[:120]} has no exact version"
            yield CHECK.problem(Where(package.file, package.line), message, "write NAME==VERSION", severity)


def severity_of(path: str) -> str:
    return "warning" if path.startswith(ASIDE) else "error"


def images(found: Dockerfile) -> Iterator[Problem]:
    for image in found.images:
        if not DIGEST.fullmatch(image.text):
            what = "is named by a variable without a value" if "$" in image.text else "has no digest"
            message = f"the image {image.text[:200]} {what}"
            yield CHECK.problem(Where(found.file, image.line), message, "write IMAGE@sha256:DIGEST", severity_of(found.file))


def serving_images(release: Release, path: str) -> Iterator[Problem]:
    text = (text_of(release, path) or b"").decode("utf-8", "replace")
    for match in IMAGE_LINE.finditer(text if SERVING.fullmatch(path) or "base_image:" in text else ""):
        if not DIGEST.fullmatch(match[1]) and ("/" in match[1] or ":" in match[1]):
            where = Where(path, text.count("\n", 0, match.start(1)) + 1)
            yield CHECK.problem(where, f"the image {match[1][:200]} has no digest", "write IMAGE@sha256:DIGEST", severity="warning")


CHECK = Check("HR410", "floating-image", "runtime that moves", run)
