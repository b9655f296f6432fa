"""Where there is no GPU: ready commands that validate a release elsewhere, on the Hub's job runner and in plain Docker.

validate needs the release folder and its own extra, nothing else. The report is printed at the end, for a job's disk goes
with it; it is kept where the folder is one's own.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from hubrelease import __version__
from hubrelease.models import as_mapping, strings
from hubrelease.release import Release
from hubrelease.verify_release import release_name

IMAGE = "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-devel"  # has torch, and the C compiler that Triton wants
FLAVOURS: Mapping[str, str] = {"7.5": "t4-small", "8.0": "a100-large", "8.6": "a10g-small", "8.9": "l4x1", "9.0": "h200"}
PACKAGE = f"hubrelease[validate]=={__version__}"


def elsewhere(release: Release, runtime: str) -> str:
    """How to run it where there is a GPU, in one sentence."""
    said = f"run `hubrelease validate DIR --runtime {runtime}` on a machine with an NVIDIA GPU (pip install 'hubrelease[validate]')"
    here = "--runtime transformers --device cpu runs here"
    return f"{said}; `hubrelease validate {shlex.quote(str(release.root))} --print-job` prints ready commands; {here}"


def capability(release: Release) -> str | None:
    found = strings(as_mapping(release.spec.get("runtime")).get("compute_capabilities"))
    return found[0] if found else None


def image(release: Release) -> str:
    """The release's own image where it names one, for that is where it will run."""
    said = as_mapping(release.spec.get("runtime")).get("image")
    if isinstance(said, str):
        source = as_mapping(as_mapping(release.spec.get("sources")).get(said)).get("image")
        return source if isinstance(source, str) else said
    return IMAGE


def lines(release: Release, runtime: str, suite: str) -> list[str]:
    """The two commands with a line of explanation each."""
    repo, version = release_name(release.document) or "OWNER/NAME", release.spec.get("version")
    wanted = capability(release)
    flavour = FLAVOURS.get(wanted or "", "")
    options = f"--runtime {runtime} --suite {suite}"
    fetch = f"hf download {shlex.quote(repo)} --local-dir /release"
    script = f"pip install -q {shlex.quote(PACKAGE)} && {fetch} && hubrelease validate /release {options} --json"
    here = f"pip install -q {shlex.quote(PACKAGE)} && hubrelease validate /release {options} --image {shlex.quote(image(release))}"
    note = (
        f"compute capability {wanted}: flavor {flavour}"
        if flavour
        else f"{wanted or 'no capability'} promised: choose a flavor (`hf jobs hardware`)"
    )
    job = [
        "hf",
        "jobs",
        "run",
        "--flavor",
        flavour or "FLAVOR",
        "--secrets",
        "HF_TOKEN",
        "--timeout",
        "2h",
        image(release),
        "sh",
        "-c",
        script,
    ]
    docker = [
        "docker",
        "run",
        "--rm",
        "--gpus",
        "all",
        "--entrypoint",
        "sh",
        "-v",
        f"{release.root.resolve()}:/release",
        image(release),
        "-c",
        here,
    ]
    return [
        f"# On the Hub's job runner ({note}), once {repo} {version} is there; the report ends its log:",
        shlex.join(job),
        "# In Docker on a machine with the GPU; the report is written into the folder:",
        shlex.join(docker),
    ]
