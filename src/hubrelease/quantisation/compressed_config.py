"""What compressed-tensors 0.20.1 refuses in a quantization_config, and what it does not know (quant_args.py, quant_scheme.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hubrelease.quantisation.scheme import ConfigFault, mapping, positive, shown, text_of
from hubrelease.strict_yaml import pointer_to

FORMATS = frozenset(
    ("dense", "int-quantized", "float-quantized", "naive-quantized", "pack-quantized", "nvfp4-pack-quantized", "mxfp4-pack-quantized",
     "mxfp6-pack-quantized", "mxfp8-quantized", "mixed-precision", "sparse-bitmask", "sparse-24-bitmask", "marlin-24", "fakequant")
)  # fmt: skip
STATUSES = ("initialized", "calibration", "frozen", "compressed", "decompressed")
GROUP_KEYS = frozenset(("targets", "weights", "input_activations", "output_activations", "format"))
ARGUMENT_KEYS = frozenset(
    ("num_bits", "type", "symmetric", "group_size", "strategy", "block_structure", "dynamic", "actorder", "scale_dtype", "zp_dtype",
     "observer", "observer_kwargs")
)  # fmt: skip
STRATEGIES = ("tensor", "channel", "group", "block", "token", "tensor_group", "attn_head")


def strategy_of(weights: Mapping[str, Any]) -> str:
    strategy = text_of(weights.get("strategy")).lower()
    if strategy:
        return strategy
    size = weights.get("group_size")
    return "channel" if size == -1 else "group" if positive(size) else "tensor"


def block_of(structure: object) -> tuple[int, int] | None:
    if isinstance(structure, str) and len(structure) < 20:  # "128x128", an older spelling
        structure = [int(part) if part.isdecimal() else None for part in structure.split("x")]
    if isinstance(structure, list) and len(structure) == 2:
        rows, columns = positive(structure[0]), positive(structure[1])
        return (rows, columns) if rows and columns else None
    return None


def faults_of(block: Mapping[str, Any], pointer: str) -> Iterator[ConfigFault]:
    groups = block.get("config_groups")
    if not isinstance(groups, dict) or (not groups and not block.get("kv_cache_scheme") and not block.get("sparsity_config")):
        message = "has no config_groups: nothing says which modules are quantised, and how"
        yield ConfigFault("quant-config-invalid", pointer, message, "write the block again with the tool that made the weights")
    yield from format_faults(block, pointer)
    for name, group in mapping(groups).items():
        where = pointer + pointer_to("config_groups", name)
        if isinstance(group, dict):
            yield from group_faults(group, text_of(block.get("format")), where)
        elif not isinstance(group, list):
            yield invalid(where, f"is {shown(group)}, not a group")
    status = block.get("quantization_status", "compressed")
    if status not in STATUSES:
        message = f"is {shown(status)}; readers know {', '.join(STATUSES)}"
        yield ConfigFault("quantization-status", pointer + "/quantization_status", message, "write compressed")


def format_faults(block: Mapping[str, Any], pointer: str) -> Iterator[ConfigFault]:
    name = block.get("format")
    if name is not None and text_of(name) not in FORMATS:
        yield invalid(pointer + "/format", f"is {shown(name)}, which compressed-tensors 0.20.1 does not know")
    formats = {text_of(mapping(g).get("format")) for g in mapping(block.get("config_groups")).values()} - {""}
    if len(formats) > 1 and name != "mixed-precision":
        message = f"is {shown(name)}, but the groups have {', '.join(sorted(formats))[:120]}; that is mixed-precision"
        yield invalid(pointer + "/format", message)
    elif len(formats) == 1 and text_of(name) not in ("", "mixed-precision", *formats):
        yield invalid(pointer + "/format", f"is {shown(name)}, but every group has {formats.pop()[:60]}")


def group_faults(group: Mapping[str, Any], default: str, pointer: str) -> Iterator[ConfigFault]:
    yield from unknown_keys(group, GROUP_KEYS, pointer)
    name = group.get("format")
    if name is not None and text_of(name) not in FORMATS - {"mixed-precision"}:
        yield invalid(pointer + "/format", f"is {shown(name)}, which is no format of a group")
    if not isinstance(group.get("targets"), list):
        yield invalid(pointer, "has no list of targets")
    for part in ("weights", "input_activations", "output_activations"):
        arguments = group.get(part)
        if isinstance(arguments, dict):
            yield from unknown_keys(arguments, ARGUMENT_KEYS, f"{pointer}/{part}")
            yield from argument_faults(arguments, f"{pointer}/{part}")
        elif arguments is not None:
            yield invalid(f"{pointer}/{part}", f"is {shown(arguments)}, not an object")
    weights = mapping(group.get("weights"))
    if weights and text_of(group.get("format") or default) == "pack-quantized" and weights.get("symmetric", True) is False:
        message = "is asymmetric: transformers 5.24 can't load such a checkpoint again, for it expects zero points that are not packed"
        mend = "quantise symmetrically, or say in the card which readers take it"
        yield ConfigFault("asymmetric-int", f"{pointer}/weights/symmetric", message, mend, "warning")


def argument_faults(arguments: Mapping[str, Any], pointer: str) -> Iterator[ConfigFault]:
    """What QuantizationArgs refuses (compressed-tensors 0.20.1 quantization/quant_args.py)."""
    strategy, dynamic = strategy_of(arguments), arguments.get("dynamic", False)
    if strategy not in STRATEGIES:
        yield invalid(pointer + "/strategy", f"is {shown(arguments.get('strategy'))}; readers know {', '.join(STRATEGIES)}")
    if strategy == "token" and dynamic is not True:
        yield invalid(pointer + "/dynamic", "must be true with the strategy token")
    if strategy in ("group", "tensor_group") and positive(arguments.get("group_size")) is None:
        yield invalid(pointer + "/group_size", f"is {shown(arguments.get('group_size'))}; the strategy {strategy} needs a positive one")
    elif strategy in STRATEGIES and positive(arguments.get("group_size")) is not None and strategy not in ("group", "tensor_group"):
        yield invalid(pointer + "/group_size", f"is {shown(arguments['group_size'])}, but the strategy is {strategy}, which has no groups")
    if strategy == "block" and block_of(arguments.get("block_structure")) is None:
        yield invalid(
            pointer + "/block_structure", f"is {shown(arguments.get('block_structure'))}; the strategy block needs [rows, columns]"
        )
    if dynamic == "local" and strategy != "tensor_group":
        yield invalid(pointer + "/dynamic", "is local, which goes with the strategy tensor_group only")


def unknown_keys(value: Mapping[str, Any], known: frozenset[str], pointer: str) -> Iterator[ConfigFault]:
    if unknown := sorted(value.keys() - known):
        names = ", ".join(unknown[:5])[:200]
        message = f"holds {names}: compressed-tensors 0.20.1 refuses a group with keys that it does not know"
        mend = "remove the key, or state in the card which version reads it"
        yield ConfigFault("quantization-unknown-key", pointer + pointer_to(unknown[0]), message, mend, "warning")


def invalid(pointer: str, message: str) -> ConfigFault:
    return ConfigFault("quant-config-invalid", pointer, message, "write the block again with the tool that made the weights")
