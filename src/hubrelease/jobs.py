"""Where there is no GPU: ready commands that validate a release elsewhere, on the Hub's job runner and in plain Docker.

validate needs the release folder and its own extra, nothing else. The report is printed at the end, for a job's disk goes
with it; it is kept where the folder is one's own. What a release says of itself is hostile, and these lines are made to
be pasted into a shell: names are held against their form, and what stands in a comment is one line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from hubrelease import __version__
from hubrelease.errors import CheckFailed, SpecError, problem
from hubrelease.models import as_mapping, strings
from hubrelease.release import Release
from hubrelease.validated import Asked
from hubrelease.verify_release import printable, release_name

# torch and the C compiler that Triton wants; vLLM's own image for vLLM. Both tags are on Docker Hub.
IMAGES: Mapping[str, str] = {"vllm": "vllm/vllm-openai:v0.32.0"}
IMAGE = "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-devel"
# Of huggingface_hub's JobHardware, the smallest with a GPU of that compute capability.
FLAVORS: Mapping[str, str] = {"7.5": "t4-small", "8.0": "a100-large", "8.6": "a10g-small", "8.9": "l4x1", "9.0": "h200",
                              "12.0": "rtx-pro-6000"}  # fmt: skip
CPU_FLAVOR = "cpu-upgrade"
IMAGE_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,500}")
REPO_FORM = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
PIP = "PIP_BREAK_SYSTEM_PACKAGES=1 pip install -q"  # in a container whose Python is the distribution's


def elsewhere(release: Release, runtime: str) -> str:
    """How to run it where there is a GPU, in one sentence."""
    said = f"run `hubrelease validate DIR --runtime {runtime}` on a machine with an NVIDIA GPU (pip install 'hubrelease[validate]')"
    here = "--runtime transformers --device cpu runs here"
    return f"{said}; `hubrelease validate {shlex.quote(str(release.root))} --print-job` prints ready commands; {here}"


def capability(release: Release) -> str | None:
    found = strings(as_mapping(release.spec.get("runtime")).get("compute_capabilities"))
    return found[0] if found else None


def image(release: Release, runtime: str, asked: str | None = None) -> str:
    """The image that is asked for, else the release's own, for that is where it will run. CheckFailed for what is no image."""
    if asked is not None and not IMAGE_FORM.fullmatch(asked):
        raise SpecError(problem("usage", "--image", f"{asked[:80]!r} is no name of a container image", "write registry/name@sha256:…"))
    said = as_mapping(release.spec.get("runtime")).get("image")
    source = as_mapping(as_mapping(release.spec.get("sources")).get(said)).get("image") if isinstance(said, str) else None
    found = next((name for name in (asked, source, said) if isinstance(name, str)), IMAGES.get(runtime, IMAGE))
    if not IMAGE_FORM.fullmatch(found):
        message = f"{found[:80]!r} is no name of a container image"
        raise CheckFailed(problem("spec-invalid", "release.yaml", message, "write registry/name@sha256:… in runtime.image"))
    return found


def repo(release: Release) -> str:
    found = release_name(release.document) or "OWNER/NAME"
    if not REPO_FORM.fullmatch(found):
        raise CheckFailed(problem("spec-invalid", "release.yaml", f"{found[:80]!r} is no name of a repository", "write OWNER/NAME"))
    return found


def package(runtime: str) -> str:
    """vLLM's image keeps the packages that it was made with."""
    return f"hubrelease=={__version__}" if runtime == "vllm" else f"hubrelease[validate]=={__version__}"


def lines(release: Release, asked: Asked) -> list[str]:
    """The two commands with a line of explanation each. SpecError for a server that runs elsewhere: no job reaches it."""
    if asked.base_url:
        raise SpecError(problem("usage", "--print-job", "starts the release itself", "leave --base-url out"))
    runtime, on_cpu = str(asked.runtime), asked.device == "cpu"
    name, where, wanted = repo(release), image(release, runtime, asked.image), capability(release)
    flavor = CPU_FLAVOR if on_cpu else FLAVORS.get(wanted or "", "")
    options = f"--runtime {runtime} --suite {asked.suite}" + (" --device cpu" if on_cpu else "")
    install = f"{PIP} {shlex.quote(package(runtime))}"
    fetch = f"hf download {name} --local-dir /release"
    job = ["hf", "jobs", "run", "--flavor", flavor or "FLAVOR", "--secrets", "HF_TOKEN", "--timeout", "2h", where, "sh", "-c",
           f"{install} && {fetch} && hubrelease validate /release {options} --json"]  # fmt: skip
    devices = [] if on_cpu else ["--gpus", "all"]
    docker = ["docker", "run", "--rm", *devices, "--entrypoint", "sh", "--mount", mount(str(release.root.resolve())), where, "-c",
              f"{install} && hubrelease validate /release {options} --image {shlex.quote(where)}"]  # fmt: skip
    unknown = f"{wanted or 'no capability'} promised: put one of `hf jobs hardware` for FLAVOR"
    told = "on a CPU" if on_cpu else f"for compute capability {wanted}" if flavor else unknown
    version = one_line(str(release.spec.get("version") or ""))
    return [
        f"# On the Hub's job runner ({one_line(told)}), once {name} {version} is there; the report ends its log:",
        shlex.join(job),
        f"# In Docker{'' if on_cpu else ' on a machine with the GPU'}; the report is written into the folder:",
        shlex.join(docker),
    ]


def mount(folder: str) -> str:
    """docker's own form is a row of CSV, so that any path can stand in it; -v takes none with a colon."""
    source = f"source={folder}".replace('"', '""')
    return f'type=bind,"{source}",target=/release' if set(folder) & {",", '"'} else f"type=bind,source={folder},target=/release"


def one_line(text: str) -> str:
    return " ".join(printable(text[:80]).split())
