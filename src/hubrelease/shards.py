"""Names of shards: `<prefix>-00001-of-00007.<suffix>`, one-based, as every writer spells them (widths differ: DeepSeek has six digits)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hubrelease.containers import folder_of

FORM = re.compile(r"(?P<prefix>.*)-(?P<number>\d{1,9})-of-(?P<total>\d{1,9})\.(?P<suffix>safetensors|gguf)")


class ShardName(NamedTuple):
    """What a shard's path says. `key` is the same for all shards of one set."""

    key: tuple[str, str, int, str]  # folder, prefix, total, suffix
    number: int

    @property
    def total(self) -> int:
        return self.key[2]


def shard_name(path: str) -> ShardName | None:
    folder = folder_of(path)
    match = FORM.fullmatch(path[len(folder) + 1 :] if folder else path)
    return ShardName((folder, match["prefix"], int(match["total"]), match["suffix"]), int(match["number"])) if match else None


def shard_groups(paths: Iterable[str]) -> Mapping[tuple[str, str, int, str], dict[int, str]]:
    """{key: {number: path}} of the paths that are named as shards."""
    groups: dict[tuple[str, str, int, str], dict[int, str]] = {}
    for path in paths:
        if found := shard_name(path):
            groups.setdefault(found.key, {})[found.number] = path
    return groups


def sibling(path: str, number: int) -> str:
    """The path of another shard of the same set."""
    match = FORM.fullmatch(path)
    assert match is not None
    return f"{path[: match.start('number')]}{number:0{len(match['number'])}d}{path[match.end('number') :]}"
