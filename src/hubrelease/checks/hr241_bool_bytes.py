"""A tensor of dtype BOOL holds a byte that is neither 0 nor 1.

Tensors of up to 1 MiB are read, 64 MiB in all; --deep reads every one.

Why it matters: readers take the bytes as they are; 2 is true to some operations and not equal to true for others.
Mend: Save the mask again from real booleans.
Source: safetensors/safetensors 0.8.0 (bool-two: accepted by the reader, given to torch as it is).
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import Located
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.telling import few

EACH, ALL = 2**20, 64 * 2**20


def run(release: Release) -> Iterator[Problem]:
    yield from few(problem for located in masks(release) for problem in byte_problems(release, located))


def masks(release: Release) -> Iterator[Located]:
    left = ALL
    for path, container in release.containers.all.items():
        for tensor in container.header.tensors if container.header else ():
            if tensor.dtype == "BOOL" and (release.deep or tensor.size <= min(EACH, left)):
                left -= tensor.size
                yield Located(path, tensor)


def byte_problems(release: Release, located: Located) -> Iterator[Problem]:
    odd = 0
    first = None
    for chunk in release.containers.chunks(located):
        rest = chunk.translate(None, b"\0\1")
        odd += len(rest)
        first = rest[0] if first is None and rest else first
    if odd:
        message = f"{odd} of {located.tensor.size} bytes of a BOOL tensor are neither 0 nor 1, the first is {first}"
        yield CHECK.problem(Where(located.file, tensor=located.tensor.name), message, "save the mask again from real booleans")


CHECK = Check("HR241", "bool-bytes", "byte that is no boolean", run)
