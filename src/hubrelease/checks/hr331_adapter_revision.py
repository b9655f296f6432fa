"""An adapter does not pin the commit of its base, or pins another one than provenance.

Why it matters: when the base's repository changes, the adapter is applied to weights that it was not trained on.
Mend: Write the base's 40-digit commit into revision of adapter_config.json.
Source: huggingface/peft config.py (0.21.2): revision is handed to the base's loader; noonghunna/club-3090 issue 319.

A warning: PEFT itself leaves revision empty. An empty one is told only in a release that has a provenance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.adapters import local_path
from hubrelease.checks import Check
from hubrelease.dependencies import dependencies
from hubrelease.errors import Problem, Where
from hubrelease.release import Release

COMMIT = re.compile(r"[0-9a-f]{40}")
MEND = "write the base's 40-digit commit into revision"


def run(release: Release) -> Iterator[Problem]:
    pinned = {d.repository: d.digest.get("gitCommit") for d in dependencies(release) if d.repository}
    for adapter in release.adapters:
        base, said = adapter.config.get("base_model_name_or_path"), adapter.config.get("revision")
        if not isinstance(base, str) or local_path(base) or not adapter.is_peft:
            continue
        if message := fault(said, pinned.get(base), bool(release.document)):
            where = Where(adapter.config_file, pointer="/revision")
            yield CHECK.problem(where, message, MEND, severity="warning")


def fault(said: object, pinned: object, sealed: bool) -> str | None:
    if isinstance(said, str) and said:
        if not COMMIT.fullmatch(said):
            return f"is {said[:80]!r}, a branch or a tag, not a commit"
        return f"is {said}, and provenance pins {str(pinned)[:40]}" if pinned and pinned != said else None
    return "is empty: the base may change under the adapter" if sealed else None


CHECK = Check("HR331", "adapter-revision", "base model without a commit", run)
