"""Checks over what the parsers of weights.py and gguf.py found in the containers themselves: one fault kind, one check."""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release
from hubrelease.telling import few
from hubrelease.weights import Fault

MAX_TENSOR_NAME = 1000  # characters of a finding's `tensor`


def from_containers(code: str, kind: str, title: str, mend: str) -> Check:
    """A check whose rule the parsers apply while they read headers."""

    def run(release: Release) -> Iterator[Problem]:
        for path, faults in faults_of(release):
            yield from few(as_problem(path, fault) for fault in faults if fault.kind == kind)

    def as_problem(path: str, fault: Fault) -> Problem:
        tensor = fault.tensor if fault.tensor is not None and len(fault.tensor) <= MAX_TENSOR_NAME else None
        severity = "warning" if fault.remark else "error"
        return check.problem(Where(path, tensor=tensor), fault.message, mend, severity=severity)

    check = Check(code, kind, title, run)
    return check


def faults_of(release: Release) -> Iterator[tuple[str, tuple[Fault, ...]]]:
    """(path, faults) of every safetensors and GGUF file."""
    for path, container in release.containers.all.items():
        yield path, container.faults
    for path, file in release.containers.ggufs.items():
        yield path, file.faults
