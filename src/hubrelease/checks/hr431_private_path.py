"""A file shows a path of the machine on which it was made: a home folder, /root, a mounted disk.

Why it matters: it tells the maker's name and how the machine is laid out, and names a place that exists nowhere else.
Mend: Write the public name in its place; configs of transformers may leave _name_or_path out.
Source: manjunathshiva/turboquant-mlx PR 104.

In data (JSON, YAML, notebooks, header metadata) every such path counts; in prose, code and Dockerfiles only the home folder
of somebody by name. Logged samples are other people's texts and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.private_places import home_folders, machine_paths
from hubrelease.references import faulty_files
from hubrelease.release import Release
from hubrelease.texts import Text, is_vocabulary, texts
from hubrelease.verify_release import PROVENANCE

DATA = re.compile(r".*\.(json|jsonl|ya?ml|ipynb|toml)")
SHOWS_PATHS = re.compile(r"(.*/)?(release\.ya?ml|.*compose.*\.ya?ml|MODEL_PROVENANCE\.json)")  # prose and commands inside
SERVING = re.compile(rb"(?m)^(docker_server|base_image|services|model_cache|apiVersion)\s{0,4}:")
SAMPLES = re.compile(r"(.*/)?samples[^/]*\.jsonl")


def run(release: Release) -> Iterator[Problem]:
    told = {(found.file, found.said.encode("utf-8", "surrogatepass")) for found, _ in faulty_files(release)}
    for raw in texts(release):
        if is_vocabulary(raw.file) or SAMPLES.fullmatch(raw.file):
            continue
        text = raw._replace(data=raw.data.replace(b"\\/", b"/"))  # JSON may write / as \/
        elsewhere = [said for file, said in told if file == text.file]
        found = [row for row in paths(text) if not any(is_part(row[1], said) for said in elsewhere)]
        if found:
            position, path = found[0]
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            message = f"shows a path of the maker's machine: {path.decode('utf-8', 'replace')}{more}"
            where = Where(text.file, text.line(position), text.pointer)
            yield CHECK.problem(where, message, "write the public name in its place, or take it out", severity="warning")


def is_part(path: bytes, said: bytes) -> bool:
    """True if a path as JSON writes it is what another finding has told already."""
    plain = path.replace(b"\\\\", b"\\")
    return plain in said or said in plain


def paths(text: Text) -> list[tuple[int, bytes]]:
    by_tools = text.pointer is not None or is_data(text)
    return sorted(machine_paths(text.data) if by_tools else home_folders(text.data))


def is_data(text: Text) -> bool:
    """True for what tools write; configs for serving name the paths of a container on purpose."""
    if not DATA.fullmatch(text.file) or SHOWS_PATHS.fullmatch(text.file) or text.file == PROVENANCE:
        return False
    return not (text.file.endswith((".yaml", ".yml")) and SERVING.search(text.data))


CHECK = Check("HR431", "private-path", "path of the maker's machine", run)
