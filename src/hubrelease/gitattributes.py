""".gitattributes as far as it says which files go to LFS: the last line that matches a path and speaks of `filter` counts.

Patterns are git's (gitattributes(5)): without a slash they match a name in any folder, else a path from the file's own
folder; `**` spans folders. They come from a stranger, so they are matched without regular expressions, in bounded time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hubrelease.release import Release

NAME = ".gitattributes"
MAX_BYTES, MAX_LINES, MAX_FILES = 2**20, 2_000, 100  # real ones have some 40 lines
LFS = "filter=lfs diff=lfs merge=lfs -text"
DEFAULT = (  # of a new repository of the Hub
    "*.7z *.arrow *.bin *.bz2 *.ckpt *.ftz *.gz *.h5 *.joblib *.lfs.* *.mlmodel *.model *.msgpack *.npy *.npz *.onnx *.ot *.parquet "
    "*.pb *.pickle *.pkl *.pt *.pth *.rar *.safetensors saved_model/**/* *.tar.* *.tar *.tflite *.tgz *.wasm *.xz *.zip *.zst *tfevents*"
)


class Rule(NamedTuple):
    """One line: where its file lies, the pattern's steps, and what it makes of `filter`."""

    folder: str
    steps: tuple[str, ...]
    lfs: bool


class Attributes:
    """The rules of a release, from the root down."""

    def __init__(self, release: Release) -> None:
        found = sorted((path for path in release.files if path == NAME or path.endswith("/" + NAME)), key=lambda path: path.count("/"))
        self.rules: list[Rule] = [] if NAME in found else list(rules_of("", "\n".join(f"{p} {LFS}" for p in DEFAULT.split())))
        for path in found[:MAX_FILES]:
            data = release.read(path, MAX_BYTES) or b""
            self.rules += list(rules_of(path[: -len(NAME)].rstrip("/"), data.decode("utf-8", "replace")))[-MAX_LINES:]
        self.rules.reverse()

    def stores_in_lfs(self, path: str) -> bool:
        return next((rule.lfs for rule in self.rules if applies(rule, path)), False)


def rules_of(folder: str, text: str) -> Iterator[Rule]:
    for line in text.splitlines():
        pattern, attributes = split_line(line.strip())
        states = [word for word in attributes if word.lstrip("-!").partition("=")[0] == "filter"]
        if not pattern or pattern.startswith(("#", "[attr]", "!")) or not states:
            continue
        anchored = "/" in pattern.rstrip("/")
        steps = tuple(step for step in pattern.split("/") if step) if anchored else ("**", pattern)
        yield Rule(folder, steps, states[-1] == "filter=lfs")


def split_line(line: str) -> tuple[str, list[str]]:
    """(pattern, attributes); a pattern with blanks stands in quotes, or has them as [[:space:]]."""
    if line.startswith('"') and (end := line.find('"', 1)) > 0:
        return line[1:end], line[end + 1 :].split()
    words = line.split()
    return (words[0].replace("[[:space:]]", " "), words[1:]) if words else ("", [])


def applies(rule: Rule, path: str) -> bool:
    if rule.folder and not path.startswith(rule.folder + "/"):
        return False
    below = path[len(rule.folder) + 1 :] if rule.folder else path
    return steps_match(rule.steps, below.split("/"))


def steps_match(pattern: tuple[str, ...], steps: list[str]) -> bool:
    """Pattern and path step by step: the set of places in the pattern that the path so far may stand at."""
    places = spread({0}, pattern)
    for step in steps:
        nexts = {place for place in places if place < len(pattern) and pattern[place] == "**"}
        nexts |= {place + 1 for place in places if place < len(pattern) and pattern[place] != "**" and step_matches(pattern[place], step)}
        places = spread(nexts, pattern)
    return len(pattern) in places


def spread(places: set[int], pattern: tuple[str, ...]) -> set[int]:
    """`**` may stand for no folder at all."""
    found = set(places)
    for place, step in enumerate(pattern):
        if step == "**" and place in found:
            found.add(place + 1)
    return found


def step_matches(pattern: str, text: str) -> bool:
    """`*` and `?` in one step, going back to the last star only: linear for every pattern that people write."""
    at, place, star, mark = 0, 0, -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "*":
            star, mark, place = place, at, place + 1
        elif place < len(pattern) and pattern[place] in ("?", text[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            mark += 1
            at, place = mark, star + 1
        else:
            return False
    return pattern[place:].strip("*") == ""


def line_for(path: str) -> str:
    """The line that stores a file in LFS."""
    return f"{path.replace(' ', '[[:space:]]')} {LFS}"
