"""A weight set held against the quantisation that its config declares: what the checks on quantisation look at.

Everything is worked out once. Where shards are absent or can't be read, `complete` is False and nothing may be said of what
is missing. Where a pattern of the config takes too long, `costly` names it and the declaration stands for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from hubrelease import quantisation
from hubrelease.containers import SINGLE, Located, WeightSet
from hubrelease.patterns import PatternTooCostly
from hubrelease.quantisation import values
from hubrelease.quantisation.layout import Layout, Part
from hubrelease.quantisation.modules import SCALES, Module, gather, is_linear
from hubrelease.quantisation.part_faults import PartFault, judge
from hubrelease.quantisation.rules import Names, ancestors
from hubrelease.quantisation.scheme import Declaration, Declared, Scheme, mapping
from hubrelease.quantisation.values import Reading

if TYPE_CHECKING:
    from hubrelease.release import Release

DIGITS = re.compile(r"\d+")
UNKNOWN = Declared("unknown")


class Scale(NamedTuple):
    """A scale: the module that it belongs to, its part of the module's Layout (None: not known), its tensor and what it holds."""

    module: str
    part: Part | None
    located: Located
    reading: Reading

    @property
    def name(self) -> str:
        return self.located.tensor.name


class Quantised:
    """One weight set and its Scheme (None: nothing is declared, or in a method that is not known)."""

    def __init__(self, release: Release, weights: WeightSet) -> None:
        self.release, self.weights = release, weights
        self.prefix = f"{weights.folder}/" if weights.folder else ""
        self.config_file = self.prefix + quantisation.CONFIG
        self.config: Mapping[str, Any] = release.config(self.config_file)
        self.second: Mapping[str, Any] = release.config(self.prefix + quantisation.MODELOPT_CONFIG)

    @cached_property
    def scheme(self) -> Scheme | None:
        return quantisation.read(self.config, self.second, self.prefix)

    @cached_property
    def declared_at_all(self) -> bool:
        """True if some block is there, in whatever method."""
        return next(quantisation.blocks(self.config), None) is not None or bool(mapping(self.second.get("quantization")))

    # ----------------------------------------------------------------------------------------------------- what is found

    @cached_property
    def modules(self) -> dict[str, Module]:
        return gather(self.weights.tensors)

    @cached_property
    def quantised(self) -> dict[str, Module]:
        """Modules that hold quantised codes."""
        return {name: module for name, module in self.modules.items() if name and module.codes is not None}

    @cached_property
    def complete(self) -> bool:
        """True if every file of the set is here and holds what the index says."""
        containers = self.release.containers.all
        if any(file not in containers or containers[file].header is None for file in self.weights.files):
            return False
        index = self.weights.index
        return index is None or self.weights.files == (self.prefix + SINGLE,) or len(self.weights.tensors) >= len(index.weight_map)

    @cached_property
    def parents(self) -> frozenset[str]:
        """Every path that some module lies below."""
        return frozenset(parent for name in self.modules for parent in ancestors(name))

    @cached_property
    def outside(self) -> dict[str, frozenset[str]]:
        """{file: names} of the containers in the same folder that are no part of the set."""
        containers = self.release.containers.all
        others = [c for path, c in containers.items() if path.rpartition("/")[0] == self.weights.folder and path not in self.weights.files]
        return {c.file: frozenset(t.name for t in c.header.tensors) for c in others if c.header}

    @cached_property
    def roles(self) -> frozenset[str]:
        """The quantised modules' names with every number replaced: what is quantised in some layer."""
        return frozenset(role(name) for name in self.quantised)

    # -------------------------------------------------------------------------------------------------- what is declared

    @cached_property
    def applied(self) -> Declaration | PatternTooCostly | None:
        if self.scheme is None:
            return None
        try:
            return Declaration(self.scheme, Names(self.modules))
        except PatternTooCostly as costly:
            return costly

    @property
    def costly(self) -> PatternTooCostly | None:
        return self.applied if isinstance(self.applied, PatternTooCostly) else None

    @property
    def declaration(self) -> Declaration | None:
        return self.applied if isinstance(self.applied, Declaration) else None

    @cached_property
    def declared(self) -> dict[str, Declared]:
        """What the block says of each module that is quantised or could be."""
        applied = self.declaration
        names = (name for name, module in self.modules.items() if name and (module.codes is not None or is_linear(module)))
        return {name: applied.of(name) if applied else UNKNOWN for name in names}

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        """The Layout that each quantised module is held against: the declared one, or the only one of the block that its codes fit."""
        found = {}
        for name, module in self.quantised.items():
            declared = self.declared[name]
            layout = declared.layout if declared.state in ("quantised", "either", "unknown") else None
            if layout is not None and not module.stacked:
                found[name] = layout
        return found

    @cached_property
    def part_faults(self) -> tuple[PartFault, ...]:
        """What is wrong with the tensors of each module, going by its Layout."""
        return tuple(fault for name, layout in self.layouts.items() for fault in self.faults_of(self.quantised[name], layout))

    def faults_of(self, module: Module, layout: Layout) -> Iterator[PartFault]:
        for fault in judge(module, layout, self.used_parts):
            if fault.kind != "scale-missing" or not self.shared_scale(module):
                yield fault

    @cached_property
    def used_parts(self) -> frozenset[tuple[str, str]]:
        """(layout's name, leaf) of the parts that some module has: where one has it, all need it."""
        layouts = self.layouts
        return frozenset((layout.name, leaf) for name, layout in layouts.items() for leaf in self.quantised[name].parts)

    def shared_scale(self, module: Module) -> bool:
        """True where transformers wrote one scale for all experts of a layer beside weights that it split again."""
        parent, _, leaf = module.name.rpartition(".")
        experts, _, number = parent.rpartition(".")
        stacked = "gate_up_proj" if leaf in ("gate_proj", "up_proj") else leaf
        return number.isdecimal() and f"{experts}.{stacked}" in self.modules

    @cached_property
    def signatures(self) -> dict[str, str]:
        """How each module lies on disk, in a few words: two modules of one format have the same."""
        layouts = self.layouts
        return {name: signature(m, layouts.get(name)) for name, m in self.modules.items() if name in self.quantised or is_linear(m)}

    # --------------------------------------------------------------------------------------------------- what scales hold

    @cached_property
    def scales(self) -> tuple[Scale, ...]:
        """Every scale that was read (see values.read_all), with its part where the module's Layout is known. OSError."""
        known: dict[str, tuple[str, Part | None]] = {}
        rows = []
        parts_of = {layout.name: {leaf: part for part in layout.parts for leaf in part.names} for layout in self.layouts.values()}
        for name, module in self.modules.items():
            layout = self.layouts.get(name)
            parts = parts_of[layout.name] if layout else {}
            for leaf, located in module.parts.items():
                if leaf in SCALES and not (leaf == "scale" and module.codes is None):
                    tensor = located.tensor.name
                    known[tensor] = (name, parts.get(leaf))
                    rows.append((tensor, located))
        found = []
        for tensor, located, data in values.read_all(self.release, rows):
            owner, part = known[tensor]
            found.append(Scale(owner, part, located, values.read(number_of(part, located), data)))
        return tuple(found)


def number_of(part: Part | None, located: Located) -> str:
    """U8 scales of MX formats are exponents; other bytes are just bytes."""
    exponents = part.value == "exponent" if part is not None else located.tensor.name.endswith("_scales")
    return "F8_E8M0" if located.tensor.dtype == "U8" and exponents else located.tensor.dtype


def signature(module: Module, layout: Layout | None) -> str:
    """The format of a module; companions that are missing or misnamed make no other format of it."""
    codes = module.codes
    if codes is None:
        return "not quantised"
    return f"{codes.tensor.dtype} ({layout.name})" if layout else codes.tensor.dtype


def role(name: str) -> str:
    return DIGITS.sub("*", name)


def quantised_sets(release: Release) -> tuple[Quantised, ...]:
    """One Quantised for each folder with weights and a config.json."""
    return tuple(
        Quantised(release, found) for found in release.containers.sets if release.config(f"{found.folder}/config.json".lstrip("/"))
    )


# ------------------------------------------------------------------------------------------------------ fused projections

FUSED = (
    ("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"), ("w1", "w3"), ("in_proj_qkv", "in_proj_z"), ("in_proj_b", "in_proj_a"),
    ("q_a_proj", "kv_a_proj_with_mqa"),
)  # fmt: skip
MEMBERS = {leaf: group for group in FUSED for leaf in group}


def fused_groups(names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """(parent, modules) of every set of projections that runtimes put into one matrix, as far as two of it are there."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name in names:
        parent, _, leaf = name.rpartition(".")
        if leaf in MEMBERS:
            groups.setdefault((parent, MEMBERS[leaf]), []).append(name)
    for (parent, _), found in groups.items():
        if len(found) > 1:
            yield parent, found


# -------------------------------------------------------------------------------------------------------------- wording


def few(names: Iterable[str], limit: int = 3) -> str:
    """The first names of a list, and how many more there are."""
    names = list(names)
    shown = ", ".join(name[:150] for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def gathered(rows: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, list[str]]]:
    """(file, sentence, names) of rows (file, sentence, name): one finding for all that is wrong in one way in one file.

    Sentences that differ only in their numbers are one; the first stands for all.
    """
    found: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for file, sentence, name in rows:
        found.setdefault((file, DIGITS.sub("*", sentence)), (sentence, []))[1].append(name)
    for (file, _), (sentence, names) in found.items():
        yield file, sentence, names
