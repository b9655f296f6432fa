"""runtime.kind sm120: the decision runtime (server, engine, kernels) and an image that verifies the release before it serves it.

The files are runtime/'s own, copied as they are. What the image would lack is told at build, not at its first start: a
package that the code imports, an adapter without its readout, a base image of another Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hubrelease.errors import Problem, problem
from hubrelease.lock import Lock
from hubrelease.packages import normal
from hubrelease.spec import Spec

TEMPLATE = "sm120.Dockerfile"
BUILD_LOCK = "requirements-build.lock"
FOLDERS = ("server", "engine", "kernels")
SUFFIXES = (".py", ".cu", ".sh")
IMPORTED = ("torch", "triton", "transformers", "tokenizers", "safetensors", "numpy", "pillow", "starlette", "uvicorn", "python-multipart",
            "fla-core", "flash-linear-attention")  # fmt: skip
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
READOUT = ("decision_readout.json", "decision_readout.safetensors")


def code(runtime: Path) -> Iterator[tuple[str, bytes]]:
    """(path in the release, bytes) of the runtime's own files, sorted."""
    for folder in FOLDERS:
        for file in sorted((runtime / folder).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                yield f"runtime/{file.relative_to(runtime).as_posix()}", file.read_bytes()
    yield f"runtime/{BUILD_LOCK}", (runtime / BUILD_LOCK).read_bytes()


def problems(spec: Spec, lock: Lock) -> Iterator[Problem]:
    """What keeps the image from serving this release."""
    resolved = {normal(p.name) for p in lock.packages.packages} if lock.packages else set()
    if lacking := [name for name in IMPORTED if name not in resolved]:
        mend = "add them to runtime.packages as NAME==VERSION, then run `hubrelease pin`"
        yield problem(
            "runtime-incomplete", spec.where("/runtime"), f"the runtime imports {', '.join(lacking)}, which no package brings", mend
        )
    yield from readout_problems(spec, lock)


def readout_problems(spec: Spec, lock: Lock) -> Iterator[Problem]:
    """The decisions are read by the readout, which travels with the adapter or beside the weights."""
    if spec.adapter:
        source = lock.source(spec.adapter.source)
        there = {f.path for f in source.files} if source else set()
        if lacking := [name for name in (*ADAPTER_FILES, *READOUT) if name not in there]:
            message = f'the source "{spec.adapter.source}" has no {", ".join(lacking)}'
            yield problem("runtime-incomplete", spec.where("/adapter/source"), message, "take the adapter with its decision readout")
