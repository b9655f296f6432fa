"""What the Hub accepts in a card's metadata: lists as data files (each names its source and date), and the form of ids.

A list can grow after this version was made, so only the licence list (which the Hub itself derives from the page named in
the file) and the form of a value make errors; other unknown values are at most a warning, with the nearest known one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path

RELATIONS = ("adapter", "finetune", "merge", "quantized")  # hub-docs docs/hub/model-cards.md, 2026-08-22
SPECIAL_LANGUAGES = ("code", "multilingual")  # huggingface_hub 2.4.0, repocard_data.py
ID_PART = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?")
LOCAL_PATH = re.compile(r"[/~\\]|\.{1,2}([/\\]|$)|[A-Za-z]:[/\\]|file:|models--")
TRAINING_FOLDERS = ("output", "outputs", "checkpoint", "checkpoints", "ckpt", "ckpts", "runs", "saves", "saved_models", "models", "tmp")
CHECKPOINT = re.compile(r"(checkpoint|step|epoch|global_step)[-_]?\d+/?")
MAX_SHOWN = 80


def lines(name: str) -> tuple[str, ...]:
    """The values of a data file, without its comments."""
    text = (Path(__file__).parent / "data" / name).read_text("utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


@cache
def licenses() -> frozenset[str]:
    return frozenset(lines("licenses.txt"))


@cache
def pipeline_tags() -> frozenset[str]:
    return frozenset(lines("pipeline_tags.txt"))


@cache
def libraries() -> frozenset[str]:
    return frozenset(lines("libraries.txt"))


@cache
def languages() -> frozenset[str]:
    return frozenset(code for line in lines("languages.txt") for code in line.split()) | set(SPECIAL_LANGUAGES)


@cache
def language_names() -> Mapping[str, str]:
    """{English name in small letters: code}."""
    return dict(line.split("\t") for line in lines("language_names.txt"))


def nearest(value: str, known: Collection[str], cutoff: float = 0.75) -> str | None:
    """The known value most like `value`; None where none is. Only the first characters are looked at."""
    found = get_close_matches(value[:MAX_SHOWN].lower(), sorted(known), n=1, cutoff=cutoff)
    return found[0] if found else None


# ------------------------------------------------------------------------------------------------------------ licences

SPELLINGS = {
    "apache": "apache-2.0", "apache2": "apache-2.0", "apache2.0": "apache-2.0", "apache license 2.0": "apache-2.0",
    "apache 2.0": "apache-2.0", "mit license": "mit", "the mit license": "mit", "gplv2": "gpl-2.0", "gplv3": "gpl-3.0",
    "gnu gpl v3": "gpl-3.0",
    "agplv3": "agpl-3.0", "lgplv3": "lgpl-3.0", "bsd3": "bsd-3-clause", "bsd2": "bsd-2-clause", "cc0": "cc0-1.0", "cc-0": "cc0-1.0",
    "cc-by": "cc-by-4.0", "cc-by-nc": "cc-by-nc-4.0", "cc-by-sa": "cc-by-sa-4.0", "cc-by-nc-sa": "cc-by-nc-sa-4.0", "llama-2": "llama2",
    "llama-3": "llama3", "llama-3.1": "llama3.1", "llama-3.2": "llama3.2", "llama-3.3": "llama3.3", "llama-4": "llama4",
    "cc-by-nc-nd": "cc-by-nc-nd-4.0", "odc-by-1.0": "odc-by", "odbl-1.0": "odbl", "mpl": "mpl-2.0", "gfdl-1.3": "gfdl", "bsl": "bsl-1.0",
    "bsd-3": "bsd-3-clause", "bsd-2": "bsd-2-clause", "proprietary": "other", "custom": "other", "none": "other", "gemma-terms": "gemma",
}  # fmt: skip


def nearest_license(value: str) -> str | None:
    """The id of the Hub's list that `value` most likely means: another spelling, an SPDX suffix left off, a near miss."""
    text = re.sub(r"[\s_]+", "-", value[:MAX_SHOWN].strip().lower())
    text = re.sub(r"(-only|-or-later|\+)$", "", text)
    for form in (text, text.replace("-", " "), re.sub("-v(?=[0-9])", "-", text)):
        if form in licenses():
            return form
        if form in SPELLINGS:
            return SPELLINGS[form]
    return nearest(text, licenses())


# ----------------------------------------------------------------------------------------------------------------- ids


def is_repo_id(value: str) -> bool:
    """True for `name` or `namespace/name` as the Hub has them (huggingface_hub 2.4.0, validate_repo_id)."""
    parts = value.split("/")
    is_formed = len(parts) <= 2 and all(ID_PART.fullmatch(part) for part in parts)
    return is_formed and "--" not in value and ".." not in value and not value.endswith(".git")


def is_local_path(value: str) -> bool:
    """True for what can only be a place on a disk: absolute, relative with dots, a home folder, a drive, three steps."""
    if "://" in value and not value.startswith("file:"):
        return False
    return LOCAL_PATH.match(value) is not None or "\\" in value or value.count("/") > 1


def is_training_folder(value: str) -> bool:
    """True for the folder of a training run, which has the form of an id: outputs/checkpoint-500, ckpts/llama-sft."""
    first, slash, last = value.rpartition("/")
    return CHECKPOINT.fullmatch(last) is not None or (bool(slash) and first.lower() in TRAINING_FOLDERS)
