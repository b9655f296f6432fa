"""PEFT LoRA adapters of a release: the config, the tensors by module, and the modules that the config targets.

Rules of PEFT 0.21 (tuners/tuners_utils.py, utils/other.py): a list targets modules by full name or by ending, a string is
one expression that must match in full; ranks come from `r` or from the first key of rank_pattern that matches the ending.
Adapters of other kinds (peft_type other than LORA, mlx's own form) have no tensors here that could be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hubrelease.architectures import Shape
from hubrelease.containers import folder_of
from hubrelease.expected_tensors import LOGICAL, expected_weights
from hubrelease.models import Model, as_mapping, as_size, strings
from hubrelease.patterns import Budget, Matcher, PatternTooCostly
from hubrelease.weights import Tensor

if TYPE_CHECKING:
    from hubrelease.release import Release

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
PREFIX = "base_model.model."
PARTS = {
    "A.weight": "A", "B.weight": "B", "A.bias": "A bias", "B.bias": "B bias", "embedding_A": "embedding A", "embedding_B": "embedding B",
    "magnitude_vector": "magnitude", "magnitude_vector.weight": "magnitude",
}  # fmt: skip
SAVED = re.compile(r"(.*\.)?(modules_to_save|base_layer|token_adapter|original_module)(\.|$)")
REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
LAYER = re.compile(r"[^.]*\.(\d{1,6})\.")
MAX_KEYS = 10_000


@dataclass
class LoraModule:
    """A module of the base and the adapter's tensors for it."""

    name: str
    parts: dict[str, Tensor] = field(default_factory=dict)

    @property
    def rank(self) -> int | None:
        """The rank that its tensors show: rows of A, or columns of B."""
        for part, axis in (("A", 0), ("embedding A", 0), ("B", 1), ("embedding B", 1)):
            tensor = self.parts.get(part)
            if tensor and len(tensor.shape) > axis and tensor.shape[axis]:
                return tensor.shape[axis]
        return None


class Adapter:
    """A folder with an adapter_config.json."""

    def __init__(self, release: Release, config_file: str) -> None:
        self.release, self.config_file, self.folder = release, config_file, folder_of(config_file)

    @property
    def weights_file(self) -> str:
        return f"{self.folder}/{WEIGHTS}" if self.folder else WEIGHTS

    @cached_property
    def config(self) -> Mapping[str, Any]:
        return self.release.config(self.config_file)

    @cached_property
    def is_peft(self) -> bool:
        return isinstance(self.config.get("peft_type"), str) or "base_model_name_or_path" in self.config

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors of a LoRA adapter; empty for other kinds and where the file can't be read."""
        container = self.release.containers.all.get(self.weights_file)
        kind = self.config.get("peft_type")
        readable = container is not None and container.header is not None and kind == "LORA"
        return container.header.tensors if readable and container and container.header else ()

    @cached_property
    def modules(self) -> Mapping[str, LoraModule]:
        found: dict[str, LoraModule] = {}
        for tensor in self.tensors:
            module, _, part = self.split(tensor.name)
            if part:
                found.setdefault(module, LoraModule(module)).parts[part] = tensor
        return found

    @staticmethod
    def split(name: str) -> tuple[str, str, str | None]:
        """(module, what follows it, part) of a tensor's name; part is None for what is no LoRA tensor that PEFT reads."""
        module, _, rest = name.rpartition(".lora_")
        return module.removeprefix(PREFIX), rest, PARTS.get(rest) if name.startswith(PREFIX) else None

    @cached_property
    def base(self) -> Model | None:
        """The base model, where the same release holds it."""
        return next((m for m in self.release.models if m.folder == "" and m.whole), None)

    # ------------------------------------------------------------------------------------------------------- ranks

    @cached_property
    def rank(self) -> int | None:
        return as_size(self.config.get("r"))

    @cached_property
    def ranks(self) -> Mapping[str, int] | None:
        """{module: rank that the config gives}; None where r is no number or the patterns cost too much."""
        if self.rank is None:
            return None
        found = dict.fromkeys(self.modules, self.rank)
        todo = set(self.modules)
        budget = Budget()
        for key, rank in list(as_mapping(self.config.get("rank_pattern")).items())[:MAX_KEYS]:
            try:
                hits = Matcher(rf"(.*\.)?({key})$", budget=budget).select(todo)
            except PatternTooCostly:
                return None
            if size := as_size(rank):
                found.update(dict.fromkeys(hits, size))
                todo.difference_update(hits)
        return found

    # ------------------------------------------------------------------------------------------------------- targets

    @cached_property
    def untargeted(self) -> tuple[str, ...] | PatternTooCostly:
        """Modules with tensors that the config does not target: PEFT never creates them."""
        try:
            return tuple(self.without_target())
        except PatternTooCostly as costly:
            return costly

    def without_target(self) -> Iterator[str]:
        wanted, names = self.config.get("target_modules"), [name for name, module in self.modules.items() if module.parts]
        everything = isinstance(wanted, str) and wanted.lower() == "all-linear"
        if not isinstance(wanted, (str, list)) or not wanted or everything or self.config.get("target_parameters"):
            return
        if isinstance(wanted, str):
            hits = set(Matcher(wanted, "fullmatch").select(names))
        else:
            hits = {name for name in names if is_named(name, frozenset(strings(wanted))) and self.in_layers(name)}
        yield from (name for name in names if name not in hits)

    def in_layers(self, name: str) -> bool:
        """True if layers_to_transform lets the module be: no such list, or its first layer number is on it."""
        layers = self.config.get("layers_to_transform")
        if layers in (None, []) or self.config.get("layers_pattern"):
            return True
        number = LAYER.search(f".{name}.")
        return number is not None and int(number[1]) in (layers if isinstance(layers, list) else [layers])


def is_named(module: str, wanted: frozenset[str]) -> bool:
    """True if one of `wanted` is the module's name, or its ending behind a dot."""
    if module in wanted:
        return True
    position = module.find(".")
    while position >= 0:
        if module[position + 1 :] in wanted:
            return True
        position = module.find(".", position + 1)
    return False


def adapters(release: Release) -> Iterator[Adapter]:
    for path in sorted(release.files):
        if path.rpartition("/")[2] == CONFIG:
            yield Adapter(release, path)


def logical_shapes(model: Model) -> Mapping[str, Shape]:
    """{module: logical shape of its weight}: as the architecture has it, else as an unquantised tensor shows it."""
    found = {n.removesuffix(".weight"): t.shape for n, t in model.tensors.items() if n.endswith(".weight") and t.dtype in LOGICAL}
    return {**{module: shape for module, shape in expected_weights(model).items() if module in model.parents}, **found}


def local_path(said: str) -> str | None:
    """Why `said` is a place on one machine rather than a repository of the Hub, or None."""
    if re.match(r"[A-Za-z]:[\\/]|\\\\", said):
        return "a path of a Windows machine"
    if said.startswith(("/", "~", "./", "../", ".\\", "..\\", "file:")) or said in (".", ".."):
        return "a path of the maker's machine"
    if "\\" in said or said.count("/") > 1 or said.endswith("/"):
        return "a path, not a repository of the Hub"
    return None if REPOSITORY.fullmatch(said) else "no repository id"
