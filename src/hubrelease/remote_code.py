"""Code that a config makes a loader run: auto_map, custom pipelines, sentence-transformers modules, custom generation.

The rules are those of transformers 5.24.0 (dynamic_module_utils.py): `module.Class` is module.py beside the config,
`repository--module.Class` is code of another repository, and what a module imports relatively must lie beside it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hubrelease.containers import folder_of
from hubrelease.models import as_mapping
from hubrelease.strict_yaml import pointer_to
from hubrelease.verify_release import path_fault

if TYPE_CHECKING:
    from hubrelease.release import Release

HOLDERS = re.compile(
    r"(.*/)?(config|tokenizer_config|processor_config|(video_|image_|feature_)?(pre)?processor_config|generation_config)\.json"
)
RELATIVE = re.compile(r"^[ \t]*(?:from[ \t]+\.([A-Za-z_]\w*(?:\.\w+)*)[ \t]+import\b|import[ \t]+\.(\w+)[ \t]*$)", re.M)
MODULE = re.compile(r"[^\s/\\]+(/[^\s/\\]+)*")
MAX_CODE_BYTES, MAX_FILES = 2**20, 500


@dataclass(frozen=True)
class Reference:
    """A place that names code. `path` is the file in the release; `repository` is another one that holds the code instead."""

    file: str
    pointer: str
    said: str
    path: str
    repository: str | None = None


def references(release: Release) -> Iterator[Reference]:
    for path in sorted(release.files):
        if HOLDERS.fullmatch(path):
            config = release.config(path)
            yield from of_auto_map(path, config.get("auto_map"))
            for name, row in as_mapping(config.get("custom_pipelines")).items():
                yield from of_class(path, pointer_to("custom_pipelines", name, "impl"), as_mapping(row).get("impl"))
        elif path.rpartition("/")[2] == "modules.json":
            yield from of_modules(release, path)


def of_auto_map(path: str, value: Any) -> Iterator[Reference]:
    for key, said in as_mapping(value).items():
        rows = enumerate(said) if isinstance(said, list) else ((None, said),)
        for number, row in rows:
            yield from of_class(path, pointer_to("auto_map", key, *(() if number is None else (number,))), row)


def of_class(file: str, pointer: str, said: Any) -> Iterator[Reference]:
    if not isinstance(said, str):
        return
    repository, dashes, rest = said.rpartition("--")
    module, dot, _ = rest.rpartition(".")
    if dot and MODULE.fullmatch(module):
        folder = folder_of(file)
        path = f"{folder}/{module.replace('.', '/')}.py" if folder else f"{module.replace('.', '/')}.py"
        yield Reference(file, pointer, said, path, repository if dashes and repository else None)


def of_modules(release: Release, path: str) -> Iterator[Reference]:
    """sentence-transformers runs a module's class from beside modules.json unless the type names an installed package."""
    rows = release.json(path)
    for number, row in enumerate(rows if isinstance(rows, list) else ()):
        kind = as_mapping(row).get("type")
        if isinstance(kind, str) and kind.count(".") == 1 and not kind.startswith("sentence_transformers"):
            yield from of_class(path, pointer_to(number, "type"), kind)


def reached(release: Release) -> dict[str, str]:
    """{code file: why a loader runs it} of the files that are here, what they import relatively included."""
    found: dict[str, str] = {}
    todo = [(r.path, f"{r.file} {r.pointer} names it") for r in references(release) if r.repository is None]
    if "custom_generate/generate.py" in release.files:
        todo.append(("custom_generate/generate.py", "generate() runs it as the model's own generation"))
    while todo and len(found) < MAX_FILES:
        path, why = todo.pop()
        if path in release.files and path not in found:
            found[path] = why
            todo += [(wanted, f"{path} imports it") for wanted in imports(release, path)]
    return found


def imports(release: Release, path: str) -> list[str]:
    """Files that the code imports relatively. OSError if it can't be read."""
    data = release.read(path, MAX_CODE_BYTES)
    if data is None:
        return []
    folder = folder_of(path)
    modules = sorted({one or other for one, other in RELATIVE.findall(data.decode("utf-8", "replace"))})
    paths = (f"{folder}/{m.replace('.', '/')}" if folder else m.replace(".", "/") for m in modules)
    return [f"{p}/__init__.py" if f"{p}/__init__.py" in release.files else f"{p}.py" for p in paths]


def is_inside(path: str) -> bool:
    return path_fault(path) is None


def declared(release: Release) -> bool:
    """True if the spec says why the release needs code of its own."""
    reason = as_mapping(release.spec.get("weights")).get("remote_code")
    return isinstance(reason, str) and bool(reason.strip())
