"""The tensors of one module held against its Layout: absent, under another format's name, of another dtype or shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hubrelease.containers import Located
from hubrelease.quantisation.layout import CODES, GLOBAL, INPUT, SCALE, ZERO, Layout, Part
from hubrelease.quantisation.modules import Module


@dataclass(frozen=True, slots=True)
class PartFault:
    """One tensor of a module that is absent, misnamed, or of another dtype or shape than its Layout says."""

    kind: str
    module: Module
    part: Part
    located: Located | None
    message: str


# What tools call the same thing: a tensor of another format's name is found, and the one that is asked for is not.
KINDRED = {
    CODES: ("weight", "weight_packed", "qweight"),
    SCALE: ("weight_scale", "weight_scale_inv", "scale", "scales", "qscale_weight", "weight_scales"),
    GLOBAL: ("weight_scale_2", "weight_global_scale", "global_scale"),
    INPUT: ("input_scale", "activation_scale", "input_global_scale", "act_scale", "input_scale_inv", "qscale_act"),
    ZERO: ("weight_zero_point", "qzeros", "zeros", "biases"),
}


def judge(module: Module, layout: Layout, used: frozenset[tuple[str, str]]) -> Iterator[PartFault]:
    """The faults of one module."""
    codes = module.get(layout.codes)
    sound = codes is not None and (not layout.codes.dtypes or codes.tensor.dtype in layout.codes.dtypes) and len(codes.tensor.shape) >= 2
    logical = layout.logical(codes.tensor.shape) if sound and codes else None
    for part in layout.parts:
        located = module.get(part)
        if located is None:
            wanted = part.presence == "always" or (part.presence == "if-any" and (layout.name, part.leaf) in used)
            if wanted:
                yield absent(module, layout, part)
        elif part.dtypes and located.tensor.dtype not in part.dtypes:
            message = f"is {located.tensor.dtype}; {layout.name} wants {' or '.join(part.dtypes)}"
            yield PartFault("tensor-dtype", module, part, located, message)
        elif part.shapes and logical is not None and located.tensor.shape not in (shapes := part.shapes(logical)) and shapes:
            message = f"is {list(located.tensor.shape)}; {wording(layout, logical)} wants {list(shapes[0])}"
            yield PartFault("scale-shape", module, part, located, message)


def absent(module: Module, layout: Layout, part: Part) -> PartFault:
    stranger = next((leaf for leaf in KINDRED.get(part.role, ()) if leaf in module.parts and leaf not in layout.leaves), None)
    if stranger:
        message = f"the {part.role} is called {stranger}; {layout.name} calls it {part.leaf}"
        return PartFault("scale-name", module, part, module.parts[stranger], message)
    return PartFault("scale-missing", module, part, None, f"no {part.leaf}")


def wording(layout: Layout, logical: tuple[int, ...]) -> str:
    size = (
        f" in blocks of {layout.block[0]} x {layout.block[1]}" if layout.block else f" in groups of {layout.group}" if layout.group else ""
    )
    return f"a weight of {list(logical)}{size}"
