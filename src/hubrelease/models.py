"""The models of a release: each folder's config.json beside the tensors that a loader takes from that folder.

A Model answers what several checks ask: which names are there, which are only promised by an index, what the text part
of a nested config says, how many rows the token embedding has. It reads headers and JSON, never a weight, and takes
nothing of a config for granted: every value may be of any JSON type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hubrelease.containers import Container, WeightSet, folder_of
from hubrelease.weights import Tensor

if TYPE_CHECKING:
    from hubrelease.release import Release

MAX_LAYERS = 10_000
TEXT_CONFIGS = ("text_config", "llm_config", "language_config", "decoder")
NOT_TEXT = re.compile(r"(^|[._])(visual|vision\w*|vit|image\w*|audio\w*|speech\w*|mm|mtp|nextn|draft|lora_\w+|perceiver|resampler)([._]|$)")
EMBEDDINGS = (
    "embed_tokens.weight", "word_embeddings.weight", "wte.weight", "embed_in.weight", "tok_embeddings.weight", "shared.weight",
    "embed_tokens.weight_packed", "embed_tokens.qweight",
)  # fmt: skip
EXTRA_EMBEDDING = "additional_embedding.weight"
MTP_WORDS = ("mtp", "nextn")
HEADS = ("lm_head", "embed_out", "output_projection", "proj_out", "score", "classifier", "cls", "lm_heads")


def as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def as_size(value: object, limit: int = 2**31) -> int | None:
    """A count or a dimension of a config; None where it is no plain positive number."""
    return value if type(value) is int and 0 < value < limit else None


def strings(value: object) -> tuple[str, ...]:
    """The strings of a list, or of a single string."""
    return (value,) if isinstance(value, str) else tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


class Model:
    """One folder of weights with its config; `weights` is None where the folder has a config.json and no weight set."""

    def __init__(self, release: Release, folder: str, weights: WeightSet | None) -> None:
        self.release, self.folder, self.weights = release, folder, weights

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name

    @cached_property
    def config_file(self) -> str:
        return self.path("config.json")

    @cached_property
    def config(self) -> Mapping[str, Any]:
        return self.release.config(self.config_file)

    @cached_property
    def text(self) -> Mapping[str, Any]:
        """The part of the config that describes the language model: a nested one where there is one, else the whole."""
        thinker = as_mapping(self.config.get("thinker_config"))
        for holder in (self.config, thinker):
            for key in TEXT_CONFIGS:
                if as_mapping(holder.get(key)):
                    return as_mapping(holder[key])
        return self.config

    @cached_property
    def model_type(self) -> str:
        value = self.config.get("model_type")
        return value if isinstance(value, str) else ""

    @cached_property
    def architecture(self) -> str:
        """The first of `architectures`, which is the one that loaders take."""
        return next(iter(strings(self.config.get("architectures"))), "")

    @cached_property
    def is_mlx(self) -> bool:
        """True where mlx wrote the weights: it renames and stacks tensors of many architectures."""
        formats = {c.header.metadata.get("format") for c in self.containers if c.header}
        return "mlx" in formats or isinstance(self.config.get("quantization"), dict)

    # ---------------------------------------------------------------------------------------------------- tensors

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """Every safetensors file of the folder that is no adapter, the ones outside the index included."""
        found = self.release.containers.all.items()
        return tuple(c for path, c in found if folder_of(path) == self.folder and not path.endswith("adapter_model.safetensors"))

    @cached_property
    def whole(self) -> bool:
        """True if every file of the weight set is here and has a readable header: only then is an absent name a fault."""
        if self.weights is None or not self.weights.files or (self.weights.index and self.weights.index.fault):
            return False
        known = self.release.containers.all
        return all(path in known and known[path].header is not None for path in self.weights.files)

    @cached_property
    def tensors(self) -> Mapping[str, Tensor]:
        """{name: Tensor} of what a loader takes from this folder."""
        return {name: found.tensor for name, found in self.weights.tensors.items()} if self.weights else {}

    @cached_property
    def names(self) -> frozenset[str]:
        """Names that are in the weight set, or that its index promises: those are another check's finding."""
        promised = self.weights.index.weight_map if self.weights and self.weights.index else {}
        return frozenset(self.tensors).union(promised)

    @cached_property
    def all_names(self) -> frozenset[str]:
        """`names`, and those of the folder's files outside the index."""
        return self.names | {t.name for c in self.containers if c.header for t in c.header.tensors}

    @cached_property
    def parents(self) -> frozenset[str]:
        """What holds tensors other than a bias: modules, whatever their format calls its tensors (weight, qweight, trellis, …)."""
        found: set[str] = set()
        for name in self.names:
            parent, _, leaf = name.rpartition(".")
            if not leaf.endswith("bias"):  # a router keeps e_score_correction_bias beside its weight
                found.add(parent.removesuffix(".weight"))
        return frozenset(found)

    @cached_property
    def weights_file(self) -> str:
        """Where a finding on the weights as a whole belongs: the index, or the single file."""
        assert self.weights is not None
        return self.weights.index.file if self.weights.index and len(self.weights.files) > 1 else self.weights.files[0]

    # ------------------------------------------------------------------------------------------------- language model

    @cached_property
    def layers(self) -> int | None:
        return as_size(self.text.get("num_hidden_layers"), MAX_LAYERS)

    @cached_property
    def all_text(self) -> str:
        """Every name on a line of its own: one search through it is far cheaper than one a name."""
        return "\n".join(("", *self.all_names, ""))

    @cached_property
    def layer_numbers(self) -> Mapping[str, frozenset[int]]:
        """{"model.layers": {0, 1, …}} of the stacks of the language model, vision, audio and MTP left out."""
        found: dict[str, set[int]] = {}
        for stem, number in numbered(self.all_names, "layers."):
            if is_text(stem):
                found.setdefault(stem, set()).add(number)
        return {stem: frozenset(numbers) for stem, numbers in found.items()}

    @cached_property
    def mtp_layers(self) -> int:
        """Layers behind the last main one; 1000 where an MTP head has names of its own, whatever its size."""
        if any(word in self.all_text for word in MTP_WORDS):
            return 1000
        return len({n for numbers in self.layer_numbers.values() for n in numbers if n >= (self.layers or 0)})

    @cached_property
    def embedding_rows(self) -> int | None:
        """Rows of the token embedding, additional rows of decoupled embeddings included; None where no tensor is known as such."""
        named = [(name, t.shape) for name, t in self.tensors.items() if name.endswith((*EMBEDDINGS, EXTRA_EMBEDDING))]
        rows = [shape[0] for name, shape in named if len(shape) > 1 and not name.endswith(EXTRA_EMBEDDING) and is_text(name)]
        extra = [shape[0] for name, shape in named if shape and name.endswith(EXTRA_EMBEDDING)]
        return max(rows) + max(extra, default=0) if rows and max(rows) > 0 else None

    @cached_property
    def has_head(self) -> bool:
        """True if any tensor looks like an output head, whatever its architecture calls it."""
        high = (parent for parent in self.parents if parent.count(".") < 4)
        return any(part in HEADS or part.endswith("_head") for parent in high for part in parent.split("."))


def numbered(names: Iterable[str], word: str) -> Iterator[tuple[str, int]]:
    """(stem, number) for each `stem.number.` in the names, where the stem ends with `word`; each pair once."""
    length = len(word)
    heads = {name[: name.find(".", at + length)] for name in names if (at := name.find(word)) >= 0}
    for head in heads:
        stem, _, number = head.rpartition(".")
        if number.isascii() and number.isdigit() and len(number) < 6 and f".{stem}.".endswith(f".{word.lstrip('.')}"):
            yield stem, int(number)


def is_text(name: str) -> bool:
    return NOT_TEXT.search(name) is None


def models(release: Release) -> Iterator[Model]:
    """Every folder with weights, the root first; the root also where it has a config and no safetensors (GGUF, ONNX, …)."""
    sets = {found.folder: found for found in release.containers.sets}
    if "" not in sets and "config.json" in release.files:
        yield Model(release, "", None)
    for folder, found in sorted(sets.items()):
        yield Model(release, folder, found)
