"""Streams source shards into output shards: every byte of the source is read once more than siblings need, none is held.

A worker holds one tensor's bytes and one strip's codes. Output headers are known before the first byte; source file,
source tensors, output tensors and output file are hashed while they pass. A finished shard counts only when its source
has proved to be the lock's, byte for byte; then later runs may take it by the key of what it was made from.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hubrelease import canonical, weights
from hubrelease.conversion import rows
from hubrelease.conversion.plan import Output, ShardPlan
from hubrelease.conversion.rows import Row
from hubrelease.conversion.rules import WEIGHT
from hubrelease.digest import key_of
from hubrelease.errors import CheckFailed, OutsideError, Where, problem
from hubrelease.formats import NOTHING, Encoder, Format, NotFinite, PathMissing, Strip
from hubrelease.formats._format import SCALES
from hubrelease.identities import identity_of
from hubrelease.reshard import Part as SourcePart
from hubrelease.reshard import Reader, checked
from hubrelease.tree import Tree, Writer
from hubrelease.weights import Tensor

STRIP_BYTES = 8 * 2**20  # of source per call of the encoder: large enough that the call costs nothing, small enough for the cache


@dataclass(frozen=True)
class Job:
    """One source shard, what it becomes, and the key under which the result may be taken again."""

    source: SourcePart
    plan: ShardPlan
    key: str


@dataclass(frozen=True)
class Engine:
    """What every job needs. `amaxes` has the shared amax of each quantised module, `inputs` the amax of its activations."""

    tree: Tree
    form: Format
    device: str
    path: str | None
    amaxes: Mapping[str, float]
    inputs: Mapping[str, float]
    notes: Path  # a folder in the user's cache: rows of finished shards, by key
    metadata: Mapping[str, str]

    def run(self, job: Job) -> list[Row]:
        """Makes one output shard, or takes it from an earlier run; its rows."""
        name = job.plan.name
        kept = self.recall(job.key)
        if kept is not None and self.tree.reuse_reserved(name, job.key) and self.tree.entries[name].sha256 == kept["sha256"]:
            found: list[Row] = kept["rows"]
            return found
        if name in self.tree.entries:
            raise AssertionError(f"{name} was taken but does not fit its rows")  # the key covers both
        made = self.make(job, reserved=kept is not None)
        self.note(job.key, {"sha256": self.tree.entries[name].sha256, "rows": made})
        self.tree.remember(name, job.key)
        return made

    def make(self, job: Job, reserved: bool) -> list[Row]:
        header = weights.header_bytes([(o.name, o.dtype, o.shape) for o in job.plan.outputs], dict(self.metadata))
        by_source = outputs_by_source(job.plan.outputs)
        encoder = encoder_for(self.form, self.device, self.path, job.plan)  # it keeps buffers: one a job
        made: list[Row] = []
        with checked(job.source.file) as reader, self.tree.write(job.plan.name, "weights", reserved=reserved) as writer:
            writer.write(header)
            reader.skip(job.source.header.data_start)
            for tensor in job.source.header.tensors:
                outputs = by_source.get(tensor.name, ())
                if outputs and outputs[0].part is not None:
                    made += self.quantised(tensor, outputs, job, reader, writer, encoder)
                else:
                    made += self.carried(tensor, outputs, job, reader, writer)
        return made

    @staticmethod
    def carried(tensor: Tensor, outputs: Sequence[Output], job: Job, reader: Reader, writer: Writer) -> list[Row]:
        file, source_file = job.plan.name, job.source.file.path
        digest = hashlib.sha256()
        for chunk in reader.chunks(tensor.size):
            digest.update(chunk)
            if outputs:
                writer.write(chunk)
        if outputs:
            return [rows.carried(outputs[0], file, source_file, digest.hexdigest())]
        return [rows.dropped(tensor, source_file, digest.hexdigest(), job.plan.dropped[tensor.name])]

    def quantised(self, tensor: Tensor, outputs: Sequence[Output], job: Job, reader: Reader, writer: Writer, encoder: Encoder) -> list[Row]:
        file, source_file, module = job.plan.name, job.source.file.path, tensor.name.removesuffix(WEIGHT)
        before, codes, scales, sums = hashlib.sha256(), hashlib.sha256(), bytearray(), NOTHING
        try:
            for strip in strips(tensor, reader, self.form.strip_rows):
                before.update(strip.data)
                encoded = encoder.encode(strip, self.amaxes.get(module))
                codes.update(encoded.codes)
                writer.write(encoded.codes)
                scales += encoded.scales
                sums += encoded.sums
        except NotFinite as error:
            raise not_finite(tensor, source_file, error) from None
        rows_, columns = tensor.shape
        small = encoder.constants(self.amaxes.get(module), self.inputs.get(module), (rows_, columns), tensor.dtype)
        made = [rows.made(outputs[0], file, source_file, codes.hexdigest(), before.hexdigest(), sums)]
        for output in outputs[1:]:
            assert output.part is not None
            data = bytes(scales) if output.part.role == SCALES else small[output.part.suffix]
            writer.write(data)
            made.append(rows.made(output, file, source_file, hashlib.sha256(data).hexdigest(), before.hexdigest(), None))
        return made

    def small_shard(self, plan: ShardPlan, made: Sequence[Row]) -> list[Row]:
        """The shard of constants that lie apart, such as activation scales: small enough to be made in memory."""
        sources = {row["source"]["tensor"]: row["source"] for row in made if row["relation"] == "quantized"}
        encoder, out, found = encoder_for(self.form, self.device, self.path, plan), bytearray(), []
        for output in plan.outputs:
            assert output.part is not None
            module, (rows_, columns) = output.source.name.removesuffix(WEIGHT), output.source.shape
            data = encoder.constants(self.amaxes.get(module), self.inputs.get(module), (rows_, columns), output.source.dtype)[
                output.part.suffix
            ]
            out += data
            source = sources[output.source.name]
            found.append(rows.made(output, plan.name, source["file"], hashlib.sha256(data).hexdigest(), source["sha256"], None))
        header = weights.header_bytes([(o.name, o.dtype, o.shape) for o in plan.outputs], dict(self.metadata))
        self.tree.put(plan.name, header + bytes(out), "weights")
        return found

    # ------------------------------------------------------------------------------------------ rows of earlier runs

    def recall(self, key: str) -> dict[str, Any] | None:
        try:
            value = json.loads((self.notes / f"{key}.json").read_bytes())
            return value if isinstance(value["rows"], list) and isinstance(value["sha256"], str) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def note(self, key: str, value: dict[str, Any]) -> None:
        try:
            self.notes.mkdir(parents=True, exist_ok=True)
            scratch = self.notes / f"{key}.{os.getpid()}"
            scratch.write_bytes(canonical.compact(value))
            scratch.replace(self.notes / f"{key}.json")
        except OSError:
            return  # the next run makes the shard again


def outputs_by_source(outputs: Sequence[Output]) -> dict[str, list[Output]]:
    found: dict[str, list[Output]] = {}
    for output in outputs:
        found.setdefault(output.source.name, []).append(output)
    return found


def strips(tensor: Tensor, reader: Reader, strip_rows: int) -> Iterator[Strip]:
    """The tensor's rows in strips of a multiple of `strip_rows`. They share one buffer: each is good until the next is asked for."""
    rows_, columns = tensor.shape
    row_bytes = tensor.size // rows_
    step = max(1, STRIP_BYTES // (row_bytes * strip_rows)) * strip_rows
    room = memoryview(bytearray(min(step, rows_) * row_bytes))
    for start in range(0, rows_, step):
        count = min(step, rows_ - start)
        strip = room[: count * row_bytes]
        if reader.read_into(strip) < len(strip):
            raise EOFError("it ends inside a tensor")
        yield Strip(strip, tensor.dtype, count, columns)


def encoder_for(form: Format, device: str, path: str | None, plan: ShardPlan) -> Encoder:
    """An encoder for the dtype of the shard's quantised tensors, which the choice made one."""
    dtypes = {o.source.dtype for o in plan.outputs if o.part is not None}
    return form.encoder(device, path, dtypes.pop() if dtypes else "BF16")


def encoder_here(form: Format, device: str, path: str | None, dtype: str, where: Where | str) -> Encoder:
    """An encoder for weights of `dtype`. OutsideError where this machine has no path for them."""
    try:
        return form.encoder(device, path, dtype)
    except PathMissing as error:
        message = f"{form.name} of {dtype} weights can't be made on {device} here: {error}"
        raise OutsideError(problem("tool-missing", where, message, "install what is named")) from None


def not_finite(tensor: Tensor, file: str, error: Exception) -> CheckFailed:
    message = f"{tensor.name} holds NaN or Inf ({error}); it can't be quantised"
    return CheckFailed(problem("weights-unusable", file, message, "mend the base, or exclude the module"))


def job_key(form: Format, source: SourcePart, plan: ShardPlan, amaxes: Mapping[str, float], inputs: Mapping[str, float]) -> str:
    """Equal for jobs that give the same bytes: format and its arithmetic, source digest, layout, shared numbers."""
    modules = sorted({o.source.name.removesuffix(WEIGHT) for o in plan.outputs if o.part is not None})
    shared = [[m, repr(amaxes.get(m)), repr(inputs.get(m))] for m in modules]
    layout = [[o.name, o.dtype, list(o.shape)] for o in plan.outputs]
    return key_of("convert", form.name, form.version, content_of(source), plan.name, layout, dict(plan.dropped), shared)


def content_of(source: SourcePart) -> list[Any]:
    """What stands for a source shard's content: the lock's digest, else the identity of the file on this disk."""
    if source.file.digest.sha256:
        return [source.file.digest.sha256]
    path = source.file.on_disk()
    return list(identity_of(path)) if path else []
