"""The card's base_model_relation is no relation that the Hub has, or not the one that the files show.

Why it matters: the Hub lists the model under its base by this value; a quantised copy among the fine-tunes misleads.
Mend: Write adapter, finetune, merge or quantized, whichever the files are, or leave the key out: the Hub then infers it.
Source: huggingface/hub-docs docs/hub/model-cards.md. What merely looks unlikely (quantized over weights that are all
floating point) is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.card_text import FILE
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.front_matter import FrontMatter, is_blank, kind_of
from hubrelease.hub_lists import RELATIONS, nearest
from hubrelease.release import Release
from hubrelease.strict_yaml import Scalar

KEY = "base_model_relation"
FLOATS = frozenset(("F64", "F32", "F16", "BF16"))
FULL = (".safetensors", ".bin", ".gguf", ".pt", ".pth", ".h5", ".msgpack", ".onnx", ".npz", ".nemo")
QUANTISED_FORMATS = ("fp8_block", "fp8_dynamic", "nvfp4a16", "nvfp4", "modelopt_nvfp4", "w8a16", "w4a16")


def run(release: Release) -> Iterator[Problem]:
    front = release.card.front if release.card else None
    node = front.get(KEY) if front else None
    if front is None or node is None:
        return
    where = Where(FILE, front.line(KEY), f"/{KEY}")
    if is_blank(node) or not isinstance(node, Scalar) or kind_of(node) != "string" or node.text not in RELATIONS:
        said = f'"{node.text[:60]}"' if isinstance(node, Scalar) else f"a {kind_of(node)}"
        near = nearest(node.text, RELATIONS, 0.6) if isinstance(node, Scalar) else None
        mend = f"write {near}" if near else f"write one of {', '.join(RELATIONS)}, or leave the key out"
        yield CHECK.problem(where, f"{KEY} is {said}, none of {', '.join(RELATIONS)}", mend)
        return
    yield from fit_problems(release, front, node.text, where)


def fit_problems(release: Release, front: FrontMatter, relation: str, where: Where) -> Iterator[Problem]:
    if front.get("base_model") is None:
        yield CHECK.problem(where, f"{KEY} has no effect without base_model", "name the base, or leave the key out", severity="warning")
    mend = f"correct {KEY}, or the files"
    adapter, full = has_adapter(release), has_full_weights(release)
    if relation == "adapter" and full and not adapter:
        yield CHECK.problem(where, f"{KEY} is adapter, and the release holds a whole model and no adapter", mend)
    elif relation != "adapter" and adapter and not full:
        yield CHECK.problem(where, f"{KEY} is {relation}, and the release holds an adapter and no whole model", mend)
    elif relation == "quantized" and full and is_floating(release):
        message = f"{KEY} is quantized, and every weight is {', '.join(sorted(dtypes(release)))} with no quantisation in config.json"
        yield CHECK.problem(where, message, mend, severity="warning")
    elif relation == "finetune" and made_format(release) in QUANTISED_FORMATS:
        message = f"{KEY} is finetune, and the release was made by quantising its base ({made_format(release)})"
        yield CHECK.problem(where, message, f"write {KEY}: quantized", severity="warning")


def has_adapter(release: Release) -> bool:
    names = [path.rpartition("/")[2].lower() for path in release.files | release.missing]
    return any(name.startswith(("adapter_", "adapters.")) or "lora" in name for name in names)


def has_full_weights(release: Release) -> bool:
    """True for weights in the root that are no adapter's, and a config that goes with them."""
    names = [path for path in release.files | release.missing if "/" not in path and path.endswith(FULL)]
    return any(not is_adapter_file(name.lower()) for name in names)


def is_adapter_file(name: str) -> bool:
    side = ("adapter_", "adapters.", "training_args", "optimizer", "scheduler", "rng_state")
    return name.startswith(side) or "lora" in name or name.endswith(("_embeds.safetensors", "embeddings.safetensors"))


def is_floating(release: Release) -> bool:
    """True if the main weights were all seen, are floating point, and nothing says that they are quantised."""
    main = release.containers.main
    if main is None or not main.tensors or release.missing or any(path.endswith((".gguf", ".onnx")) for path in release.files):
        return False
    config = release.config()
    inner = [config, *(value for value in config.values() if isinstance(value, dict))]
    said = any("quantization_config" in part or "quantization" in part for part in inner) or "hf_quant_config.json" in release.files
    return not said and dtypes(release) <= FLOATS


def dtypes(release: Release) -> frozenset[str]:
    main = release.containers.main
    return frozenset(located.tensor.dtype for located in main.tensors.values()) if main else frozenset()


def made_format(release: Release) -> str:
    weights = release.spec.get("weights")
    found = weights.get("format") if isinstance(weights, dict) else None
    return found if isinstance(found, str) else ""


CHECK = Check("HR516", "card-relation", "relation to the base that does not fit", run)
