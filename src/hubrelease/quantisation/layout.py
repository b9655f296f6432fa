"""How a quantised linear lies on disk: the tensors of a module in one format, their dtypes and shapes.

A Layout is a value that both directions use: checks hold what is found against it, a conversion asks it which tensors to
write. Shapes come from the logical shape [.., out, in] of the weight. Where readers accept several dtypes or shapes, the
first is the one that the format's own producer writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

Shape = tuple[int, ...]
Shapes = Callable[[Shape], tuple[Shape, ...]]

FLOATS = ("F32", "BF16", "F16")
MODEL_FLOATS = ("BF16", "F16", "F32")  # scales that take the model's dtype
CODES, SCALE, GLOBAL, INPUT, ZERO, SHAPE, SMOOTH, INDEX, STATE = (
    "codes", "scale", "global scale", "input scale", "zero point", "shape", "smoothing scale", "group index", "quantisation state",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """One tensor of a module. `leaf` is its name after the module's; `aliases` are names that a reader of the format takes as well.

    `shapes` is None where only presence is known. `presence`: "always", "if-any" (all modules have it or none), "optional".
    `value`: multiplier, divisor, or exponent (bytes e of 2^(e-127)).
    """

    leaf: str
    role: str
    dtypes: tuple[str, ...] = ()
    shapes: Shapes | None = None
    presence: str = "always"
    aliases: tuple[str, ...] = ()
    value: str = "multiplier"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.leaf, *self.aliases)


@dataclass(frozen=True, slots=True)
class Layout:
    """A format of one linear. `packing` is (elements, bytes-or-words) along the columns: (2, 1) puts two codes in a byte.

    `group` is what must divide the columns (None: nothing must); `largest` is the largest |code|.
    """

    name: str
    bits: int
    number: str  # float or int
    parts: tuple[Part, ...]
    packing: tuple[int, int] = (1, 1)
    packed_axis: int = -1
    group: int | None = None
    whole_groups: bool = True
    largest: float = 448.0
    block: tuple[int, int] | None = None

    @property
    def codes(self) -> Part:
        return self.parts[0]

    def part(self, role: str) -> Part | None:
        return next((part for part in self.parts if part.role == role), None)

    @property
    def leaves(self) -> frozenset[str]:
        return frozenset(name for part in self.parts for name in part.names)

    def stored(self, logical: Shape) -> Shape:
        """The shape of the codes of a weight of shape `logical`: packed along one axis, rounded up to whole words."""
        elements, words = self.packing
        shape = list(logical)
        shape[self.packed_axis] = -(-shape[self.packed_axis] * words // elements)
        return tuple(shape)

    def logical(self, stored: Shape) -> Shape:
        """The logical shape of codes of shape `stored`; where a last word may be half empty, the largest that fits."""
        elements, words = self.packing
        shape = list(stored)
        if shape:
            shape[self.packed_axis] = shape[self.packed_axis] * elements // words
        return tuple(shape)

    def tensors(self, logical: Shape) -> dict[str, tuple[str, Shape]]:
        """{leaf: (dtype, shape)} of the tensors to write for a weight of shape `logical`; optional ones left out."""
        return {p.leaf: (p.dtypes[0], p.shapes(logical)[0]) for p in self.parts if p.presence != "optional" and p.shapes and p.dtypes}


# -------------------------------------------------------------------------------------------------------------- shapes


def same(layout_shape: Shape) -> tuple[Shape, ...]:
    return (layout_shape,)


def scalar(_: Shape) -> tuple[Shape, ...]:
    """Scalars are [] with some tools, [1] with others; readers take both."""
    return (), (1,), (1, 1)


def one(_: Shape) -> tuple[Shape, ...]:
    return (1,), (), (1, 1)


def pair(_: Shape) -> tuple[Shape, ...]:
    return ((2,),)


def per_row(logical: Shape) -> tuple[Shape, ...]:
    return (*logical[:-1], 1), logical[:-1]


def flat_per_row(logical: Shape) -> tuple[Shape, ...]:
    return logical[:-1], (*logical[:-1], 1)


def per_column(logical: Shape) -> tuple[Shape, ...]:
    return (logical[-1:],)


def per_group(size: int) -> Shapes:
    return lambda logical: ((*logical[:-1], ceil(logical[-1], size)),)


def per_block(block: tuple[int, int]) -> Shapes:
    return lambda logical: ((*logical[:-2], ceil(logical[-2], block[0]), ceil(logical[-1], block[1])),)


def ceil(number: int, by: int) -> int:
    return -(-number // by)


# ------------------------------------------------------------------------------------------------------------- layouts


def codes(leaf: str, dtypes: tuple[str, ...], layout: Layout) -> Layout:
    """`layout` with its codes put first."""
    part = Part(leaf, CODES, dtypes, lambda logical: (layout.stored(logical),))
    return replace(layout, parts=(part, *layout.parts))


def fp8(name: str, scale: Part, *more: Part, block: tuple[int, int] | None = None) -> Layout:
    """E4M3 codes in the weight's own shape."""
    return codes("weight", ("F8_E4M3",), Layout(name, 8, "float", (scale, *more), block=block))


def fp4(name: str, leaf: str, group: int, *parts: Part) -> Layout:
    """E2M1 codes, two in a byte along the columns, low nibble first (formats D.3 and E.3)."""
    return codes(leaf, ("U8",), Layout(name, 4, "float", parts, packing=(2, 1), group=group, largest=6.0))
