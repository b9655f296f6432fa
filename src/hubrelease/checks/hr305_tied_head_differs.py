"""tie_word_embeddings is true, and the weights hold an lm_head.weight with other bytes than the embedding's.

Why it matters: transformers 5 uses the stored head, vLLM and transformers 4 the embedding: one release, two models.
Mend: Set tie_word_embeddings to false if the head was trained on its own, else leave the stale copy out.
Source: huggingface/transformers PR 42612 and tie_weights (5.24.0); vllm-project/vllm PR 6758.

A head that equals the embedding is no fault: many published models keep such a copy (ibm-granite/granite-4.1-8b).
Bytes are compared at the start, the end and between; with --deep, all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from hubrelease.checks import Check
from hubrelease.containers import Located
from hubrelease.errors import Problem, Where
from hubrelease.models import Model, is_text
from hubrelease.release import Release

SAMPLES, SAMPLE_BYTES = 16, 16_384


def run(release: Release) -> Iterator[Problem]:
    for model in release.models:
        said = [c.get("tie_word_embeddings") for c in (model.config, model.text)]
        if model.whole and True in said and False not in said and (pair := head_and_embedding(model)) and differ(release, *pair):
            head, embedding = pair
            where = Where(head.file, tensor=head.tensor.name)
            message = f"{head.tensor.name} is not {embedding.tensor.name}, but {model.config_file} says tie_word_embeddings: true"
            yield CHECK.problem(where, message, "set tie_word_embeddings to false if the head is meant, else leave it out")


def head_and_embedding(model: Model) -> tuple[Located, Located] | None:
    """lm_head.weight and the one embedding, where they have one form."""
    tensors = model.weights.tensors if model.weights else {}
    heads = [found for name, found in tensors.items() if name.endswith("lm_head.weight") and is_text(name)]
    embeddings = [found for name, found in tensors.items() if name.endswith("embed_tokens.weight") and is_text(name)]
    if len(heads) != 1 or len(embeddings) != 1:
        return None
    head, embedding = heads[0].tensor, embeddings[0].tensor
    plain = head.dtype in ("BF16", "F16", "F32") and head.size > 0
    return (heads[0], embeddings[0]) if plain and (head.dtype, head.shape) == (embedding.dtype, embedding.shape) else None


def differ(release: Release, one: Located, other: Located) -> bool:
    if release.deep:
        pairs = zip_longest(release.containers.chunks(one), release.containers.chunks(other))
        return any(a != b for a, b in pairs)
    return any(part(release, one, start) != part(release, other, start) for start in starts(one.tensor.size))


def starts(size: int) -> Iterator[int]:
    last = max(size - SAMPLE_BYTES, 0)
    yield from sorted({last * number // (SAMPLES - 1) for number in range(SAMPLES)})


def part(release: Release, found: Located, start: int) -> bytes:
    """Some bytes of a tensor from `start` on; nothing where its file is not here whole."""
    tensor = found.tensor._replace(begin=found.tensor.begin + start, end=min(found.tensor.begin + start + SAMPLE_BYTES, found.tensor.end))
    return release.containers.data(Located(found.file, tensor), SAMPLE_BYTES) or b""


CHECK = Check("HR305", "tied-head-differs", "tied head with values of its own", run)
