"""An adapter holds tensors for modules that its config does not target, or that the base does not have.

Why it matters: PEFT creates only what target_modules names and drops the rest with a remark: part of the training is lost.
Mend: Name the modules in target_modules, or save the adapter again.
Source: huggingface/peft tuners/tuners_utils.py check_target_module_exists (0.21.2).
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.adapters import Adapter
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.expected_tensors import grouped
from hubrelease.patterns import Matcher
from hubrelease.release import Release

MEND = "name the modules in target_modules, or save the adapter again"


def run(release: Release) -> Iterator[Problem]:
    for adapter in release.adapters:
        said = adapter.config.get("target_modules")
        if isinstance(said, str) and adapter.modules and (fault := Matcher(said, "fullmatch").fault):
            where = Where(adapter.config_file, pointer="/target_modules")
            yield CHECK.problem(where, f"{said[:80]!r} {fault}", "list the modules' names")
            continue
        untargeted = adapter.untargeted if isinstance(adapter.untargeted, tuple) else ()  # the rest is a finding of its own
        for _, first, count in grouped(untargeted, 4):
            more = f", and {count - 1} more of its kind" if count > 1 else ""
            where = Where(adapter.weights_file, tensor=first)
            yield CHECK.problem(where, f"{first} has tensors, and target_modules does not name it{more}", MEND)
        for _, first, count in grouped(outside(adapter), 4):
            more = f", and {count - 1} more of its kind" if count > 1 else ""
            where = Where(adapter.weights_file, tensor=first)
            yield CHECK.problem(where, f"{first} has tensors, and the base in this release has no such module{more}", MEND)


def outside(adapter: Adapter) -> list[str]:
    """Modules that the base lacks, where most others are there: else the base's names on disk are not those in memory."""
    if adapter.base is None or not adapter.modules:
        return []
    parents = adapter.base.parents
    missing = [name for name in adapter.modules if name not in parents and not name.startswith("lm_head")]
    return missing if len(missing) * 2 < len(adapter.modules) else []


CHECK = Check("HR336", "adapter-target", "module that is not targeted", run)
