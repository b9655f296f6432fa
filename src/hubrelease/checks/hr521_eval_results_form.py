"""A file of .eval_results/ is not in the Hub's form.

Why it matters: the scores then appear neither on the model page nor on the benchmark's leaderboard.
Mend: Write a list of {dataset: {id, task_id}, value}; a date in quotes; a source with its url.
Source: huggingface/hub-docs eval_results.yaml and docs/hub/eval-results.md (work in progress there); huggingface_hub 2.4.0,
_eval_results.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import kind_of
from hubrelease.hub_lists import is_repo_id
from hubrelease.release import Release
from hubrelease.results_yaml import read, result_files
from hubrelease.shapes import ANY, TEXT, list_of, mapping_of, misfits
from hubrelease.strict_yaml import Mapping, Node, Scalar, Sequence

DATASET = mapping_of({"id": TEXT, "task_id": TEXT}, {"revision": TEXT})
SOURCE = mapping_of({"url": TEXT}, {"name": TEXT, "user": TEXT, "org": TEXT})
ENTRIES = list_of(mapping_of({"dataset": DATASET, "value": ANY}, {"verifyToken": TEXT, "source": SOURCE, "notes": TEXT}))
MEND = "write it as huggingface/hub-docs eval_results.yaml shows"
MAX_SHOWN = 20


def run(release: Release) -> Iterator[Problem]:
    for path in result_files(release):
        found = read(release, path)
        for fault in found.faults[:MAX_SHOWN]:
            yield CHECK.problem(Where(path, fault.line), fault.message, MEND)
        if found.node is not None:
            yield from node_problems(path, found.node)


def node_problems(path: str, node: Node) -> Iterator[Problem]:
    for misfit in list(misfits(node, ENTRIES, ""))[:MAX_SHOWN]:
        yield CHECK.problem(Where(path, misfit.line, misfit.pointer), misfit.message, MEND)
    for number, entry in enumerate(node.items if isinstance(node, Sequence) else ()):
        if isinstance(entry, Mapping):
            yield from entry_problems(path, entry, f"/{number}")


def entry_problems(path: str, entry: Mapping, pointer: str) -> Iterator[Problem]:
    dataset, date = entry.get("dataset"), entry.get("date")
    ident = dataset.get("id") if isinstance(dataset, Mapping) else None
    if isinstance(ident, Scalar) and kind_of(ident) == "string" and ident.text.strip() and not is_repo_id(ident.text.strip()):
        message = f'"{ident.text[:80]}" is no id of a dataset on the Hub'
        yield CHECK.problem(Where(path, ident.line, f"{pointer}/dataset/id"), message, "write namespace/name of the benchmark's dataset")
    if date is not None and kind_of(date) != "string":
        message = f"date is a {kind_of(date)} for YAML readers, not text"
        yield CHECK.problem(Where(path, date.line, f"{pointer}/date"), message, "put the date in quotes", severity="warning")


CHECK = Check("HR521", "eval-results-form", "scores in a form that the Hub does not read", run)
