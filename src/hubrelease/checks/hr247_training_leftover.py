"""Training state, training data or caches of tools lie in the release.

Known by their names. Those that are pickles are told of as pickles (HR245), a folder of leftovers once.

Why it matters: such files are often larger than the model, may hold private data or paths, and no loader needs them.
Mend: Leave them out (side_files.omit).
Source: huggingface/transformers 5.24.0 trainer.py and trainer_callback.py (names of a checkpoint's files); DeepSpeed's global_step folders.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.leftovers import leftover_folder, leftover_reason
from hubrelease.release import Release
from hubrelease.telling import counted, few

SHOWN = 50


def run(release: Release) -> Iterator[Problem]:
    yield from few(leftover_problems(release), SHOWN)


def leftover_problems(release: Release) -> Iterator[Problem]:
    folders: dict[str, int] = {}
    for path in sorted(release.files):
        if folder := leftover_folder(path):
            folders[folder] = folders.get(folder, 0) + 1
        elif (reason := leftover_reason(path)) and path not in release.pickles:
            yield CHECK.problem(path, f"is {reason}", "leave it out of the release", severity="warning")
    for folder, count in folders.items():
        message = f"is a folder of training or of a tool, with {counted(count, 'file')}"
        yield CHECK.problem(folder, message, "leave it out of the release", severity="warning")


CHECK = Check("HR247", "training-leftover", "leftover of training", run)
