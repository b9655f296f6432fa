"""The chat templates of a release, wherever they live: files of their own, keys of JSON files, keys of GGUF files."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from hubrelease.containers import folder_of
from hubrelease.strict_yaml import Scalar, Sequence

if TYPE_CHECKING:
    from hubrelease.release import Release

FILES = re.compile(r"(.*/)?(chat_template\.(jinja2?|j2)|additional_chat_templates/[^/]+\.jinja2?)")
HOLDERS = ("tokenizer_config.json", "chat_template.json", "processor_config.json", "preprocessor_config.json")
GGUF_KEY = b"tokenizer.chat_template"
MAX_BYTES = 2**20  # of a template; the longest in use has some 20 kB
MAX_GGUF_HEAD = 16 * 2**20  # keys and vocabulary of every model in use


class Template(NamedTuple):
    """A template; `text` is None where it is there and can't be read as text."""

    file: str
    pointer: str | None
    text: str | None


def templates(release: Release) -> Iterator[Template]:
    for path in sorted(release.files):
        name = path.rpartition("/")[2]
        if FILES.fullmatch(path):
            yield Template(path, None, text_of(release, path))
        elif name in HOLDERS:
            yield from in_json(path, release.config(path).get("chat_template"))
    for path, file in release.containers.ggufs.items():
        for key in file.keys:
            if key.startswith("tokenizer.chat_template"):
                yield Template(path, f"/{key}", in_gguf(release, path) if key == GGUF_KEY.decode() else None)


def in_json(path: str, value: Any) -> Iterator[Template]:
    """A template as one text, or as a list of named ones."""
    if isinstance(value, str):
        yield Template(path, "/chat_template", value)
    for number, row in enumerate(value if isinstance(value, list) else ()):
        if isinstance(row, dict) and isinstance(row.get("template"), str):
            yield Template(path, f"/chat_template/{number}/template", row["template"])
    for name, text in value.items() if isinstance(value, dict) else ():
        if isinstance(text, str):
            yield Template(path, f"/chat_template/{name}", text)


def text_of(release: Release, path: str) -> str | None:
    try:
        data = release.read(path, MAX_BYTES)
    except OSError:
        return None
    return None if data is None else data.decode("utf-8", "replace")


def in_gguf(release: Release, path: str) -> str | None:
    """The text under tokenizer.chat_template: its key is followed by the type of a string, its length and its bytes."""
    try:
        fd, _ = release.folder.open_file(path)
    except OSError:
        return None
    try:
        head = os.pread(fd, MAX_GGUF_HEAD, 0)
    finally:
        os.close(fd)
    mark = struct.pack("<Q", len(GGUF_KEY)) + GGUF_KEY + struct.pack("<I", 8)
    start = head.find(mark) + len(mark)
    if start < len(mark) or start + 8 > len(head):
        return None
    (length,) = struct.unpack_from("<Q", head, start)
    return head[start + 8 : start + 8 + length].decode("utf-8", "replace") if length <= MAX_BYTES else None


def home(template: Template) -> str:
    """The folder whose tokenizer the template belongs to."""
    folder = folder_of(template.file)
    return folder_of(folder) if folder.rpartition("/")[2] == "additional_chat_templates" else folder


def is_conversational(release: Release) -> bool:
    """True if the card is tagged so."""
    tags = release.card.front.get("tags") if release.card else None
    return isinstance(tags, Sequence) and any(isinstance(t, Scalar) and t.text == "conversational" for t in tags.items)
