"""The footnote under a table: of what, with what and how the figures of a receipt were measured, as far as the receipt says.

    Measured by lm-evaluation-harness 0.4.9.2 of org/model at 8faed761d45a, engine vllm, 5 shots, seed 0, 8 × NVIDIA H100 80GB HBM3.

Plain text of one line; a template escapes it. Receipts hold anybody's text and paths of anybody's machine: control characters
are taken out, long names cut, and of a local folder only its last step is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.evaluations import Evaluation
from hubrelease.phrases import Say
from hubrelease.subjects import parse

UNLIMITED = "unlimited"  # as the adapters of serving benchmarks have it
HARNESSES = {"lm_eval": "lm-evaluation-harness", "mteb": "MTEB", "helm": "HELM", "figures": ""}
COMMIT = re.compile(r"[0-9a-f]{13,64}")
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]+")
MAX_NAME, MAX_CONDITIONS, SHORT = 120, 12, 12


def footnote(evaluation: Evaluation, say: Say) -> str:
    """One sentence in the card's language; empty where the receipt says nothing but its figures."""
    beginning = begun(by_harness(evaluation), model(evaluation, say), say)
    said = ", ".join(part for part in (beginning, *parts_of(evaluation, say)) if part)
    return str(say("footnote", said=said) if beginning else say("footnote_with", said=said)) if said else ""


def begun(harness: str, subject: str, say: Say) -> str:
    if harness and subject:
        return str(say("footnote_by_on", harness=harness, model=subject))
    return str(say("footnote_by", harness=harness) if harness else say("footnote_on", model=subject)) if harness or subject else ""


def by_harness(evaluation: Evaluation) -> str:
    name = HARNESSES.get(evaluation.harness, evaluation.harness)
    return f"{clean(name)}{version(evaluation.harness_version)}" if name and name != "unknown" else ""


def parts_of(evaluation: Evaluation, say: Say) -> Iterator[str]:
    if evaluation.engine:
        yield str(say("footnote_engine", engine=f"{clean(evaluation.engine)}{version(evaluation.engine_version)}"))
    yield clean(evaluation.precision or "").removeprefix("torch.")
    yield from asked(evaluation, say)
    conditions = [(name, value) for name, value in evaluation.conditions if value != evaluation.engine]
    yield from (condition(name, value, say) for name, value in conditions[:MAX_CONDITIONS])
    yield from (f"{clean(name)}{version(value)}" for name, value in evaluation.versions[:MAX_CONDITIONS])
    yield clean(evaluation.hardware or "")


def condition(name: str, value: str, say: Say) -> str:
    """What an adapter named is said in the card's language; what a receipt named itself, as it is."""
    key = "condition_" + re.sub(r"\W+", "_", name.lower())
    return f"{clean(say.word(key, name))} {clean(say.word('condition_unlimited', value) if value == UNLIMITED else value)}"


def model(evaluation: Evaluation, say: Say) -> str:
    """The model and its revision. A folder of somebody's machine by its name alone."""
    if not evaluation.model:
        return ""
    subject = parse(evaluation.model)
    name = clean(subject.name if subject.kind == "hub" else subject.tail)
    revision = evaluation.revision or subject.revision
    return str(say("footnote_revision", model=name, revision=short(revision))) if revision else name


def asked(evaluation: Evaluation, say: Say) -> Iterator[str]:
    """Shots, samples, chat template and seed."""
    shots = {m.shots for m in evaluation.metrics if m.shots is not None} or {evaluation.shots} - {None}
    if len(shots) == 1:
        count = next(iter(shots))
        yield str(say("footnote_shot" if count == 1 else "footnote_shots", count=count))
    elif shots:
        yield str(say("footnote_shots_by_task"))
    if (limit := evaluation.limit) is not None:
        yield str(say("footnote_limit", count=f"{limit:g}") if limit >= 1 else say("footnote_limit_share", count=f"{limit * 100:g}"))
    if evaluation.template:
        yield str(say("footnote_template", template=short(evaluation.template)))
    if evaluation.seed is not None:
        yield str(say("footnote_seed", seed=clean(evaluation.seed)))


def version(text: str | None) -> str:
    return f" {short(text)}" if text else ""


def short(text: str) -> str:
    """A commit or digest by its first digits; anything else as it is."""
    return text[:SHORT] if COMMIT.fullmatch(text) else clean(text)


def clean(text: str) -> str:
    """One line without characters that can't be seen, cut where no name is so long."""
    one_line = " ".join(UNSEEN.sub(" ", text).split())
    return one_line if len(one_line) <= MAX_NAME else one_line[: MAX_NAME - 1] + "…"
