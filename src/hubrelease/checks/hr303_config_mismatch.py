"""The number of layers or experts, or the hidden size, in config.json is not the one that the tensors show.

Why it matters: a runtime builds the model of the config: layers and experts beyond it are dropped without a word.
Mend: Correct config.json, or save the weights that belong to it.
Source: huggingface/transformers modeling_utils.py (5.24.0), unexpected keys are only logged; Cerebras REAP's pruned models.

For architectures whose names hubrelease knows this is an error; for others the names may mean something else: a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import EMBEDDINGS, Model, as_size, is_text, numbered
from hubrelease.release import Release

EXPERT_KEYS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
MTP_KEYS = ("num_nextn_predict_layers", "num_mtp_layers", "mtp_num_layers")
OTHER_WIDTHS = ("embedding_size", "word_embed_proj_dim", "embed_dim", "embedding_dim", "emb_dim", "input_embedding_size", "d_embed")
MEND = "correct config.json, or save the weights that belong to it"


def run(release: Release) -> Iterator[Problem]:
    known = {model.folder for model, _ in release.comparisons}
    for model in release.models:
        if model.whole and model.config and not model.is_mlx:
            severity = "error" if model.folder in known else "warning"
            for pointer, message in [*layers(model, model.folder in known), *experts(model), *width(model, model.folder in known)]:
                yield CHECK.problem(Where(model.config_file, pointer=place(model) + pointer), message, MEND, severity)


def place(model: Model) -> str:
    key = next((k for k, v in model.config.items() if v is model.text), None)
    return f"/{key}" if key else ""


def layers(model: Model, known: bool) -> Iterator[tuple[str, str]]:
    """One stack of numbered layers, and its highest number is not the last one of the config."""
    wanted = model.layers
    if wanted is None or len(model.layer_numbers) != 1:
        return
    ((stem, numbers),) = model.layer_numbers.items()
    mtp = sum(as_size(model.text.get(key), 100) or 0 for key in MTP_KEYS)
    seen = max(numbers) + 1
    if seen > wanted + mtp:
        yield "/num_hidden_layers", f"is {wanted}, and the weights have {seen} layers ({stem}.0 to {stem}.{seen - 1})"
    elif seen < wanted and not known:  # where names are known, each missing tensor is told
        yield "/num_hidden_layers", f"is {wanted}, and the weights end with {stem}.{seen - 1}"


def experts(model: Model) -> Iterator[tuple[str, str]]:
    key = next((k for k in EXPERT_KEYS if as_size(model.text.get(k), 100_000)), None)
    if key is None:
        return
    stems: dict[str, int] = {}
    for stem, number in numbered(model.names, ".experts."):
        stems[stem] = max(number, stems.get(stem, -1))
    seen = max((number for stem, number in stems.items() if is_text(stem)), default=-1)
    if seen >= 0 and seen + 1 != model.text[key]:
        yield f"/{key}", f"is {model.text[key]}, and the weights have {seen + 1} experts"


def width(model: Model, known: bool) -> Iterator[tuple[str, str]]:
    """Columns of the one token embedding against hidden_size, for models that do not project it."""
    wanted = as_size(model.text.get("hidden_size"))
    if known or wanted is None or any(key in model.text for key in OTHER_WIDTHS):
        return
    found = [
        t
        for n, t in model.tensors.items()
        if n.endswith(EMBEDDINGS[:2]) and is_text(n) and len(t.shape) == 2 and t.dtype in ("BF16", "F16", "F32")
    ]
    if len(found) == 1 and found[0].shape[1] not in (0, wanted):
        yield "/hidden_size", f"is {wanted}, and {found[0].name} has {found[0].shape[1]} columns"


CHECK = Check("HR303", "config-mismatch", "sizes other than the tensors'", run)
