"""What runs where: (operation, lowest compute capability) → function. Asking for a path that is not there raises.

`None` stands for the CPU. A capability takes the row with the highest capability at or below it; nothing slower or wider is
ever picked in place of a missing row.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

SM89, SM90, SM120 = (8, 9), (9, 0), (12, 0)
Capability = tuple[int, int]

# Modules are imported when a row is asked for: Triton isn't there on every CPU, the CUTLASS library only in the image.
TABLE: dict[tuple[str, Capability | None], str] = {
    ("act_quant", None): "reference:act_quant",
    ("act_quant", SM89): "sm89_fp8_act_quant:act_quant",
    ("add_norm", None): "plain:add_norm",
    ("add_norm", SM89): "sm89_fp8_norm_quant:add_norm",
    ("swiglu", None): "plain:swiglu",
    ("swiglu", SM89): "sm89_fp8_norm_quant:swiglu",
    ("delta_inputs", None): "plain:delta_inputs",
    ("delta_inputs", SM89): "smxx_bf16_delta:delta_inputs",
    ("delta_rule", None): "plain:delta_rule",
    ("delta_rule", SM89): "smxx_bf16_delta_rule:delta_rule",
    ("gated_norm", None): "plain:gated_norm",
    ("gated_norm", SM89): "smxx_bf16_delta:gated_norm",
    ("head_norm_rotary", None): "plain:head_norm_rotary",
    ("head_norm_rotary", SM89): "smxx_bf16_attention:head_norm_rotary",
    ("attention", None): "reference:attention",
    ("attention", SM89): "reference:attention",  # torch's own: FlashAttention takes heads of 256
    ("sigmoid_gate", None): "plain:sigmoid_gate",
    ("sigmoid_gate", SM89): "smxx_bf16_attention:sigmoid_gate",
    ("linear:torch_reference", None): "linear_backends:torch_reference",
    ("linear:torch_reference", SM89): "linear_backends:torch_reference",
    ("linear:triton", SM89): "linear_backends:triton",
    ("linear:triton_sm90", SM90): "linear_backends:triton_sm90",
    ("linear:torch_sm90", SM90): "linear_backends:torch_sm90",
    ("linear:cutlass_sm120", SM120): "linear_backends:cutlass_sm120",
}
ONLY = {"linear:torch_sm90": SM90, "linear:triton_sm90": SM90}  # for major version 9 alone: torch's product, warp-group products


class MissingPath(LookupError):
    """No function for this operation on this device."""


def find(operation: str, capability: Capability | None) -> Callable[..., Any]:
    """The function for an operation on a device of this capability (None: CPU). Raises MissingPath."""
    rows = [least for name, least in TABLE if name == operation]
    if not rows:
        raise MissingPath(f"no operation {operation!r}")
    if capability is None:
        fitting = [None] if None in rows else []
    else:
        fitting = sorted(least for least in rows if least is not None and least <= capability)
        if operation in ONLY and capability[0] != ONLY[operation][0]:
            fitting = []
    if not fitting:
        where = "the CPU" if capability is None else "compute capability {}.{}".format(*capability)
        raise MissingPath(f"{operation} has no path for {where}")
    module, function = TABLE[operation, fitting[-1]].split(":")
    return getattr(importlib.import_module(f".{module}", __package__), function)


def operations(capability: Capability | None) -> SimpleNamespace:
    """All operations but the linear backends, by name, for one device."""
    names = {name for name, _ in TABLE if not name.startswith("linear:")}
    return SimpleNamespace(**{name: find(name, capability) for name in sorted(names)})
