"""The conversion of one checkpoint: choose, plan, check room, share, stream, write index, config and manifest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hubrelease import canonical
from hubrelease.conversion import configs, rows
from hubrelease.conversion.activation_scales import amaxes as activation_amaxes
from hubrelease.conversion.amax import shared_amaxes, spread
from hubrelease.conversion.engine import Engine, Job, encoder_here, job_key
from hubrelease.conversion.plan import ShardPlan, apart_shard, clashes, plan_shard
from hubrelease.conversion.rows import MANIFEST, Row
from hubrelease.conversion.rules import WEIGHT, Choice, Wishes, also_known, choose, modules, pattern_problems, stacked
from hubrelease.errors import CheckFailed, Where, problem
from hubrelease.fetch import SourceFile
from hubrelease.formats import Format
from hubrelease.reshard import INDEX, SINGLE, Part, check_index, header_of, metadata_of, read_index, unusable
from hubrelease.tree import Tree
from hubrelease.verify_release import in_threads

COMPANIONS = (".weight_scale", ".weight_scale_inv", ".weight_packed", ".weight_scale_2", ".weight_global_scale", ".qweight", ".qzeros")
SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
TURNED = ("gpt2", "openai-gpt", "imagegpt", "decision_transformer")  # model types of transformers whose linear layers are Conv1D


@dataclass(frozen=True)
class Request:
    """What to convert, and how. `dropped` maps tensor names of the base to the reason for leaving them out."""

    form: Format
    device: str = "cpu"
    path: str | None = None  # None: the first that this machine has; it never changes the bytes
    wishes: Wishes = field(default_factory=Wishes)
    scales: tuple[str, bytes] | None = None  # name and bytes of a file with activation scales
    where: Where = field(default_factory=lambda: Where("command line"))


@dataclass(frozen=True)
class Checkpoint:
    """A base checkpoint: its shards with their headers, its index if it has one, its config, and its other weight files."""

    parts: tuple[Part, ...]
    index: dict[str, Any] | None
    config: dict[str, Any]
    rest: tuple[SourceFile, ...]


def open_checkpoint(files: Sequence[SourceFile], config: bytes) -> Checkpoint:
    """Reads headers and index, and refuses what can't be converted. CheckFailed with every reason."""
    by_path = {f.path: f for f in files}
    index = read_index(by_path.get(INDEX))
    members = sorted(set(index["weight_map"].values())) if index else [SINGLE]
    if absent := [name for name in members if name not in by_path]:
        raise unusable(f"{name} is not among the source's files" for name in absent)
    if stray := [name for name in sorted(by_path) if SHARD.fullmatch(name) and name not in members]:
        raise unusable(f"{name} is a shard that the index does not name" for name in stray)
    parts = tuple(Part(by_path[name], header_of(by_path[name])) for name in members)
    check_index(parts, index)
    configs.refuse_quantised({t.name: t.dtype for p in parts for t in p.header.tensors}, COMPANIONS)
    rest = tuple(f for f in files if f.path not in {*members, INDEX})
    return Checkpoint(parts, index, configs.base_config(config), rest)


def choice_for(checkpoint: Checkpoint, asked: Request) -> Choice:
    """Which modules are quantised. CheckFailed for patterns that fit nothing, and where nothing is left."""
    refuse_turned(checkpoint, asked)
    weights = modules(t for p in checkpoint.parts for t in p.header.tensors)
    if problems := list(pattern_problems(weights, asked.wishes, asked.where)):
        raise CheckFailed(problems)
    choice = choose(weights, asked.wishes, asked.form.default_include, asked.form.fused, asked.form.refusal)
    if not choice.quantised:
        reasons = sorted(set(choice.kept.values()))[:5]
        message = f"no module can be quantised to {asked.form.name}: {'; '.join(reasons)}"
        raise CheckFailed(problem("weights-unusable", asked.where, message, "correct include and exclude, or choose another format"))
    mixed = [m for m in choice.quantised if weights[m].dtype != weights[choice.quantised[0]].dtype]
    if mixed:
        first = choice.quantised[0]
        message = f"{mixed[0]} is {weights[mixed[0]].dtype}, {first} is {weights[first].dtype}: one format needs one dtype"
        raise CheckFailed(problem("weights-unusable", asked.where, message, "exclude the odd ones, or cast the base first"))
    return Choice(choice.quantised, {**choice.kept, **stacked(t for p in checkpoint.parts for t in p.header.tensors)})


def refuse_turned(checkpoint: Checkpoint, asked: Request) -> None:
    """CheckFailed for models whose matrices are stored [in, out]: scales would lie along the wrong side, and no reader takes them."""
    if (kind := checkpoint.config.get("model_type")) in TURNED:
        message = f"{kind} stores its matrices turned (Conv1D), which no reader of {asked.form.name} takes"
        raise CheckFailed(problem("weights-unusable", asked.where, message, "release it as it is (format: bf16 or as-is)"))


def convert(tree: Tree, checkpoint: Checkpoint, asked: Request, notes: Path) -> bytes:
    """Writes shards, index, config.json and conversion_manifest.json into the tree; the manifest's bytes."""
    form, choice = asked.form, choice_for(checkpoint, asked)
    dtype = next(t.dtype for p in checkpoint.parts for t in p.header.tensors if t.name == choice.quantised[0] + WEIGHT)
    encoder_here(form, asked.device, asked.path, dtype, asked.where)  # its error comes before anything is read
    apart = form.apart
    plans = [plan_shard(p.file.path, p.header.tensors, choice, form, {}, apart) for p in checkpoint.parts]
    if twice := clashes(plans):
        raise unusable(f"the base has a tensor {name} already" for name in twice)
    inputs = input_amaxes(asked, choice)
    tree.need_room(sum(o.size for plan in plans for o in plan.outputs))
    maker = partial(form.encoder, asked.device, asked.path, dtype)
    amaxes = shared_amaxes(checkpoint.parts, choice, form, maker, tree.progress, tree.jobs)
    engine = Engine(tree, form, asked.device, asked.path, amaxes, inputs, notes, metadata_of(checkpoint.parts))
    jobs = [Job(part, plan, job_key(form, part, plan, amaxes, inputs)) for part, plan in zip(checkpoint.parts, plans, strict=True)]
    tree.progress.start(f"converting to {form.name}", sum(o.size for plan in plans for o in plan.outputs))
    made: list[Row] = [row for found in in_threads(engine.run, jobs, tree.jobs) for row in found]
    tree.progress.finish()
    if apart:
        plan = apart_shard(form.apart_file, (t for p in checkpoint.parts for t in p.header.tensors), choice, form, apart)
        plans.append(plan)
        made += engine.small_shard(plan, made)
    write_index(tree, plans, checkpoint.index)
    write_config(tree, checkpoint, choice, asked)
    data = rows.manifest(form.name, form.arithmetic, made, choice.kept)
    tree.put(MANIFEST, data)
    return data


def input_amaxes(asked: Request, choice: Choice) -> dict[str, float]:
    """{module: amax of its activations}; siblings that readers fuse share their largest, for a reader takes one for all of them.

    CheckFailed where the format needs a file and none is given, and where one is given that it would not use.
    """
    form = asked.form
    if asked.scales and not form.needs_inputs:
        message, mend = f"{form.name} stores no activation scales", "leave the file out, or choose a format that quantises activations"
        raise CheckFailed(problem("weights-unusable", asked.where, message, mend))
    if form.needs_inputs and not asked.scales:
        message, mend = f"{form.name} needs activation scales", "give a file with them (weights.activation_scales, --activation-scales)"
        raise CheckFailed(problem("weights-unusable", asked.where, message, mend))
    return spread(activation_amaxes(*asked.scales, choice.quantised), form) if asked.scales else {}


def write_index(tree: Tree, plans: Sequence[ShardPlan], index: dict[str, Any] | None) -> None:
    """An index wherever there is more than one file. total_parameters is the unquantised model's, kept from the base."""
    if index is None and len(plans) == 1:
        return
    metadata = index.get("metadata") if index else None
    kept = {k: v for k, v in metadata.items() if k == "total_parameters"} if isinstance(metadata, dict) else {}
    total = sum(o.size for plan in plans for o in plan.outputs)
    weight_map = {o.name: plan.name for plan in plans for o in plan.outputs}
    tree.put(INDEX, canonical.dumps({"metadata": {**kept, "total_size": total}, "weight_map": weight_map}))


def write_config(tree: Tree, checkpoint: Checkpoint, choice: Choice, asked: Request) -> None:
    block = asked.form.config_block(choice.quantised, excluded(checkpoint, choice))
    tree.put(configs.CONFIG, configs.dumps({**checkpoint.config, **({"quantization_config": block} if block else {})}))
    extra = asked.form.hf_quant_config(choice.quantised, excluded(checkpoint, choice))
    if extra is not None:
        tree.put(configs.HF_QUANT, configs.dumps(extra))


def excluded(checkpoint: Checkpoint, choice: Choice) -> list[str]:
    """Modules that stay as they are and that a reader could take for quantised: every matrix or convolution but norms."""
    weights = modules(t for p in checkpoint.parts for t in p.header.tensors)
    found = [m for m, why in choice.kept.items() if m not in weights or (len(weights[m].shape) > 1 and why != "is a norm")]
    return sorted({*found, *also_known(found)})
