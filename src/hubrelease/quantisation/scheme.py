"""What a config says about quantisation, whichever method it names: groups of modules with a Layout, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hubrelease.patterns import Budget, Matcher
from hubrelease.quantisation import rules
from hubrelease.quantisation.layout import Layout
from hubrelease.quantisation.rules import Entry, Excluded, Names
from hubrelease.strict_yaml import pointer_to

ListReader = Callable[[Names, Iterable[Entry], Budget], Excluded]


@dataclass(frozen=True, slots=True)
class ConfigFault:
    """Something in the block that readers refuse (error) or may refuse (warning)."""

    kind: str
    pointer: str
    message: str
    mend: str
    severity: str = "error"


@dataclass(frozen=True, slots=True)
class Group:
    """Modules that share a Layout. `targets` are names, `re:` patterns or class names; None means every linear.

    `layout` is None for a format that hubrelease does not know by heart: then only presence is looked at.
    """

    layout: Layout | None
    targets: tuple[str, ...] | None = None
    pointer: str = ""


@dataclass(frozen=True)
class Scheme:
    """A quantisation block. `file` and `pointer` say where it stands.

    `thorough`: every linear that is not excluded is declared quantised. `scope` is a part of the names of the
    modules that the block is about ("" for all). `blind` are parts of names whose modules the block does not describe well enough to judge.
    """

    method: str
    file: str
    pointer: str
    block: Mapping[str, Any]
    groups: tuple[Group, ...]
    exclusions: tuple[Entry, ...] = ()
    list_reader: ListReader = rules.named_list
    layers: Mapping[str, Layout | None] | None = None
    thorough: bool = False
    scope: str = ""
    blind: tuple[str, ...] = ()
    static_kv: bool = False
    release_format: str | None = None
    faults: tuple[ConfigFault, ...] = ()

    @property
    def layouts(self) -> tuple[Layout, ...]:
        found = [group.layout for group in self.groups] + list((self.layers or {}).values())
        return tuple(dict.fromkeys(layout for layout in found if layout is not None))


@dataclass(frozen=True, slots=True)
class Declared:
    """What the block says of one module: `state` is quantised, excluded, either (readers differ) or unknown."""

    state: str
    layout: Layout | None = None
    entry: Entry | None = None
    named: bool = False  # by name or pattern, not merely as one of its class


@dataclass
class Declaration:
    """A Scheme applied to the modules of a checkpoint. Raises PatternTooCostly when made."""

    scheme: Scheme
    names: Names
    excluded: Excluded = field(init=False)
    named: dict[str, Group] = field(init=False, default_factory=dict)
    keys: dict[str, str] = field(init=False, default_factory=dict)
    unused_targets: list[Entry] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        budget = Budget()
        self.excluded = self.scheme.list_reader(self.names, unique(self.scheme.exclusions), budget)
        if self.scheme.layers is not None:
            self.keys = rules.layer_map(self.names, self.scheme.layers)
        self.by_class: Group | None = None
        self.strange_class = False  # LlamaAttention, FusedMoE, …: which modules are of that class can't be told from names
        self.scoped = bool(self.scheme.scope) and any(self.scheme.scope in name for name in self.names.all)
        for group in self.scheme.groups:
            for number, target in enumerate(group.targets or ()):
                self.read_target(group, target, Entry(target, f"{group.pointer}/targets/{number}"), budget)
            if group.targets is None and self.by_class is None:
                self.by_class = group

    def read_target(self, group: Group, target: str, entry: Entry, budget: Budget) -> None:
        if target.startswith("re:"):
            regex = Matcher(target[3:], budget=budget)
            if regex.fault:
                self.excluded.faults[entry] = regex.fault
            found = regex.select(self.names.all)
        elif target in self.names.set:
            found = [target]
        elif "." not in target:  # the name of a class
            if "Linear" in target and self.by_class is None:
                self.by_class = group
            self.strange_class = self.strange_class or "Linear" not in target
            return
        else:
            found = rules.respelt(self.names, target)
        if not found:
            self.unused_targets.append(entry)
        for name in found:
            self.named.setdefault(name, group)

    def of(self, name: str) -> Declared:
        """What the block says of the module `name`."""
        scheme = self.scheme
        if (self.scoped and scheme.scope not in name) or any(word in name for word in scheme.blind):
            return Declared("unknown")
        if entry := self.excluded.plain.get(name):
            return Declared("excluded", entry=entry)
        doubt = self.excluded.rule(name)
        if scheme.layers is not None:
            return self.of_map(name, doubt)
        group = self.named.get(name) or self.by_class
        if group is None:
            nobody = doubt or Entry("no target names it", f"{scheme.pointer}/config_groups")
            return Declared("excluded" if scheme.thorough and not self.strange_class else "unknown", entry=nobody)
        state = "either" if doubt else "quantised" if scheme.thorough else "unknown"
        return Declared(state, group.layout, doubt, name in self.named)

    def of_map(self, name: str, doubt: Entry | None) -> Declared:
        assert self.scheme.layers is not None
        key = self.keys.get(name)
        if key is None and not self.scheme.thorough:
            return Declared("unknown")
        if key is None:
            pointer = f"{self.scheme.pointer}/quantized_layers"
            return Declared("either" if doubt else "excluded", entry=doubt or Entry("quantized_layers does not name it", pointer))
        return Declared("either" if doubt else "quantised", self.scheme.layers[key], doubt, True)


def unique(entries: Iterable[Entry]) -> list[Entry]:
    return list({entry.text: entry for entry in reversed(tuple(entries))}.values())[::-1]


# ------------------------------------------------------------------------------------------- reading hostile JSON values


def entries_of(block: Mapping[str, Any], key: str, pointer: str) -> tuple[Entry, ...]:
    """The strings of a list."""
    value = block.get(key)
    rows = value if isinstance(value, list) else ()
    return tuple(Entry(text, pointer + pointer_to(key, number)) for number, text in enumerate(rows) if isinstance(text, str) and text)


def positive(value: object) -> int | None:
    """A positive integer below 2^31; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else None


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def shown(value: object) -> str:
    """A value of any type, short enough for a message."""
    text = str(value) if isinstance(value, (str, int, float, bool, type(None))) and not isinstance(value, int) else repr(value)[:80]
    return text if len(text) <= 80 else text[:77] + "..."
