"""CUDA architectures: what a list of compile targets runs on, as nvcc and torch define it.

A cubin for X.y runs on X.z with z >= y; one with the suffix `a` on X.y alone; one with `f` (family) on the same X.z from y
on. PTX of X.y is compiled at load for every later capability, that of `a` and `f` targets for their own set. Sources: CUDA
C++ Programming Guide, 5.1 compute capabilities; torch/utils/cpp_extension.py, TORCH_CUDA_ARCH_LIST.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

NAMED = {
    "kepler": "3.5+PTX", "maxwell": "5.0;5.2+PTX", "pascal": "6.0;6.1+PTX", "volta": "7.0+PTX", "turing": "7.5+PTX",
    "ampere": "8.0;8.6+PTX", "ada": "8.9+PTX", "hopper": "9.0+PTX", "blackwell": "10.0;10.3;12.0;12.1+PTX",
}  # fmt: skip
TARGET = re.compile(r"(?:(sm|compute|lto)_?)?(\d{1,2})\.?(\d)([af]?)(\+ptx|-real|-virtual)?")


class Target(NamedTuple):
    """`suffix` is a, f or nothing; `cubin` and `ptx` say what was compiled for it."""

    major: int
    minor: int
    suffix: str
    cubin: bool
    ptx: bool


def targets(text: str, cmake: bool = False) -> list[Target] | None:
    """The targets of a list such as "8.0;9.0+PTX" or "sm_120a"; None where it holds a word that is not understood.

    `cmake`: a plain 90 is cubin and PTX there, 90-real and 90-virtual are one of them.
    """
    found: list[Target] = []
    for word in re.split(r"[\s,;:]+", text.strip().strip("\"'")):
        if not word:
            continue
        if word.lower().removesuffix("+ptx") in NAMED:
            found += targets(NAMED[word.lower().removesuffix("+ptx")]) or []
            continue
        target = one(word.lower(), cmake)
        if target is None:
            return None
        found.append(target)
    return found or None


def one(word: str, cmake: bool) -> Target | None:
    match = TARGET.fullmatch(word)
    if match is None:
        return None
    kind, major, minor, suffix, mode = match[1] or "", int(match[2]), int(match[3]), match[4], match[5] or ""
    only_ptx = kind == "compute" or mode == "-virtual"
    both = mode == "+ptx" or (cmake and not kind and not mode)
    return Target(major, minor, suffix, not only_ptx, only_ptx or both)


def flags(text: str) -> list[Target]:
    """The targets of nvcc's -gencode flags in a text."""
    codes = re.findall(r"code=\[?([\w,]{2,200})", text) if "code=" in text else []
    return [t for code in codes for t in targets(code) or []]


def runs_on(target: Target, capability: tuple[int, int]) -> bool:
    major, minor = capability
    own = (target.major, target.minor)
    if target.suffix == "a":
        return own == capability
    if target.suffix == "f" or target.cubin:
        same = target.major == major and minor >= target.minor
        if same or target.suffix == "f":
            return same
    return target.ptx and own <= capability


def uncovered(promised: Iterable[str], compiled: list[Target]) -> list[str]:
    """Those of the promised capabilities ("12.0") that nothing compiled runs on."""
    return [text for text in promised if (c := capability(text)) is not None and not any(runs_on(t, c) for t in compiled)]


def capability(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"(?:sm_?)?(\d{1,2})\.?(\d)[af]?", text.strip().lower())
    return (int(match[1]), int(match[2])) if match else None
