"""Baseten Truss configurations (config.yaml with docker_server): what truss 0.18.36 takes and what its servers then need."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hubrelease import strict_yaml
from hubrelease.errors import SpecError
from hubrelease.strict_yaml import Mapping, Node, Scalar, Sequence, pointer_to

if TYPE_CHECKING:
    from hubrelease.release import Release

MODEL_OPTIONS = ("--model", "--model-path", "--tokenizer", "--tokenizer-path", "--draft-model", "--speculative-model")


@dataclass(frozen=True)
class TrussConfig:
    file: str
    root: Mapping

    def section(self, key: str) -> Mapping | None:
        node = self.root.get(key)
        return node if isinstance(node, Mapping) else None

    @property
    def server(self) -> Mapping | None:
        return self.section("docker_server")

    @property
    def command(self) -> list[str]:
        """The words of docker_server.start_command."""
        text = text_at(self.server, "start_command") or ""
        try:
            return shlex.split(text)
        except ValueError:
            return text.split()

    def rows(self, key: str) -> Iterator[tuple[str, Mapping]]:
        """(pointer, row) of the mappings in the list `key`."""
        node = self.root.get(key)
        for number, item in enumerate(node.items if isinstance(node, Sequence) else ()):
            if isinstance(item, Mapping):
                yield pointer_to(key, number), item

    @property
    def mounts(self) -> set[str]:
        found = {text_at(row, "mount_location") for _, row in self.rows("weights")}
        found |= {
            f"/app/model_cache/{text_at(row, 'volume_folder')}" for _, row in self.rows("model_cache") if text_at(row, "volume_folder")
        }
        return {m.rstrip("/") for m in found if m}

    @property
    def model_paths(self) -> list[str]:
        """Absolute paths of models that the command names."""
        words, found = self.command, []
        for word, following in zip(words, [*words[1:], ""], strict=False):
            option, equals, value = word.partition("=")
            if option in MODEL_OPTIONS:
                found.append(value if equals else following)
            elif word == "serve" and not following.startswith("-"):
                found.append(following)
        return [path for path in found if path.startswith("/")]

    def option(self, *names: str) -> str | None:
        words = self.command
        for word, following in zip(words, [*words[1:], ""], strict=False):
            option, equals, value = word.partition("=")
            if option in names:
                return value if equals else following
        return None


def text_at(node: Node | None, key: str) -> str | None:
    found = node.get(key) if isinstance(node, Mapping) else None
    return found.text if isinstance(found, Scalar) else None


def configs(release: Release) -> Iterator[TrussConfig]:
    for path in sorted(release.files):
        if re.fullmatch(r"(.*/)?(config|truss[\w-]*)\.ya?ml", path):
            try:
                data = release.read(path, strict_yaml.MAX_BYTES)
                root = strict_yaml.compose(data, path) if data else None
            except (OSError, SpecError):
                continue  # not ours to judge: other YAML may hold anchors
            if isinstance(root, Mapping) and (root.get("docker_server") or (root.get("base_image") and root.get("resources"))):
                yield TrussConfig(path, root)
