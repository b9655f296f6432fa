"""Dockerfiles: instructions with their lines, images that they build on, variables, and the pip installs of their RUN lines.

As the Dockerfile reference has it (docs.docker.com/reference/dockerfile): comments, line continuations with the escape
that a directive may change, heredocs, stages by name or number, ARG before the first FROM. Shell is not run: words of a
RUN line are taken apart with shlex, variables replaced where a value is known.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hubrelease.release import Release

NAME = re.compile(r"(.*/)?(Dockerfile|Containerfile)(\.[\w.-]+)?|.*\.(Dockerfile|dockerfile|containerfile)")
NOT_ONES = re.compile(r".*\.(md|txt|json|py|dockerignore|tmpl|j2|jinja)$")
VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?[-+]([^}]*))?\}|(\w+))")
HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
MAX_BYTES, MAX_INSTRUCTIONS, MAX_VALUE = 2**20, 5000, 4000


class Instruction(NamedTuple):
    """`word` is in capitals, `text` the rest with continuations joined; heredoc bodies are appended as lines."""

    word: str
    text: str
    line: int


@dataclass(frozen=True)
class Image:
    """An image that a Dockerfile names: of a FROM, or of a COPY --from. `text` has known variables replaced."""

    text: str
    line: int


@dataclass
class Dockerfile:
    file: str
    instructions: tuple[Instruction, ...]
    variables: dict[str, str] = field(default_factory=dict)
    images: list[Image] = field(default_factory=list)
    assigned: list[tuple[str, str, int]] = field(default_factory=list)  # name, value, line of each ENV, ARG, export

    def values(self, name: str) -> Iterator[tuple[str, int]]:
        """(value, line) of what the Dockerfile sets a variable to."""
        yield from ((value, line) for key, value, line in self.assigned if key == name)


def dockerfiles(release: Release) -> Iterator[Dockerfile]:
    for path in sorted(release.files):
        if NAME.fullmatch(path) and not NOT_ONES.fullmatch(path):
            try:
                data = release.read(path, MAX_BYTES)
            except OSError:
                data = None  # told by the check on files that can't be read
            if data is not None and b"\0" not in data:
                yield read(path, data.decode("utf-8", "replace"))


def read(file: str, text: str) -> Dockerfile:
    found = Dockerfile(file, tuple(instructions(text)))
    stages: set[str] = set()
    for row in found.instructions:
        if row.word == "FROM":
            add_stage(found, row, stages)
        elif row.word in ("ARG", "ENV"):
            for name, value in assignments(row.text, row.word):
                assign(found, name, value, row.line)
        elif row.word in ("COPY", "ADD"):
            source = re.search(r"--from=(\S+)", row.text)
            if source and not is_stage(source[1], stages):
                found.images.append(Image(expand(source[1], found.variables), row.line))
        elif row.word == "RUN":
            for name, value in re.findall(r"(?<![\w$])([A-Z][A-Z0-9_]{2,60})=([^\s;&|]+|\"[^\"]*\"|'[^']*')", row.text):
                found.assigned.append((name, expand(value.strip("\"'"), found.variables), row.line))
    return found


def add_stage(found: Dockerfile, row: Instruction, stages: set[str]) -> None:
    words = [word for word in row.text.split() if not word.startswith("--")]
    if not words:
        return
    image = expand(words[0], found.variables)
    if image.lower() not in stages and image != "scratch":
        found.images.append(Image(image, row.line))
    if len(words) > 2 and words[1].lower() == "as":
        stages.add(words[2].lower())


def is_stage(name: str, stages: set[str]) -> bool:
    return name.isdigit() or name.lower() in stages


def assign(found: Dockerfile, name: str, value: str, line: int) -> None:
    value = expand(value, found.variables)[:MAX_VALUE]
    found.variables[name] = value
    found.assigned.append((name, value, line))


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`text` with variables replaced that have a value; what has none stays as it is written."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[3]
        return variables.get(name) or match[2] or match[0]

    return VARIABLE.sub(value, text[:MAX_VALUE])[:MAX_VALUE]


def assignments(text: str, word: str) -> Iterator[tuple[str, str]]:
    """name=value pairs of an ENV or ARG; ENV also takes `name value`, ARG a bare name without a default."""
    try:
        words = shlex.split(text, comments=False)
    except ValueError:
        words = text.split()
    if word == "ENV" and len(words) > 1 and "=" not in words[0]:
        yield words[0], " ".join(words[1:])
        return
    for item in words:
        name, equals, value = item.partition("=")
        if equals and re.fullmatch(r"\w{1,100}", name):
            yield name, value


# ---------------------------------------------------------------------------------------------------------- instructions


def instructions(text: str) -> Iterator[Instruction]:
    rows = text.replace("\r\n", "\n").split("\n")
    escape = "`" if re.match(r"(?:\s*#[^\n]*\n)*?\s*#\s*escape\s*=\s*`", text[:2000]) else "\\"
    position = 0
    for _ in range(MAX_INSTRUCTIONS):
        while position < len(rows) and (not rows[position].strip() or rows[position].lstrip().startswith("#")):
            position += 1
        if position >= len(rows):
            return
        start = position
        parts: list[str] = []
        position = joined(rows, position, escape, parts)
        whole = " ".join(part.strip() for part in parts)
        body, position = heredocs(rows, position, whole)
        word, _, rest = whole.strip().partition(" ")
        yield Instruction(word.upper(), "\n".join([rest.strip(), *body]), start + 1)


def joined(rows: list[str], position: int, escape: str, parts: list[str]) -> int:
    """Appends the lines of one instruction to `parts`; the position behind them."""
    while position < len(rows):
        row = rows[position].rstrip()
        position += 1
        if parts and (not row or row.lstrip().startswith("#")):
            continue  # comments and empty lines may stand between
        if row.endswith(escape):
            parts.append(row[:-1])
            continue
        parts.append(row)
        break
    return position


def heredocs(rows: list[str], position: int, whole: str) -> tuple[list[str], int]:
    body: list[str] = []
    marks = [match[2] for match in HEREDOC.finditer(whole)] if whole[:4].upper() in ("RUN ", "COPY", "ADD ") else []
    for mark in marks[:10]:
        while position < len(rows) and rows[position].strip() != mark:
            body.append(rows[position])
            position += 1
        position += 1
    return body, position
