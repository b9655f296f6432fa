"""A config names a file outside of the release, by an absolute path, or one that is not there.

Why it matters: a loader opens that file on the user's machine, and a fine-tune that is pushed publishes it (think of .env).
Mend: Name a file of the release by its relative path, or take the key out.
Source: huggingface/transformers PR 46279.

Errors; a missing tokenizer file beside a tokenizer.json, which loaders take instead, is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.containers import folder_of
from hubrelease.errors import Problem, Where
from hubrelease.references import OPENED, faulty_files, has_fast_tokenizer, named_files, pooling_modules
from hubrelease.release import Release
from hubrelease.remote_code import is_inside, references
from hubrelease.strict_yaml import pointer_to

MEND = "name a file of the release by its relative path, or take the key out"


def run(release: Release) -> Iterator[Problem]:
    for found, fault in faulty_files(release):
        yield CHECK.problem(Where(found.file, pointer=found.pointer), f"{found.key} {found.said[:120]!r} {fault}", MEND)
    for code in references(release):
        if code.repository is None and not is_inside(code.path):
            yield CHECK.problem(Where(code.file, pointer=code.pointer), f"{code.said[:120]!r} leaves the folder of the release", MEND)
    yield from absent_tokenizer_files(release)
    yield from absent_modules(release)


def absent_tokenizer_files(release: Release) -> Iterator[Problem]:
    for found in named_files(release):
        wanted = found.key in OPENED and found.file.endswith("tokenizer_config.json") and found.fault is None
        if wanted and not is_here(release, found.path):
            severity = "warning" if has_fast_tokenizer(release, folder_of(found.file)) else "error"
            message = f"{found.key} names {found.said[:120]!r}, which is not in the release"
            yield CHECK.problem(Where(found.file, pointer=found.pointer), message, MEND, severity)


def absent_modules(release: Release) -> Iterator[Problem]:
    if "modules.json" in release.files:
        for number, place in pooling_modules(release, "modules.json"):
            path = f"{place.strip('/')}/config.json"
            if is_inside(path) and not is_here(release, path):
                where = Where("modules.json", pointer=pointer_to(number, "path"))
                yield CHECK.problem(
                    where, f"names the module {place[:120]!r}, and {path} is not in the release", "copy the module's folder from the base"
                )


def is_here(release: Release, path: str) -> bool:
    return path in release.files or path in release.missing


CHECK = Check("HR320", "unsafe-reference", "reference out of the release", run, waivable=False)
