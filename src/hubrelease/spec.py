"""release.yaml → Spec: what was asked, as frozen values. Never touches the network or the contents of other files.

The form is schemas/release.schema.json. `load_spec` collects every problem of the file and of its includes and raises
them together as one SpecError; what a later version will support is refused by name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from hubrelease import resources, strict_yaml, suites
from hubrelease.card_rules import card_problems
from hubrelease.errors import Problem, SpecError, Where, problem
from hubrelease.includes import load_merged
from hubrelease.schema_problems import shown, validate
from hubrelease.strict_yaml import Node, pointer_steps, pointer_to
from hubrelease.verify_release import path_fault

FILE_NAME = "release.yaml"
SOURCE_KINDS = ("hf", "git", "folder", "pypi", "image")
DEFAULT_BASE = "base_model"
PASS_THROUGH = ("as-is", "bf16")  # formats under which the source's checkpoint is carried over as it is


@dataclass(frozen=True, slots=True)
class Source:
    """Where bytes come from. `locator` is the repository id, URL, relative folder, NAME==VERSION or image@digest."""

    name: str
    kind: str
    locator: str
    revision: str | None = None
    path: str = ""
    wanted: tuple[str, ...] = ("**",)
    license: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Omission:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Weights:
    """`max_shard_bytes` None keeps the source's own shards; `include` None takes the format's own choice of modules.

    `activation_scales` is (source name or None for a file beside release.yaml, path).
    """

    source: str
    format: str
    max_shard_bytes: int | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    activation_scales: tuple[str | None, str] | None = None

    @property
    def converts(self) -> bool:
        """False where the checkpoint is passed through as it is."""
        return self.format not in PASS_THROUGH


@dataclass(frozen=True, slots=True)
class SideFiles:
    source: str
    omit: tuple[Omission, ...] = ()


@dataclass(frozen=True, slots=True)
class Adapter:
    source: str
    to: str
    base_model: str


@dataclass(frozen=True, slots=True)
class ExtraFile:
    """`source` None: the file lies beside release.yaml."""

    source: str | None
    path: str
    to: str


@dataclass(frozen=True, slots=True)
class Runtime:
    kind: str
    image: str | None
    packages: tuple[str, ...]
    python: str
    platform: str


@dataclass(frozen=True, slots=True)
class Receipt:
    path: str
    to: str
    of: str | None = None
    note: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Waiver:
    code: str
    file: str | None
    reason: str


@dataclass(frozen=True)
class Spec:
    """What release.yaml says. `document` is the merged value as JSON, which provenance embeds unchanged."""

    file: Path
    document: Mapping[str, Any]
    node: Node = field(repr=False, compare=False)
    sources: tuple[Source, ...]
    weights: Weights
    side_files: SideFiles | None
    adapter: Adapter | None
    files: tuple[ExtraFile, ...]
    runtime: Runtime | None
    receipts: tuple[Receipt, ...]
    waivers: tuple[Waiver, ...]

    @property
    def folder(self) -> Path:
        return self.file.parent

    @property
    def name(self) -> str:
        return str(self.document["name"])

    @property
    def version(self) -> str:
        return str(self.document["version"])

    @property
    def license(self) -> str:
        return str(self.document["license"])

    @property
    def card(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.document.get("card", {})
        return found

    def text(self, key: str) -> str | None:
        """A top-level text such as license_reason, or None."""
        value = self.document.get(key)
        return value if isinstance(value, str) else None

    def source(self, name: str) -> Source | None:
        return next((s for s in self.sources if s.name == name), None)

    def where(self, pointer: str = "") -> Where:
        """The file and line that said what `pointer` names."""
        file, line = strict_yaml.find(self.node, pointer)
        return Where(file, line, pointer)


def load_spec(path: str | Path = ".") -> Spec:
    """The Spec of a folder with release.yaml, or of the file itself.

    Raises SpecError with every problem found: YAML, schema, includes, references between keys, unsupported requests.
    Raises OutsideError if the file can't be read.

    Example: `hubrelease.load_spec("examples/minilm").name`
    """
    file = Path(path)
    file = file / FILE_NAME if os.path.isdir(file) else file
    node = load_merged(file)
    schema = resources.schema("release")
    value = strict_yaml.typed(node, schema)

    def locate(pointer: str) -> Where:
        return Where(*strict_yaml.find(node, pointer), pointer)

    faults = faults_of(value, locate)
    if faults:
        raise SpecError(sorted(faults, key=lambda p: (p.where.file, p.where.line or 0)))
    value.pop("include", None)
    return to_spec(file, value, node)


def faults_of(value: dict[str, Any], locate: Callable[[str], Where]) -> list[Problem]:
    """What is wrong with a spec as a JSON value: against the schema, across its keys, and what this version can't do yet."""
    faults = validate(value, resources.schema("release"), locate)
    sound = sound_parts(value, faults)
    faults += [*source_problems(sound, locate), *path_problems(sound, locate), *unsupported(sound, locate)]
    faults += card_problems(sound, locate)
    faults += list(suites.spec_problems(sound["validation"], locate)) if "validation" in sound else []
    faults += [*reference_problems(sound, value.get("sources", {}), locate)] if isinstance(value.get("sources", {}), dict) else []
    return faults


def sound_parts(value: dict[str, Any], faults: Iterable[Problem]) -> dict[str, Any]:
    """The top-level keys, and of `sources` the sources, that fit the schema: rules across keys look at no others."""
    faulty = {tuple(pointer_steps(p.where.pointer or "")[:2]) for p in faults}
    tops = {path[0] for path in faulty if path and path[0] != "sources"} | ({"sources"} if ("sources",) in faulty else set())
    sound = {key: part for key, part in value.items() if key not in tops}
    if "sources" in sound:
        sound["sources"] = {name: s for name, s in sound["sources"].items() if ("sources", name) not in faulty}
    return sound


def override(spec: Spec, **changes: object) -> Spec:
    """The spec with values of `weights` replaced from the command line; the embedded document says so too."""
    document = {**spec.document, "weights": {**spec.document["weights"], **changes}}
    schema = resources.schema("release")
    if problems := validate(document, schema, lambda pointer: Where("command line", None, pointer)):
        raise SpecError(problems)
    return to_spec(spec.file, document, spec.node)


# -------------------------------------------------------------------------------------------------- rules across keys


def source_problems(value: dict[str, Any], locate: Any) -> Iterator[Problem]:
    for name, source in value.get("sources", {}).items():
        at = pointer_to("sources", name)
        kinds = [kind for kind in SOURCE_KINDS if kind in source]
        if len(kinds) != 1:
            said = " and ".join(kinds) or "nothing"
            yield problem(
                "source-invalid", locate(at), f'the source "{name}" gives {said}', "give exactly one of " + ", ".join(SOURCE_KINDS)
            )
        else:
            yield from KIND_RULES[kinds[0]](source, at, locate)


def no_rules(source: dict[str, Any], at: str, locate: Any) -> Iterator[Problem]:
    yield from wanted_problems(source, at, locate)


def pypi_rules(source: dict[str, Any], at: str, locate: Any) -> Iterator[Problem]:
    if "revision" in source:
        yield problem("source-invalid", locate(at + "/revision"), "a wheel has a version, no revision", "remove it")
    yield from wanted_problems(source, at, locate)


def git_rules(source: dict[str, Any], at: str, locate: Any) -> Iterator[Problem]:
    if not re.match(r"(https|ssh|file)://[^-]", source["git"]):
        yield problem(
            "source-invalid",
            locate(at + "/git"),
            f"{shown(source['git'])} is not an https://, ssh:// or file:// address",
            "write the address in that form",
        )
    if re.match(r"https://[^/]*@|[a-z]+://[^/@]*:[^/]*@", source["git"]):
        yield problem(
            "source-invalid", locate(at + "/git"), "the address holds a password or token", "remove it; use git's own credential helper"
        )
    if source.get("revision", "").startswith("-"):
        yield problem("source-invalid", locate(at + "/revision"), "a revision can't begin with '-'", "correct it")
    yield from wanted_problems(source, at, locate)


def folder_rules(source: dict[str, Any], at: str, locate: Any) -> Iterator[Problem]:
    if source["folder"].startswith(("/", "~", "\\")) or re.match("[A-Za-z]:", source["folder"]):
        yield problem(
            "source-invalid",
            locate(at + "/folder"),
            f"{shown(source['folder'])} is absolute, and would name this machine in the release",
            "write it relative to release.yaml",
        )
    if "revision" in source:
        yield problem("source-invalid", locate(at + "/revision"), "a folder has no revision", "remove it")
    yield from wanted_problems(source, at, locate)


def image_rules(source: dict[str, Any], at: str, locate: Any) -> Iterator[Problem]:
    yield from image_problems(source["image"], locate(at + "/image"))
    for key in ("revision", "path", "files"):
        if key in source:
            yield problem("source-invalid", locate(f"{at}/{key}"), f'"{key}" has no meaning for an image', "remove it")


def image_problems(image: str, where: Where) -> Iterator[Problem]:
    if not re.fullmatch(r"[a-z0-9][A-Za-z0-9._:/-]*@sha256:[0-9a-f]{64}", image):
        name = image.split("@", maxsplit=1)[0]
        yield problem(
            "image-without-digest",
            where,
            f"{shown(image)} has no digest",
            f"find it with `docker buildx imagetools inspect {name[:100]}` and write {name[:100]}@sha256:DIGEST",
        )


def wanted_problems(source: dict[str, Any], at: str, locate: Any) -> Iterator[Problem]:
    paths = [("path", source.get("path"))] + [(f"files/{i}", p) for i, p in enumerate(source.get("files", ()))]
    for key, path in paths:
        if path is not None and (path.startswith("/") or ".." in path.split("/") or "\\" in path):
            yield problem("source-invalid", locate(f"{at}/{key}"), f"{shown(path)} leaves the source", "write a path inside it")


KIND_RULES = {"hf": no_rules, "git": git_rules, "folder": folder_rules, "pypi": pypi_rules, "image": image_rules}


def reference_problems(value: dict[str, Any], sources: Collection[str], locate: Any) -> Iterator[Problem]:
    """Names of sources that do not exist."""
    for pointer, name in source_references(value):
        if name not in sources:
            listed = ", ".join(sources) or "none"
            yield problem(
                "source-unknown",
                locate(pointer),
                f"there is no source {shown(name)} (sources: {listed})",
                "correct the name, or add it",
            )
    image = value.get("runtime", {}).get("image")
    if image and image not in sources:
        yield from image_problems(image, locate("/runtime/image"))


def path_problems(value: dict[str, Any], locate: Any) -> Iterator[Problem]:
    """Paths that can't be part of a release, two files for one path, and packages without a version."""
    taken: dict[str, str] = {}
    for pointer, path in release_paths(value):
        fault = path_fault(path.removesuffix("/"))
        if fault or path in taken:
            message = f"{shown(path)} {fault or f'is also the path of {taken[path]}'}"
            yield problem("path-invalid", locate(pointer), message, "write a path inside the release that nothing else has")
        taken[path] = pointer
    for number, package in enumerate(value.get("runtime", {}).get("packages", ())):
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?==[A-Za-z0-9.!+_-]+", package):
            yield problem(
                "packages-unpinned",
                locate(f"/runtime/packages/{number}"),
                f"{shown(package)} has no exact version",
                "write NAME==VERSION",
            )


def source_references(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("weights", "side_files", "adapter"):
        for inner in ("source", "base_model"):
            if inner in value.get(key, {}):
                yield f"/{key}/{inner}", value[key][inner]
    scales = value.get("weights", {}).get("activation_scales", {})
    if "source" in scales:
        yield "/weights/activation_scales/source", scales["source"]
    for number, item in enumerate(value.get("files", ())):
        if "source" in item:
            yield f"/files/{number}/source", item["source"]


def release_paths(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for number, item in enumerate(value.get("card", {}).get("plots", ())):
        yield f"/card/plots/{number}/file", item["file"]
    for number, item in enumerate(value.get("files", ())):
        yield f"/files/{number}/to", item["to"]
    for number, item in enumerate(value.get("benchmarks", ())):
        yield f"/benchmarks/{number}/{'as' if 'as' in item else 'receipt'}", receipt_path(item)
    if "to" in value.get("adapter", {}):
        yield "/adapter/to", value["adapter"]["to"]


SUPPORTED_FORMATS = (*PASS_THROUGH, "fp8_block", "fp8_dynamic", "nvfp4a16", "nvfp4", "modelopt_nvfp4", "w8a16", "w4a16")
SUPPORTED_RUNTIMES = ("verify", "sm120")
LATER: dict[str, str] = {
    "/publish/sha256sums": "SHA256SUMS",
    "/publish/manifest": "manifest.json",
    "/publish/repo_id": "publishing",
    "/publish/private": "publishing",
    "/publish/unvalidated": "publishing",
    "/adapter/name": "a name for the adapter",
}


def unsupported(value: dict[str, Any], locate: Any) -> Iterator[Problem]:
    """What this version can't do yet is refused by name, never ignored."""
    wanted = value.get("weights", {}).get("format", SUPPORTED_FORMATS[0])
    if wanted not in SUPPORTED_FORMATS:
        yield problem(
            "not-supported",
            locate("/weights/format"),
            f"conversion to {wanted} is not supported by this version",
            f"choose one of {', '.join(SUPPORTED_FORMATS)}",
        )
    elif wanted not in PASS_THROUGH and "max_shard_size" in value["weights"]:
        message = "re-sharding together with conversion is not supported by this version"
        yield problem("not-supported", locate("/weights/max_shard_size"), message, "remove it; shards keep the base's own cuts")
    for key in ("include", "exclude", "options", "activation_scales"):
        if wanted in PASS_THROUGH and key in value.get("weights", {}):
            yield problem(
                "not-supported", locate(f"/weights/{key}"), f"{key} has no meaning for {wanted}: nothing is converted", "remove it"
            )
    for pointer, what in LATER.items():
        inner: Any = value
        for step in pointer.split("/")[1:]:
            inner = inner.get(step) if isinstance(inner, dict) else None
        if inner is not None:
            yield problem("not-supported", locate(pointer), f"{what} is not supported by this version", "remove the key")
    kind = value.get("runtime", {}).get("kind", SUPPORTED_RUNTIMES[0])
    if kind not in SUPPORTED_RUNTIMES:
        mend = f"use {' or '.join(SUPPORTED_RUNTIMES)}"
        yield problem("not-supported", locate("/runtime/kind"), f"the runtime {kind} is not supported by this version", mend)


# ---------------------------------------------------------------------------------------------------------- to values


def to_spec(file: Path, value: dict[str, Any], node: Node) -> Spec:
    base = value["weights"].get("source", DEFAULT_BASE)
    return Spec(
        file=file,
        document=value,
        node=node,
        sources=tuple(to_source(name, s) for name, s in value.get("sources", {}).items()),
        weights=to_weights(value["weights"], base),
        side_files=to_side_files(value.get("side_files", {}), base),
        adapter=to_adapter(value.get("adapter")),
        files=tuple(ExtraFile(f.get("source"), f["from"], f["to"].strip("/")) for f in value.get("files", ())),
        runtime=to_runtime(value.get("runtime")),
        receipts=tuple(to_receipt(r) for r in value.get("benchmarks", ())),
        waivers=tuple(Waiver(w["code"], w.get("file"), w["reason"]) for w in value.get("waive", ())),
    )


def to_source(name: str, value: dict[str, Any]) -> Source:
    kind = next(kind for kind in SOURCE_KINDS if kind in value)
    default = {"hf": "main", "git": "HEAD"}.get(kind)
    return Source(
        name,
        kind,
        value[kind],
        value.get("revision", default),
        value.get("path", "").strip("/"),
        tuple(value.get("files", ("**",))),
        value.get("license"),
        value.get("note"),
    )


def to_weights(value: dict[str, Any], base: str) -> Weights:
    scales, include = value.get("activation_scales"), value.get("include")
    return Weights(
        base,
        value["format"],
        shard_bytes(value.get("max_shard_size")),
        tuple(include) if include is not None else None,
        tuple(value.get("exclude", ())),
        value.get("options", {}),
        (scales.get("source"), scales["path"]) if scales else None,
    )


def to_side_files(value: dict[str, Any], base: str) -> SideFiles:
    return SideFiles(value.get("source", base), tuple(Omission(o["path"], o["reason"]) for o in value.get("omit", ())))


def to_adapter(value: dict[str, Any] | None) -> Adapter | None:
    if value is None:
        return None
    return Adapter(value["source"], value.get("to", "adapter").strip("/"), value.get("base_model", DEFAULT_BASE))


def to_runtime(value: dict[str, Any] | None) -> Runtime | None:
    if value is None:
        return None
    return Runtime(
        value["kind"],
        value.get("image"),
        tuple(value.get("packages", ())),
        value.get("python", "3.12"),
        value.get("platform", "manylinux_2_28_x86_64"),
    )


def to_receipt(value: dict[str, Any]) -> Receipt:
    return Receipt(value["receipt"], receipt_path(value), value.get("of"), value.get("note"), value.get("kind"))


def receipt_path(value: dict[str, Any]) -> str:
    """Where a receipt lies in the release."""
    return str(value.get("as", f"benchmarks/{value['receipt'].rsplit('/', 1)[-1]}"))


UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def shard_bytes(size: str | int | None) -> int | None:
    """Bytes of `5GB` (decimal), `5GiB` (binary) or a plain number; None stays None."""
    if size is None or isinstance(size, int):
        return size
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kMGT]i?)?B", size)
    assert match, size  # the schema has the same pattern
    return max(1, int(Decimal(match[1]) * UNITS[match[2] or ""]))
