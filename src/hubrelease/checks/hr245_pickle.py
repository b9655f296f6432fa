"""A file is a pickle, or holds one: loading it runs whatever it says.

Known by its content, whatever its name: raw streams, torch.save, joblib, NumPy arrays of objects, Keras Lambda layers, packed or not.

Why it matters: the Hub's scanner marks the repository as unsafe, and people can't see what such a file does.
Mend: Publish tensors as safetensors and settings as JSON; leave training state out.
Source: huggingface/transformers issue 28580; huggingface/setfit issue 224.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.leftovers import is_training_state
from hubrelease.pickles import Pickled
from hubrelease.release import Release
from hubrelease.telling import few, named

SHOWN = 100  # findings


def run(release: Release) -> Iterator[Problem]:
    yield from few((pickle_problem(path, found) for path, found in release.pickles.items() if found.family), SHOWN)


def pickle_problem(path: str, found: Pickled) -> Problem:
    imports = sorted(f"{module}.{name}" for module, name in found.imports)
    what = f"; it imports {named(imports)}" if imports else ""
    unread = f" ({found.unread})" if found.unread else ""
    state = is_training_state(path)
    message = f"is a {found.family}{', training state' if state else ''}{what}{unread}"
    mend = "leave training state out of a release" if state else "publish tensors as safetensors and settings as JSON, or leave it out"
    return CHECK.problem(path, message, mend, severity="warning")


CHECK = Check("HR245", "pickle", "pickle in the release", run)
