"""verify --rederive: tensors derived again from the pinned base, and compared bit for bit with the release's.

Quantised weights are quantised again, carried ones compared as they are. Only what is needed is fetched: the header of a
base shard and the byte ranges of the selected tensors and of siblings that share a global scale. A base on the Hub is read
at the commit that provenance pins; a base that was a local folder is read from the folder that the caller names. Activation
scales came from a file, so they are not derived.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hubrelease import weights
from hubrelease.containers import Located
from hubrelease.conversion.engine import encoder_here
from hubrelease.conversion.rows import MANIFEST
from hubrelease.conversion.rules import WEIGHT, fits, fused_groups
from hubrelease.conversion.selection import Rederived, Selection
from hubrelease.errors import CheckFailed, OutsideError, Problem, Where, problem
from hubrelease.formats import Encoder, Format, NotFinite, Strip, named
from hubrelease.formats._format import SCALES
from hubrelease.hub import Hub
from hubrelease.release import Release
from hubrelease.verify_release import Folder
from hubrelease.weights import ContainerFault, Tensor

ReadRange = Callable[[str, int, int], bytes]  # (file, start, size) of the base
STRIP_BYTES = 8 * 2**20
INPUTS = (".input_scale", ".input_global_scale")
DERIVABLE = ("quantized", "identical", "renamed")


def rederive(release: Release, asked: Selection, read: ReadRange, progress: Callable[[int], None]) -> Rederived:
    """Derives the selected weights again. CheckFailed where the release has no manifest that can be used."""
    manifest = manifest_of(release)
    form = form_of(manifest, release.spec)
    rows = [row for row in manifest["tensors"] if row["relation"] in DERIVABLE]
    chosen = select(rows, asked)
    base = Base(read)
    quantised = [row for row in rows if row["relation"] == "quantized"]
    encoder = encoder_here(form, "cpu", None, quantised[0]["source"]["dtype"], MANIFEST) if quantised else None
    shared = SharedAmax(quantised, form, base)
    problems: list[Problem] = []
    for row in chosen:
        if row["relation"] == "quantized":
            assert encoder is not None
            problems += compare(release, row, base, encoder, shared)
        else:
            problems += compare_carried(release, row, base)
        progress(1)
    problems += unaccounted(base, manifest["tensors"])
    return Rederived(tuple(row["source"]["tensor"] for row in chosen), len(rows), tuple(problems))


def manifest_of(release: Release) -> dict[str, Any]:
    value = release.config(MANIFEST)
    rows = value.get("tensors")
    if not isinstance(rows, list) or not all(well_formed(row) for row in rows):
        mend = "only releases whose weights hubrelease converted can be derived again"
        raise CheckFailed(problem("rederive-impossible", MANIFEST, "is absent or malformed", mend))
    return dict(value)


def well_formed(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("source"), dict) or not isinstance(row.get("name"), str):
        return False
    source = row["source"]
    texts = all(isinstance(source.get(key), str) for key in ("file", "tensor", "dtype", "sha256"))
    return texts and isinstance(row.get("relation"), str) and (row["relation"] == "dropped" or isinstance(row.get("file"), str))


def form_of(manifest: Mapping[str, Any], spec: Mapping[str, Any]) -> Format:
    asked = spec.get("weights")
    options = asked.get("options", {}) if isinstance(asked, dict) else {}
    try:
        return named(str(manifest.get("format")), options if isinstance(options, dict) else {})
    except (KeyError, ValueError, TypeError) as error:
        where = Where(MANIFEST, None, "/format")
        raise CheckFailed(
            problem(
                "rederive-impossible", where, f"names a format or option that this version lacks: {error}", "use the version that made it"
            )
        ) from None


def select(rows: Sequence[Mapping[str, Any]], asked: Selection) -> list[Mapping[str, Any]]:
    ordered = sorted(rows, key=lambda row: str(row["name"]))
    if asked.pattern is not None:
        found = [
            row
            for row in ordered
            if fits(row["source"]["tensor"], (asked.pattern,)) or fits(row["source"]["tensor"].removesuffix(WEIGHT), (asked.pattern,))
        ]
        if not found:
            raise CheckFailed(
                problem("rederive-impossible", MANIFEST, f'no tensor from the base fits "{asked.pattern}"', "correct --tensor")
            )
        return found
    if asked.sample is None or asked.sample >= len(ordered):
        return ordered
    return sorted(random.Random(0).sample(ordered, asked.sample), key=lambda row: str(row["name"]))  # noqa: S311  the same sample each time


class Base:
    """The base's shards by byte range; headers once."""

    def __init__(self, read: ReadRange) -> None:
        self.read = read
        self.headers: dict[str, dict[str, tuple[Tensor, int]]] = {}

    def tensor(self, file: str, name: str) -> tuple[Tensor, int]:
        """The tensor and its first byte in the file. CheckFailed if the base has no such tensor."""
        if file not in self.headers:
            self.headers[file] = self.header(file)
        found = self.headers[file].get(name)
        if found is None:
            raise CheckFailed(
                problem(
                    "rederive-differs", file, f"the base's {file} has no tensor {name}", "the manifest names another base than provenance"
                )
            )
        return found

    def header(self, file: str) -> dict[str, tuple[Tensor, int]]:
        size = 2**62  # the end of the file is not known here; offsets are checked where they are read
        try:
            text = self.read(file, 8, weights.header_length(self.read(file, 0, 8), size))
            header, _ = weights.parse_header(text, size)
        except ContainerFault as fault:
            raise CheckFailed(
                [problem("rederive-differs", file, f"the base's {file}: {f.message}", "fetch it again") for f in fault.faults]
            ) from None
        if header is None:
            raise CheckFailed(problem("rederive-differs", file, f"the base's {file} has no readable header", "fetch it again"))
        return {t.name: (t, header.data_start) for t in header.tensors}

    def pieces(self, file: str, name: str) -> Iterator[bytes]:
        """The tensor's bytes."""
        tensor, start = self.tensor(file, name)
        for at in range(0, tensor.size, STRIP_BYTES):
            yield self.whole(file, name, start + tensor.begin + at, min(STRIP_BYTES, tensor.size - at))

    def whole(self, file: str, name: str, start: int, size: int) -> bytes:
        data = self.read(file, start, size)
        if len(data) != size:
            raise CheckFailed(problem("rederive-differs", file, f"the base's {file} ends within {name}", "fetch it again"))
        return data

    def strips(self, file: str, name: str, strip_rows: int, digest: Any = None) -> Iterator[Strip]:
        """The tensor's rows in strips; each byte read passes through `digest` if one is given."""
        tensor, start = self.tensor(file, name)
        rows, columns = tensor.shape
        row_bytes = tensor.size // rows
        step = max(1, STRIP_BYTES // (row_bytes * strip_rows)) * strip_rows
        for first in range(0, rows, step):
            count = min(step, rows - first)
            data = self.whole(file, name, start + tensor.begin + first * row_bytes, count * row_bytes)
            if digest is not None:
                digest.update(data)
            yield Strip(bytearray(data), tensor.dtype, count, columns)


class SharedAmax:
    """The largest amax of a module and its fused siblings, read from the base when it is first needed."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], form: Format, base: Base) -> None:
        self.form, self.base = form, base
        self.files = {row["source"]["tensor"].removesuffix(WEIGHT): row["source"]["file"] for row in rows}
        self.groups = {module: group for group in fused_groups(self.files, form.fused) for module in group}
        self.known: dict[str, float] = {}

    def of(self, module: str, encoder: Encoder) -> float | None:
        if not self.form.needs_shared_amax:
            return None
        return max(self.one(member, encoder) for member in self.groups.get(module, (module,)))

    def one(self, module: str, encoder: Encoder) -> float:
        if module not in self.known:
            strips = self.base.strips(self.files[module], module + WEIGHT, self.form.strip_rows)
            self.known[module] = max(encoder.amax(strip) for strip in strips)
        return self.known[module]


def compare(release: Release, row: Mapping[str, Any], base: Base, encoder: Encoder, shared: SharedAmax) -> Iterator[Problem]:
    """A Problem for each tensor of a module that differs from what the base gives, and for a base that is another."""
    source = row["source"]
    module, digest = source["tensor"].removesuffix(WEIGHT), hashlib.sha256()
    try:
        amax = shared.of(module, encoder)
        codes, scales = hashlib.sha256(), bytearray()
        for strip in base.strips(source["file"], source["tensor"], encoder.form.strip_rows, digest):
            done = encoder.encode(strip, amax)
            codes.update(done.codes)
            scales += done.scales
    except NotFinite as error:
        yield problem(
            "rederive-differs", Where(row["file"], None, None, row["name"]), f"the base holds NaN or Inf ({error})", "quantise another base"
        )
        return
    if digest.hexdigest() != source["sha256"]:
        yield differs(row["file"], row["name"], "the base's own bytes are not those that the manifest says")
    tensor, _ = base.tensor(source["file"], source["tensor"])
    yield from parts_that_differ(
        release, module, (tensor.shape[0], tensor.shape[1]), tensor.dtype, codes.hexdigest(), bytes(scales), amax, encoder
    )


def compare_carried(release: Release, row: Mapping[str, Any], base: Base) -> Iterator[Problem]:
    """A Problem for a tensor that should have the base's bytes, dtype and shape and has not."""
    source = row["source"]
    digest = hashlib.sha256()
    for data in base.pieces(source["file"], source["tensor"]):
        digest.update(data)
    if digest.hexdigest() != source["sha256"]:
        yield differs(row["file"], row["name"], "the base's own bytes are not those that the manifest says")
    held = held_tensors(release).get(row["name"])
    if held is None:
        yield differs(row["file"], row["name"], "is absent from the release")
        return
    tensor, _ = base.tensor(source["file"], source["tensor"])
    if (held.tensor.dtype, held.tensor.shape) != (tensor.dtype, tensor.shape) or digest_of(release, held) != digest.hexdigest():
        yield differs(held.file, row["name"], "differs from the pinned base's, which it should equal")


def unaccounted(base: Base, rows: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Tensors of the base's shards that were read and that no row of the manifest mentions."""
    told = {(row["source"]["file"], row["source"]["tensor"]) for row in rows}
    for file, header in base.headers.items():
        for name in sorted(name for name in header if (file, name) not in told):
            where = Where(MANIFEST, None, "/tensors", name)
            yield problem("rederive-differs", where, f"the base's {file} has {name}, of which the manifest says nothing",
                          "convert again: each tensor of the base is carried, quantised or dropped with a reason")  # fmt: skip


def held_tensors(release: Release) -> dict[str, Located]:
    """Tensors of the release with the file that each lies in."""
    return {name: located for found in release.containers.sets for name, located in found.tensors.items()}


def digest_of(release: Release, located: Located) -> str:
    found = hashlib.sha256()
    for chunk in release.containers.chunks(located):
        found.update(chunk)
    return found.hexdigest()


def parts_that_differ(release: Release, module: str, shape: tuple[int, int], dtype: str, codes: str, scales: bytes, amax: float | None,
                      encoder: Encoder) -> Iterator[Problem]:  # fmt: skip
    held = held_tensors(release)
    parts = encoder.form.parts(shape[0], shape[1], dtype)
    constants = constants_without_inputs(encoder, amax, shape, dtype)
    for number, part in enumerate(p for p in parts if p.suffix not in INPUTS):
        name = module + part.suffix
        if name not in held:
            yield differs("model.safetensors.index.json", name, "is absent from the release")
            continue
        want = codes if number == 0 else hashlib.sha256(scales if part.role == SCALES else constants[part.suffix]).hexdigest()
        if digest_of(release, held[name]) != want:
            yield differs(held[name].file, name, "differs from what the pinned base gives")


def constants_without_inputs(encoder: Encoder, amax: float | None, shape: tuple[int, int], dtype: str) -> dict[str, bytes]:
    """The constants that follow from the weight alone; those of activations are computed with a stand-in and left out."""
    return {k: v for k, v in encoder.constants(amax, 1.0, shape, dtype).items() if k not in INPUTS}


def differs(file: str, tensor: str, message: str) -> Problem:
    return problem(
        "rederive-differs", Where(file, None, None, tensor), f"{tensor} {message}", "don't use it: the weights are not those of the base"
    )


# ------------------------------------------------------------------------------------------------------ where the base is


def base_reader(release: Release, hub: Hub, folder: Path | None) -> ReadRange:
    """How to read the base that provenance pins: from the Hub, or from `folder` where the caller names one."""
    name, uri, digest = base_dependency(release)
    if folder is not None:
        return folder_reader(folder)
    if uri.startswith("hf://") and len(digest) == 40:
        path = source_path(release, name)
        return lambda file, start, size: hub.read_range(uri.removeprefix("hf://"), digest, path + file, start, size)
    mend = "fetch the base and name its folder with --base"
    raise OutsideError(problem("source-unreachable", uri or MANIFEST, "the base is not on the Hub at a pinned commit", mend))


def source_path(release: Release, name: str) -> str:
    sources = release.spec.get("sources")
    source = sources.get(name) if isinstance(sources, dict) else None
    path = source.get("path") if isinstance(source, dict) else None
    return f"{path.strip('/')}/" if isinstance(path, str) and path.strip("/") else ""


def base_dependency(release: Release) -> tuple[str, str, str]:
    """(name, uri, commit or digest) of the weights' source in provenance."""
    asked = release.spec.get("weights")
    name = asked.get("source", "base_model") if isinstance(asked, dict) else "base_model"
    value: Any = release.document
    for step in ("predicate", "buildDefinition", "resolvedDependencies"):
        value = value.get(step) if isinstance(value, dict) else None
    for row in value if isinstance(value, list) else ():
        if isinstance(row, dict) and row.get("name") == name and isinstance(row.get("uri"), str):
            digest = row.get("digest")
            found = next((v for v in digest.values() if isinstance(v, str)), "") if isinstance(digest, dict) else ""
            return str(name), row["uri"], found
    return str(name), "", ""


def folder_reader(folder: Path) -> ReadRange:
    import os

    held = Folder(folder)

    def read(file: str, start: int, size: int) -> bytes:
        try:
            fd, _ = held.open_file(file)
        except OSError as error:
            raise OutsideError(
                problem("source-unreachable", f"{folder}/{file}", f"could not be read: {error.strerror}", "correct --base")
            ) from None
        try:
            return os.pread(fd, size, start)
        finally:
            os.close(fd)

    return read
