"""A GGUF model in several files is not whole: a file is missing, or the files disagree on how many they are.

Why it matters: llama.cpp opens the first file and takes the others by their names; it stops at the first that is not there.
Mend: Publish all files of one `gguf-split`, under the names that it gave them.
Source: ggml-org/llama.cpp src/llama-model-loader.cpp and tools/gguf-split (keys split.no, split.count, split.tensors.count).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.gguf import GgufFile
from hubrelease.release import Release
from hubrelease.shards import shard_groups, shard_name, sibling
from hubrelease.telling import few, named

MEND = "publish all files of one gguf-split, under the names that it gave them"
MAX_FILES = 10_000


def run(release: Release) -> Iterator[Problem]:
    files = release.containers.ggufs
    split = shard_groups(path for path in sorted(release.files) if path.endswith(".gguf"))
    yield from few(problem for key, numbers in sorted(split.items()) for problem in group_problems(release, key[2], numbers))
    yield from few(problem for path, file in files.items() for problem in name_problems(path, file))


def group_problems(release: Release, total: int, numbers: Mapping[int, str]) -> Iterator[Problem]:
    first = numbers[min(numbers)]
    if total > MAX_FILES:
        yield CHECK.problem(first, f"is named as one of {total} files", MEND)
        return
    absent = [sibling(first, number) for number in range(1, total + 1) if number not in numbers]
    if absent and not release.missing.intersection(absent):
        are = "is" if len(absent) == 1 else "are"
        yield CHECK.problem(first, f"is one of {total} files, of which {named(absent)} {are} not in the release", MEND)
    files = {number: release.containers.ggufs[path] for number, path in numbers.items() if path in release.containers.ggufs}
    sound = {number: file for number, file in files.items() if not any(not fault.remark for fault in file.faults)}
    if total > 1:
        yield from few(problem for number, file in sorted(sound.items()) for problem in key_problems(numbers[number], number, total, file))
        if len(sound) == total:
            yield from count_problems(first, list(sound.values()))


def key_problems(path: str, number: int, total: int, file: GgufFile) -> Iterator[Problem]:
    for key, wanted in (("split.no", number - 1), ("split.count", total)):
        if file.keys.get(key) != wanted:
            yield CHECK.problem(path, f"{key} is {said(file, key)}; {wanted} is wanted by the file's name", MEND)


def count_problems(first: str, files: list[GgufFile]) -> Iterator[Problem]:
    """split.tensors.count, the same in every file, is what all of them hold."""
    held = sum(len(file.tensors) for file in files)
    stated = files[0].keys.get("split.tensors.count")
    if stated is not None and stated != held:
        yield CHECK.problem(first, f"split.tensors.count is {said(files[0], 'split.tensors.count')}; the files hold {held} tensors", MEND)


def name_problems(path: str, file: GgufFile) -> Iterator[Problem]:
    count = file.keys.get("split.count")
    if isinstance(count, int) and count > 1 and shard_name(path) is None:
        message = f"is one of {count} files by split.count, and its name does not say which: llama.cpp finds no others"
        yield CHECK.problem(path, message, MEND)


def said(file: GgufFile, key: str) -> str:
    return repr(file.keys[key])[:40] if key in file.keys else "not there"


CHECK = Check("HR244", "gguf-split", "incomplete split GGUF", run)
