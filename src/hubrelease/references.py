"""Files that configs name and that a loader would open: tokenizer files, modules of sentence-transformers, ONNX graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from hubrelease.containers import folder_of
from hubrelease.models import as_mapping
from hubrelease.strict_yaml import pointer_to

if TYPE_CHECKING:
    from hubrelease.release import Release

CONFIG = re.compile(r"(?!(benchmarks|examples|docs|\.cache)/).*\.json")
NOT_CONFIGS = re.compile(
    r"(.*/)?(tokenizer|vocab|added_tokens|.*\.index|MODEL_PROVENANCE|.*manifest|trainer_state|training_args|.*results?.*)\.json"
)
FILE_KEY = re.compile(r".*_file|filename|source_spm|target_spm|sp_model|spm|bpe_codes|bpe_vocab")
LEFTOVERS = re.compile(
    r"(train|training|eval|evaluation|valid|validation|test|data|dataset|log|output|out|cache|prompt|config|deepspeed|results?|hub_strategy)\w*_file"
)
NEVER_OPENED = ("special_tokens_map_file", "added_tokens_file", "chat_template_file")  # transformers reads its own, whatever these say
OPENED = ("vocab_file", "merges_file", "tokenizer_file", "spm_file", "source_spm", "target_spm", "bpe_codes")
CONFIGURED = ("Pooling", "Dense", "WordEmbeddings", "CNN", "LSTM", "WeightedLayerPooling")
MAX_VALUES = 100_000
MAX_BYTES = 2**20


class NamedFile(NamedTuple):
    """A file that the value at `pointer` of `file` names."""

    file: str
    pointer: str
    key: str
    said: str

    @property
    def fault(self) -> str | None:
        """Why it can't be a file of the release, or None."""
        said = self.said
        if re.match(r"file:|~|[A-Za-z]:[\\/]|\\\\", said) or said.startswith("/"):
            return "is a path of one machine"
        parts = re.split(r"[\\/]", said)
        depth = 0
        for part in parts:
            depth += -1 if part == ".." else 0 if part in ("", ".") else 1
            if depth < -folder_depth(self.file):
                return "leaves the folder of the release"
        return None

    @property
    def path(self) -> str:
        """Where in the release it should be, `..` and `.` worked out."""
        parts: list[str] = [p for p in folder_of(self.file).split("/") if p]
        for part in re.split(r"[\\/]", self.said):
            if part == "..":
                parts = parts[:-1]
            elif part not in ("", "."):
                parts.append(part)
        return "/".join(parts)


def folder_depth(path: str) -> int:
    return path.count("/")


def named_files(release: Release) -> Iterator[NamedFile]:
    for path in sorted(release.files):
        entry = release.result.entries.get(path)
        small = path in release.overlay or (entry is not None and entry.size <= MAX_BYTES)
        if small and CONFIG.fullmatch(path) and not NOT_CONFIGS.fullmatch(path):
            yield from in_value(path, release.json(path))


def in_value(path: str, value: Any) -> Iterator[NamedFile]:
    """Walks a JSON value with a stack of its own, at most MAX_VALUES deep and wide."""
    name = path.rpartition("/")[2]
    todo: list[tuple[tuple[object, ...], Any]] = [((), value)]
    for _ in range(MAX_VALUES):
        if not todo:
            return
        steps, item = todo.pop()
        if isinstance(item, dict):
            todo += [((*steps, key), below) for key, below in item.items()]
        elif isinstance(item, list):
            todo += [((*steps, number), below) for number, below in enumerate(item)]
        elif isinstance(item, str) and item and steps and isinstance(key := steps[-1], str) and is_file_key(name, key):
            yield NamedFile(path, pointer_to(*steps), key, item)


def is_file_key(name: str, key: str) -> bool:
    if name == "modules.json":
        return key == "path"
    return FILE_KEY.fullmatch(key) is not None and LEFTOVERS.fullmatch(key) is None


def faulty_files(release: Release) -> Iterator[tuple[NamedFile, str]]:
    """Those that leave the release or name a place on one machine, with the reason."""
    for found in named_files(release):
        fault = found.fault
        if fault and not (found.key in NEVER_OPENED and ".." not in found.said):
            yield found, fault


def has_fast_tokenizer(release: Release, folder: str) -> bool:
    return (f"{folder}/tokenizer.json" if folder else "tokenizer.json") in release.files


def as_rows(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def pooling_modules(release: Release, path: str) -> Iterator[tuple[int, str]]:
    """(row, folder) of the modules of modules.json that can't be loaded without a config of their own."""
    for number, row in enumerate(as_rows(release.json(path))):
        kind, place = as_mapping(row).get("type"), as_mapping(row).get("path")
        library, _, name = kind.rpartition(".") if isinstance(kind, str) else ("", "", "")
        if isinstance(place, str) and place and name in CONFIGURED and library.startswith("sentence_transformers."):
            yield number, place
