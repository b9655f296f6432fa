"""tie_word_embeddings is false, and no tensor is an output head.

Why it matters: the head would be filled with random numbers, or loading stops; either the flag or the weights are wrong.
Mend: Save the head, or set tie_word_embeddings to true if the embedding serves as head.
Source: QwenLM/Qwen3-VL-Embedding issue 89.

An error for a class with a head. A class without one (…Model) needs none: only where the card promises text generation
is that told, as a warning; embedding models of that kind are right as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.architectures import family_of
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import kind_of
from hubrelease.models import Model
from hubrelease.release import Release
from hubrelease.strict_yaml import Scalar

WITH_HEAD = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "ForMaskedLM")
GENERATES = frozenset(("text-generation", "image-text-to-text", "text2text-generation", "any-to-any"))
MEND = "save the head, or set tie_word_embeddings to true if the embedding serves as head"


def run(release: Release) -> Iterator[Problem]:
    for model in release.models:
        if model.whole and model.embedding_rows and is_untied(model) and not model.has_head:
            file = Where(model.config_file, pointer="/tie_word_embeddings")
            message = f"is false, and no tensor of {model.architecture} is lm_head.weight"
            if model.architecture.endswith(WITH_HEAD):
                yield CHECK.problem(file, message, MEND)
            elif model.architecture.endswith("Model") and model.folder == "" and task(release) in GENERATES:
                message += f", but the card's pipeline_tag is {task(release)}"
                yield CHECK.problem(file, message, MEND, severity="warning")


def is_untied(model: Model) -> bool:
    """True if the config says so, or says nothing and the class's own default does."""
    said = [c.get("tie_word_embeddings") for c in (model.config, model.text)]
    if True in said:
        return False
    family = family_of(model.model_type, model.architecture)
    return False in said or (family is not None and family.closed and not family.tied)


def task(release: Release) -> str:
    node = release.card.front.get("pipeline_tag") if release.card else None
    return node.text if isinstance(node, Scalar) and kind_of(node) == "string" else ""


CHECK = Check("HR304", "lm-head-missing", "no output head", run)
