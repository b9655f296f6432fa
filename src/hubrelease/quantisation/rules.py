"""Which modules a config quantises, as its readers decide: exact names, prefixes, suffixes, substrings, wildcards, `re:`.

Readers of one format differ (formats.md B.5, D.1, E.2), so each entry of an exclusion list has three kinds of matches: what
it plainly names (the module, its tree, what its pattern says); what it may name under another spelling of the same path; and
what some reader takes by accident, through an ending or a part of a name that is no whole component. A module can be called
wrongly quantised only by the first, and wrongly left alone only if there is none of the three.

Sources of the rules: transformers 5.24.0 quantizers/quantizers_utils.py; vLLM 0.32.0 quant_utils.py is_layer_skipped,
modelopt.py is_layer_excluded; compressed-tensors 0.20.1 utils/match.py.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hubrelease.patterns import Budget, Matcher, PatternTooCostly

PLAIN = re.compile(r"[\w.\-]+\Z")  # taken as a name; a dot in it is a dot
BOUNDARY = r"(?:(?<=\.)|(?=\.|$))"  # transformers ends a match of modules_to_not_convert at a module


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of an exclusion list, and where it stands."""

    text: str
    pointer: str


@dataclass(slots=True)
class Excluded:
    """{module: entry} of the matches that are plain, possible and accidental; `used` entries matched something."""

    plain: dict[str, Entry] = field(default_factory=dict)
    possible: dict[str, Entry] = field(default_factory=dict)
    accidental: dict[str, Entry] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    faults: dict[Entry, str] = field(default_factory=dict)

    def add(self, entry: Entry, plain: Iterable[str], possible: Iterable[str] = (), accidental: Iterable[str] = ()) -> None:
        for found, names in ((self.plain, plain), (self.possible, possible), (self.accidental, accidental)):
            for name in names:
                found.setdefault(name, entry)
                self.used.add(entry.text)

    def rule(self, name: str) -> Entry | None:
        """The entry by which a reader may leave this module alone."""
        return self.plain.get(name) or self.possible.get(name) or self.accidental.get(name)


MAX_WORK = 20_000_000  # names looked at in all; a list that asks for more was made to hang a reader


class Names:
    """The modules of a checkpoint, sorted, with what the rules ask of them. PatternTooCostly where a list asks for too much."""

    def __init__(self, names: Iterable[str]) -> None:
        self.all = sorted(names)
        self.set = frozenset(self.all)
        self.work = 0

    @cached_property
    def reversed(self) -> list[str]:
        return sorted(name[::-1] for name in self.all)

    @cached_property
    def roots(self) -> frozenset[str]:
        return frozenset(name.partition(".")[0] for name in self.all)

    @cached_property
    def nested(self) -> bool:
        """True if a first component of some name stands further inside a name as well: language_model.model.layers."""
        return len(self.roots) > 50 or any(f".{root}." in name for root in self.roots for name in self.all)

    def starting(self, text: str) -> list[str]:
        return self.spend(text, between(self.all, text))

    def under(self, name: str) -> list[str]:
        """The module of this name and all below it."""
        found = self.starting(name + ".")
        return [name, *found] if name in self.set else found

    def ending(self, text: str) -> list[str]:
        return [name[::-1] for name in self.spend(text, between(self.reversed, text[::-1]))]

    def containing(self, text: str) -> list[str]:
        root = text.partition(".")[0]
        if "." in text and root in self.roots and not self.nested:
            return self.starting(text)
        self.spend(text, self.all)
        return [name for name in self.all if text in name]

    def spend(self, text: str, found: list[str]) -> list[str]:
        self.work += len(found)
        if self.work > MAX_WORK:
            raise PatternTooCostly(text)
        return found


def between(ordered: list[str], start: str) -> list[str]:
    """Those of a sorted list that begin with `start`."""
    return ordered[bisect_left(ordered, start) : bisect_left(ordered, start + "\U0010ffff")]


def ancestors(name: str) -> Iterator[str]:
    """The path above a name, the nearest first."""
    at = name.rfind(".")
    while at > 0:
        yield name[:at]
        at = name.rfind(".", 0, at)


# Spellings under which transformers and vLLM keep the parts of a multimodal model; exclusion lists use either.
SPELLINGS = (("model.language_model.", "language_model.model."), ("model.visual.", "visual."), ("model.language_model.", "model."))


def spellings(name: str) -> Iterator[str]:
    """Other names that the same module may have in a list."""
    for one, other in SPELLINGS:
        if name.startswith(one):
            yield other + name[len(one) :]
        elif name.startswith(other):
            yield one + name[len(other) :]
    for part in ("model.", "language_model."):
        yield part + name
        if name.startswith(part):
            yield name[len(part) :]


# What vLLM calls the projections that it keeps in one matrix; some lists name that matrix, while the checkpoint has its parts.
WHOLE = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj"), "in_proj_qkvz": ("in_proj_qkv", "in_proj_z"),
    "in_proj_ba": ("in_proj_b", "in_proj_a"), "fused_qkv_a_proj": ("q_a_proj", "kv_a_proj_with_mqa"), "w13": ("w1", "w3"),
}  # fmt: skip


def respelt(names: Names, entry: str) -> list[str]:
    """Modules that an entry may mean in another spelling of its path, or as one fused matrix."""
    parent, dot, leaf = entry.rpartition(".")
    others = [*spellings(entry), *(f"{parent}{dot}{part}" for part in WHOLE.get(leaf, ()))]
    return [found for other in others for found in names.under(other)]


# --------------------------------------------------------------------------------------------- one function a kind of list


def transformers_list(names: Names, entries: Iterable[Entry], budget: Budget) -> Excluded:
    """`modules_to_not_convert` of block FP8: a tree, a regex that ends at a module, or the end of a name (boundary or not)."""
    found = Excluded()
    for entry in entries:
        if PLAIN.match(entry.text):
            tree = names.under(entry.text)
            ends = [] if tree and entry.text.count(".") > 1 else names.ending(entry.text)  # a long name that is there ends no other
            whole = [name for name in ends if name == entry.text or name.endswith("." + entry.text)]
            found.add(entry, [*tree, *whole], respelt(names, entry.text), sorted(set(ends).difference(whole)))
        else:
            regex = Matcher(f"(?:{entry.text}){BOUNDARY}", budget=budget)
            if regex.fault:
                found.faults[entry] = regex.fault
            found.add(entry, regex.select(names.all), accidental=names.ending(entry.text))
    return found


def compressed_list(names: Names, entries: Iterable[Entry], budget: Budget) -> Excluded:
    """`ignore` of compressed-tensors: full names, or `re:` with re.match; the same in every reader."""
    found = Excluded()
    for entry in entries:
        if entry.text.startswith("re:"):
            regex = Matcher(entry.text[3:], budget=budget)
            if regex.fault:
                found.faults[entry] = regex.fault
            found.add(entry, regex.select(names.all))
        else:
            found.add(entry, [entry.text] if entry.text in names.set else [], respelt(names, entry.text))
    return found


def modelopt_list(names: Names, entries: Iterable[Entry], budget: Budget) -> Excluded:
    """`ignore` and `exclude_modules` of ModelOpt: wildcards; vLLM takes an entry also as any part of a name."""
    found = Excluded()
    for entry in entries:
        plain = names.under(entry.text) if PLAIN.match(entry.text) else wildcard(names, entry, budget)
        part = entry.text[:-1] if re.search(r"[^.]\*\Z", entry.text) else entry.text
        others = set(names.containing(part)).difference(plain) if PLAIN.match(part) else ()
        found.add(entry, plain, respelt(names, part), sorted(others))
    tower = Entry("vLLM's own rule on vision towers", "")
    for word in ("vision_tower", "vision_model", "vit_large_projector"):
        found.add(tower, (), names.containing(word))
    return found


def wildcard(names: Names, entry: Entry, budget: Budget) -> list[str]:
    """What fnmatch finds. `prefix*` is ModelOpt's own form for a whole tree; it is looked up without a pattern."""
    head = entry.text.rstrip("*")
    if PLAIN.match(head):
        return names.starting(head)
    return Matcher(entry.text, "fnmatch", budget).select(names.all)


def named_list(names: Names, entries: Iterable[Entry], budget: Budget) -> Excluded:
    """Lists of the other methods: the name of a module, of a tree, or of components in the middle of a path."""
    found = Excluded()
    for entry in entries:
        if PLAIN.match(entry.text):
            inside = names.containing(entry.text)
            whole = [name for name in inside if f".{entry.text}." in f".{name}."]
            found.add(entry, whole, (), sorted(set(inside).difference(whole)))
        else:
            found.add(entry, (), Matcher(entry.text, "fnmatch", budget).select(names.all))
    return found


def layer_map(names: Names, layers: Mapping[str, object]) -> dict[str, str]:
    """{module: key} of a `quantized_layers` map: a key names a module or the tree below it, the longest key wins."""
    found: dict[str, str] = {}
    for key in sorted(layers, key=len):
        for spelt in (key, *spellings(key)):
            for name in names.under(spelt):
                if spelt == key or name not in found:
                    found[name] = key
    return found
