"""An entry of the exclusion list names a module that is not there, beside others of the same parent that are.

Why it matters: What was meant to be left alone is not: a misspelt entry leaves a layer to a reader that then looks for scales.
Mend: Write the full names of the modules as the checkpoint has them.
Source: formats of fine-grained FP8 and ModelOpt; the lists of published FP8 releases name modules one by one.

Lists saved by tools also name towers and layers that a smaller build lacks, norms, and single parameters: nothing is said of
an entry whose parent is not there, of patterns, or of the head and embeddings.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.quantisation.found import Quantised, few
from hubrelease.quantisation.rules import PLAIN, Entry, ancestors
from hubrelease.release import Release


def run(release: Release) -> Iterator[Problem]:
    for found in release.quantised:
        applied = found.declaration
        if applied is None or not found.complete or not found.quantised:
            continue
        unmatched = [e for e in applied.scheme.exclusions if e.text not in applied.excluded.used and misspelt(found, e)]
        if unmatched:
            message = f"{few([e.text for e in unmatched])}: left alone by the list, but no such module is in the weights"
            where = Where(applied.scheme.file, pointer=unmatched[0].pointer)
            yield CHECK.problem(where, message, "write the modules' names as the checkpoint has them", "warning")
        if applied.unused_targets:
            first = applied.unused_targets[0]
            message = f"{few([e.text for e in applied.unused_targets])}: a target that matches no module of the weights"
            yield CHECK.problem(Where(applied.scheme.file, pointer=first.pointer), message, "correct or remove the target", "warning")


def misspelt(found: Quantised, entry: Entry) -> bool:
    """True if the entry names something that its parent would have to hold, and the parent is there without it."""
    text = entry.text
    if not PLAIN.match(text) or "." not in text or text in found.weights.tensors:
        return False
    if any(word in text.rpartition(".")[2] for word in ("lm_head", "embed", "norm", "bias", "head", "rotary")):
        return False
    parent = next(ancestors(text))
    return parent in found.parents and not any(f"{text}{end}" in found.weights.tensors for end in (".weight", ".bias"))


CHECK = Check("HR252", "exclusion-unmatched", "exclusion that matches nothing", run)
