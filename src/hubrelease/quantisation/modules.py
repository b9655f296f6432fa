"""The modules of a checkpoint: tensors gathered by the module that they belong to, from names, dtypes and shapes alone.

`model.layers.0.mlp.up_proj.weight_scale` is the leaf `weight_scale` of `model.layers.0.mlp.up_proj`. Newer checkpoints
stack the experts of a layer in one tensor without a leaf (`experts.gate_up_proj`, `experts.gate_up_proj_scale_inv`): those
are gathered as a stacked module `experts.gate_up_proj`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hubrelease.containers import Located
from hubrelease.quantisation.layout import Part
from hubrelease.weights import Tensor

QUANTISED_DTYPES = frozenset(
    ("F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F4", "F6_E2M3", "F6_E3M2", "U8", "I8", "I16", "U16", "I32", "U32")
)
CODE_LEAVES = frozenset(("weight_packed", "qweight", "weight_blocks", "W_q", "_weight_qdata", "weight._data", "B", "codes", "indices"))
# Names that no other kind of module uses for a parameter.
SCALE_LEAVES = frozenset(
    ("weight_scale", "weight_scale_inv", "weight_scale_2", "weight_global_scale", "weight_zero_point", "input_scale",
     "input_global_scale", "input_zero_point", "activation_scale", "pre_quant_scale", "qscale_weight", "qscale_act")
)  # fmt: skip
KV_LEAVES = frozenset(("k_scale", "v_scale", "q_scale", "output_scale", "prob_output_scale", "prob_scale"))
SCALES = SCALE_LEAVES | KV_LEAVES | {"scale", "scales", "weight_scales", "biases", "SCB", "weight.absmax", "_weight_scale"}
STACKED = {  # endings of tensors of stacked experts → the leaf that they are
    "_blocks": "weight_blocks", "_scales": "weight_scales", "_scale_inv": "weight_scale_inv", "_weight_scale": "weight_scale",
    "_weight_scale_2": "weight_scale_2", "_weight_global_scale": "weight_global_scale", "_input_scale": "input_scale",
    "_input_global_scale": "input_global_scale", "_activation_scale": "activation_scale", "_packed": "weight_packed",
    "_weight_packed": "weight_packed", "_scale": "weight_scale", "_bias": "bias",
}  # fmt: skip


@dataclass(slots=True)
class Module:
    """A module and its tensors by leaf. `codes` is the tensor of quantised codes, None where the weight has its original dtype.

    `stacked` modules hold several experts in each tensor.
    """

    name: str
    parts: dict[str, Located] = field(default_factory=dict)
    stacked: bool = False
    codes: Located | None = None

    def get(self, part: Part) -> Located | None:
        """The tensor of a part, under the format's own name or one that readers take as well."""
        found = self.parts.get(part.leaf)
        if found is None and part.aliases:
            found = next((self.parts[leaf] for leaf in part.aliases if leaf in self.parts), None)
        return found

    @property
    def weight(self) -> Located | None:
        """The weight in its original dtype; None where it is quantised or absent."""
        weight = self.parts.get("weight")
        return weight if weight is not None and weight.tensor.dtype not in QUANTISED_DTYPES else None

    @property
    def file(self) -> str:
        """The file that a finding about the module names: that of its weight."""
        anchor = self.codes or self.parts.get("weight") or next(iter(self.parts.values()))
        return anchor.file


def codes_of(parts: Mapping[str, Located]) -> Located | None:
    weight = parts.get("weight")
    if weight is not None and weight.tensor.dtype in QUANTISED_DTYPES and weight.tensor.shape:
        return weight
    others = (parts[leaf] for leaf in sorted(parts.keys() & CODE_LEAVES))
    return next((located for located in others if located.tensor.dtype in QUANTISED_DTYPES), None)


def gather(tensors: Mapping[str, Located]) -> dict[str, Module]:
    """{name: Module} of all tensors, in one pass."""
    modules: dict[str, Module] = {}
    for name, located in tensors.items():
        owner, leaf, stacked = split(name, located.tensor)
        module = modules.get(owner)
        if module is None:
            module = modules[owner] = Module(owner, stacked=stacked)
        module.parts[leaf] = located
    for module in modules.values():
        module.codes = codes_of(module.parts)
    return modules


def split(name: str, tensor: Tensor) -> tuple[str, str, bool]:
    """(module, leaf, stacked) of a tensor's name."""
    owner, _, leaf = name.rpartition(".")
    if owner.endswith((".weight", ".weight.quant_state")):  # bitsandbytes and quanto: X.weight.absmax, X.weight._data
        owner, _, rest = name.partition(".weight.")
        return owner, "weight." + rest, False
    if owner.endswith("experts"):
        for ending, short in STACKED.items():
            if leaf.endswith(ending):
                return f"{owner}.{leaf.removesuffix(ending)}", short, True
        if len(tensor.shape) >= 3:
            return f"{owner}.{leaf}", "weight", True
    return owner, leaf, False


def is_linear(module: Module) -> bool:
    """True for a module that could have been quantised: a matrix that is no embedding, norm, router bias or convolution."""
    weight = module.weight
    if weight is None or len(weight.tensor.shape) != 2 or module.stacked or min(weight.tensor.shape) <= 1:
        return False
    leaf = module.name.rpartition(".")[2].lower()
    return not any(word in leaf for word in ("embed", "wte", "wpe", "norm", "conv", "position", "rotary", "bias"))
