"""An adapter names its base model by a path of the maker's machine, or not at all.

Why it matters: nobody else can load the adapter, and the Hub refuses a card made from it.
Mend: Write the base's repository id into base_model_name_or_path, and its commit into revision; the tensors stay untouched.
Source: huggingface/transformers issue 33922; predibase/lorax issues 315 and 311.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.adapters import local_path
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release

MEND = "write the base's repository id here and its commit into revision; the tensors stay untouched"


def run(release: Release) -> Iterator[Problem]:
    for adapter in release.adapters:
        if not adapter.config or not adapter.is_peft:
            continue
        said = adapter.config.get("base_model_name_or_path")
        where = Where(adapter.config_file, pointer="/base_model_name_or_path")
        if not isinstance(said, str) or not said.strip():
            yield CHECK.problem(where, "names no base model: nobody can tell what the adapter belongs to", MEND)
        elif said.startswith(("http://", "https://")):
            yield CHECK.problem(where, f"{said[:120]!r} is an address, and loaders want a repository id", MEND, severity="warning")
        elif why := local_path(said):
            yield CHECK.problem(where, f"{said[:120]!r} is {why}", MEND)


CHECK = Check("HR330", "adapter-base-local", "base model on the maker's disk", run)
