"""What a checkpoint of a known architecture holds: names and logical shapes, from its config alone.

One file a family; its FAMILY says which `model_type` and `architectures` it knows and yields an Expected for each tensor.
A family stands here only if its names and shapes were compared with checkpoints that the real library wrote
(tests/data/architectures). For every other model type nothing is expected. Sizes that a config lacks or garbles raise
Unknown, and then nothing is expected either: a wrong guess would cry wolf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from hubrelease.family import members

MAX_SIZE = 2**28  # of one dimension; the largest vocabulary in use is below 2**20
MAX_COUNT = 10_000  # of layers, blocks or experts

Shape = tuple[int, ...]


class Unknown(Exception):
    """The config does not say a size that the family needs."""


class Expected(NamedTuple):
    """A tensor of a checkpoint: `prefix` + `rest` is its name. `part` is text, vision, head or mtp.

    `shape` is None where layouts differ. One that is not `required` may be absent.
    """

    prefix: str
    rest: str
    shape: Shape | None
    part: str = "text"
    required: bool = True

    @property
    def name(self) -> str:
        return self.prefix + self.rest


class Sizes:
    """The sizes of a config of any JSON shape."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self.lists: dict[str, list[str] | None] = {}
        self.sets: dict[str, frozenset[int]] = {}

    def size(self, *names: str, default: int | None = None) -> int:
        """The first of `names` that the config gives; Unknown where it is no plain size, or absent without a default."""
        value = next((self.config[name] for name in names if self.config.get(name) is not None), default)
        if type(value) is not int or not 0 < value < MAX_SIZE:
            raise Unknown(names[0])
        return value

    def count(self, *names: str, default: int | None = None) -> int:
        """As `size`, for a number of layers or experts, which may be 0."""
        value = next((self.config[name] for name in names if self.config.get(name) is not None), default)
        if type(value) is not int or not 0 <= value <= MAX_COUNT:
            raise Unknown(names[0])
        return value

    def optional(self, name: str) -> int | None:
        return None if self.config.get(name) is None else self.size(name)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.config.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise Unknown(name)
        return value

    def words(self, name: str, length: int) -> list[str] | None:
        """A list of at least `length` strings, one a layer; None where the config has none. Unknown for any other form."""
        if name not in self.lists:
            value = self.config.get(name)
            if value is not None and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
                raise Unknown(name)
            self.lists[name] = value
        found = self.lists[name]
        if found is not None and len(found) < length:
            raise Unknown(name)
        return found

    def numbers(self, name: str) -> frozenset[int]:
        if name not in self.sets:
            value = self.config.get(name) or []
            if not isinstance(value, list) or not all(type(v) is int for v in value):
                raise Unknown(name)
            self.sets[name] = frozenset(value)
        return self.sets[name]

    def below(self, name: str) -> Sizes:
        value = self.config.get(name)
        if not isinstance(value, dict):
            raise Unknown(name)
        return Sizes(value)


class Names:
    """The names of a checkpoint, as hints of its layout."""

    def __init__(self, names: AbstractSet[str], parents: AbstractSet[str]) -> None:
        self.names, self.parents = names, parents

    def has(self, name: str) -> bool:
        """True for a tensor of that name, or for a module of that name in whatever format."""
        return name in self.names or name.removesuffix(".weight") in self.parents

    def prefix(self, probe: str, *prefixes: str) -> str:
        """The first of `prefixes` under which `probe` is there; the first of all where it is under none."""
        return next((p for p in prefixes if self.has(p + probe)), prefixes[0])


Tensors = Callable[[Sizes, Names], Iterator[Expected]]


@dataclass(frozen=True)
class Family:
    """A group of architectures. `tied` is the class's own default for tie_word_embeddings.

    `closed`: every tensor of a checkpoint is among the expected ones (heads of many kinds keep a family open).
    `stacks`: mlx renames or stacks its tensors.
    """

    name: str
    model_types: frozenset[str]
    architectures: tuple[str, ...]
    tensors: Tensors
    tied: bool = False
    closed: bool = True
    stacks: bool = False

    def fits(self, model_type: str, architecture: str) -> bool:
        return model_type in self.model_types and (architecture in self.architectures or not architecture)


@cache
def families() -> tuple[Family, ...]:
    import hubrelease.architectures as package

    found: list[Family] = []
    for member in members(package, "FAMILIES"):
        found += member  # type: ignore[arg-type]
    return tuple(found)


def family_of(model_type: str, architecture: str) -> Family | None:
    return next((f for f in families() if f.fits(model_type, architecture)), None)


# ------------------------------------------------------------------------------------------------------ building blocks


def linear(prefix: str, rest: str, rows: int, columns: int, bias: bool = False, part: str = "text") -> Iterator[Expected]:
    yield Expected(prefix, f"{rest}.weight", (rows, columns), part)
    if bias:
        yield Expected(prefix, f"{rest}.bias", (rows,), part)


def norm(prefix: str, rest: str, size: int, bias: bool = False, part: str = "text") -> Iterator[Expected]:
    yield Expected(prefix, f"{rest}.weight", (size,), part)
    if bias:
        yield Expected(prefix, f"{rest}.bias", (size,), part)


def gated_mlp(prefix: str, rest: str, hidden: int, inner: int, bias: bool = False, part: str = "text") -> Iterator[Expected]:
    yield from linear(prefix, f"{rest}.gate_proj", inner, hidden, bias, part)
    yield from linear(prefix, f"{rest}.up_proj", inner, hidden, bias, part)
    yield from linear(prefix, f"{rest}.down_proj", hidden, inner, bias, part)


def experts(
    prefix: str, rest: str, count: int, hidden: int, inner: int, names: Names, part: str = "text",
    words: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
) -> Iterator[Expected]:  # fmt: skip
    """Routed experts, one by one or fused to a tensor a layer: both are written, by different tools for one model."""
    at, fused = f"{rest}.experts", ("gate_up_proj", "down_proj")
    stem = f"{prefix}{at}"
    if not names.has(f"{stem}.0.{words[0]}"):
        plain = any(f"{stem}.{leaf}" in names.names for leaf in fused)
        if plain or bool(names.parents & {stem, *(f"{stem}.{leaf}" for leaf in (*fused, "switch_mlp"))}):
            yield from (Expected(prefix, f"{at}.{leaf}", None, part, plain) for leaf in fused)
            return
    gate, up, down = words
    for number in range(count):
        yield Expected(prefix, f"{at}.{number}.{gate}.weight", (inner, hidden), part)
        yield Expected(prefix, f"{at}.{number}.{up}.weight", (inner, hidden), part)
        yield Expected(prefix, f"{at}.{number}.{down}.weight", (hidden, inner), part)


def head(names: Names, text: Sizes, config: Sizes, tied: bool, rows: int, hidden: int, bias: bool = False) -> Iterator[Expected]:
    """lm_head: its absence is a check of its own, so it is never `required` here."""
    for prefix in ("", "language_model.", "model."):
        if prefix == "" or names.has(f"{prefix}lm_head.weight"):
            yield Expected(prefix, "lm_head.weight", (rows, hidden), "head", False)
            if bias:
                yield Expected(prefix, "lm_head.bias", (rows,), "head", False)
