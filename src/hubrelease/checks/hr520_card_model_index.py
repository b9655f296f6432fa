"""model-index, or the list of datasets, lacks a field or holds one of a wrong type.

Why it matters: the Hub validates both on every push and refuses the commit, after the weights went up.
Mend: Give each result task.type, dataset.type, dataset.name and metrics with type and value; names are text, not numbers.
Source: huu4ontocord/MDEL issue 34; huggingface/transformers issues 13528 and 28137; huggingface/huggingface_hub PR 3000;
huggingface/hub-docs modelcard.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import is_blank
from hubrelease.release import Release
from hubrelease.shapes import ANY, TEXT, Misfit, list_of, mapping_of, misfits
from hubrelease.strict_yaml import Scalar

METRIC = mapping_of({"type": TEXT, "value": ANY}, {"name": TEXT, "config": TEXT})
DATASET = mapping_of({"type": TEXT, "name": TEXT}, {"config": TEXT, "split": TEXT, "revision": TEXT})
TASK = mapping_of({"type": TEXT}, {"name": TEXT})
SOURCE = mapping_of({"url": TEXT}, {"name": TEXT})
RESULT = mapping_of({"task": TASK, "dataset": DATASET, "metrics": list_of(METRIC)}, {"source": SOURCE})
MODEL_INDEX = list_of(mapping_of({"name": TEXT, "results": list_of(RESULT)}))
DATASETS = list_of(TEXT)
MAX_SHOWN = 20


def run(release: Release) -> Iterator[Problem]:
    found = list(misfits_of(release))
    for misfit in found[:MAX_SHOWN]:
        yield CHECK.problem(Where(FILE, misfit.line, misfit.pointer), misfit.message, "correct the field; the Hub refuses it as it is")
    if len(found) > MAX_SHOWN:
        message = f"{len(found) - MAX_SHOWN} more fields of model-index do not fit"
        yield CHECK.problem(Where(FILE, found[MAX_SHOWN].line, "/model-index"), message, "correct them in the same way")


def misfits_of(release: Release) -> Iterator[Misfit]:
    front = release.card.front if release.card else None
    index, datasets = (front.get("model-index"), front.get("datasets")) if front else (None, None)
    if index is not None:
        yield from misfits(index, MODEL_INDEX, "/model-index")
    if datasets is not None and (not isinstance(datasets, Scalar) or is_blank(datasets)):  # one text in place of a list is taken
        yield from misfits(datasets, DATASETS, "/datasets")


CHECK = Check("HR520", "card-model-index", "model-index of a wrong form", run)
