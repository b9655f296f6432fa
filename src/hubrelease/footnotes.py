"""The footnote under a table: of what, with what and how the figures of a receipt were measured, as far as the receipt says.

    Measured by lm-evaluation-harness 0.4.9.2 of org/model at 8faed761d45a, engine vllm, 5 shots, seed 0, 8 × NVIDIA H100 80GB HBM3.

Plain text of one line; a template escapes it. Receipts hold anybody's text and paths of anybody's machine: control characters
are taken out, long names cut, and of a local folder only its last step is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.evaluations import Evaluation
from hubrelease.subjects import parse

HARNESSES = {"lm_eval": "lm-evaluation-harness", "mteb": "MTEB", "helm": "HELM", "figures": ""}
COMMIT = re.compile(r"[0-9a-f]{13,64}")
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]+")
MAX_NAME, MAX_CONDITIONS, SHORT = 120, 12, 12


def footnote(evaluation: Evaluation) -> str:
    """One sentence; empty where the receipt says nothing but its figures."""
    beginning = " ".join(part for part in (by_harness(evaluation), model(evaluation)) if part)
    said = ", ".join(part for part in (beginning, *parts_of(evaluation)) if part)
    return f"Measured {said}." if beginning else f"Measured with {said}." if said else ""


def by_harness(evaluation: Evaluation) -> str:
    name = HARNESSES.get(evaluation.harness, evaluation.harness)
    return f"by {clean(name)}{version(evaluation.harness_version)}" if name and name != "unknown" else ""


def parts_of(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.engine:
        yield f"engine {clean(evaluation.engine)}{version(evaluation.engine_version)}"
    yield clean(evaluation.precision or "").removeprefix("torch.")
    yield from asked(evaluation)
    conditions = [(name, value) for name, value in evaluation.conditions if value != evaluation.engine]
    yield from (f"{clean(name)} {clean(value)}" for name, value in conditions[:MAX_CONDITIONS])
    yield from (f"{clean(name)}{version(value)}" for name, value in evaluation.versions[:MAX_CONDITIONS])
    yield clean(evaluation.hardware or "")


def model(evaluation: Evaluation) -> str:
    """The model and its revision. A folder of somebody's machine by its name alone."""
    if not evaluation.model:
        return ""
    subject = parse(evaluation.model)
    name = subject.name if subject.kind == "hub" else subject.tail
    revision = evaluation.revision or subject.revision
    return f"of {clean(name)}" + (f" at {short(revision)}" if revision else "")


def asked(evaluation: Evaluation) -> Iterator[str]:
    """Shots, samples, chat template and seed."""
    shots = {m.shots for m in evaluation.metrics if m.shots is not None} or {evaluation.shots} - {None}
    if len(shots) == 1:
        count = next(iter(shots))
        yield f"{count} shot{'' if count == 1 else 's'}"
    elif shots:
        yield "shots by task"
    if evaluation.limit is not None:
        share = f"{evaluation.limit:g} samples" if evaluation.limit >= 1 else f"{evaluation.limit * 100:g}%"
        yield f"at most {share} of each task"
    if evaluation.template:
        yield f"chat template {short(evaluation.template)}"
    if evaluation.seed is not None:
        yield f"seed {clean(evaluation.seed)}"


def version(text: str | None) -> str:
    return f" {short(text)}" if text else ""


def short(text: str) -> str:
    """A commit or digest by its first digits; anything else as it is."""
    return text[:SHORT] if COMMIT.fullmatch(text) else clean(text)


def clean(text: str) -> str:
    """One line without characters that can't be seen, cut where no name is so long."""
    one_line = " ".join(UNSEEN.sub(" ", text).split())
    return one_line if len(one_line) <= MAX_NAME else one_line[: MAX_NAME - 1] + "…"
