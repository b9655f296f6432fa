"""A token has an id that the token embedding has no row for.

Why it matters: the first text that holds the token ends in an index error, on a GPU in a crash of the whole process.
Mend: Resize the embedding (resize_token_embeddings) and save the weights, or take the token out of the tokenizer.
Source: lm-sys/FastChat issue 153; OpenNMT/CTranslate2 issue 1415.

Tokens of the tokenizer are errors, as is pad_token_id of a config whose class builds its embedding with it; other special ids
of the configs, which some classes never look up, are warnings.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.architectures import family_of
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import Model
from hubrelease.release import Release
from hubrelease.vocabulary import Token, Vocabulary, ids

SPECIAL = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")


def run(release: Release) -> Iterator[Problem]:
    for model in release.models:
        if (rows := model.embedding_rows) is None:
            continue
        vocabulary = Vocabulary(release, model.folder)
        beyond = [token for token in vocabulary.added if token.id >= rows]
        if vocabulary.last and vocabulary.last.id >= rows:
            beyond.append(vocabulary.last)
        yield from of_tokens(beyond, rows)
        yield from of_configs(release, model, rows)


def of_tokens(beyond: list[Token], rows: int) -> Iterator[Problem]:
    """One finding a file, at its first token."""
    for file in sorted({token.file for token in beyond}):
        found = [token for token in beyond if token.file == file]
        shown = ", ".join(f"{token.text[:40]!r} = {token.id}" for token in found[:5]) + (", …" if len(found) > 5 else "")
        message = f"has {shown}, and the embedding has {rows} rows (ids 0 to {rows - 1})"
        where = Where(file, pointer=found[0].pointer)
        yield CHECK.problem(where, message, "resize the embedding and save it, or take the token out of the tokenizer")


def of_configs(release: Release, model: Model, rows: int) -> Iterator[Problem]:
    holders = (
        (model.config_file, model.config),
        (model.path("generation_config.json"), release.config(model.path("generation_config.json"))),
    )
    for file, holder in holders:
        for key in SPECIAL:
            beyond = sorted(number for number in ids(holder.get(key)) if number >= rows)
            if beyond:
                message = f"is {beyond[0]}, and the embedding has {rows} rows (ids 0 to {rows - 1})"
                builds = key == "pad_token_id" and file == model.config_file and family_of(model.model_type, model.architecture) is not None
                severity = "error" if builds else "warning"
                yield CHECK.problem(Where(file, pointer=f"/{key}"), message, "give the id of a token that the model has", severity)


CHECK = Check("HR310", "vocab-range", "token id beyond the embedding", run)
