"""A JSON file that loaders read is no JSON, or is read differently by different readers.

Why it matters: the model can't be loaded; with a key given twice, or NaN, it depends on the reader what it means.
Mend: Write the file again with a JSON writer.
Source: explosion/spaCy issue 10217 (NaN); RFC 8259, sections 4 and 6.

An error where no reader takes it, or where config.json is no object; doubled keys and NaN, which Python takes, are warnings.
Receipts, provenance, indexes and headers have checks of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.release import MAX_JSON_BYTES, Release
from hubrelease.verify_release import lfs_pointer, strict_json

OBJECTS = ("config", "generation_config", "tokenizer_config", "tokenizer", "adapter_config", "preprocessor_config", "processor_config")
OTHERS = (
    "special_tokens_map", "added_tokens", "vocab", "modules", "chat_template", "params", "tekken", "model_index", "quantize_config",
    "hf_quant_config", "config_sentence_transformers", "sentence_bert_config", "video_preprocessor_config", "genai_config",
)  # fmt: skip
READ = re.compile(rf"(?!(benchmarks|\.eval_results|docs|examples|assets|tests?)/)(?:[^.][^/]*/)*({'|'.join((*OBJECTS, *OTHERS))})\.json")
MEND = "write the file again with a JSON writer"


def run(release: Release) -> Iterator[Problem]:
    for path in sorted(release.files):
        if READ.fullmatch(path):
            value = release.json(path)
            if value is None:
                yield from unreadable(release, path)
            elif wants_object(path) and not isinstance(value, dict):
                yield CHECK.problem(path, f"holds a JSON {type(value).__name__}, not an object", MEND)


def wants_object(path: str) -> bool:
    return path.rpartition("/")[2].removesuffix(".json") in OBJECTS


def unreadable(release: Release, path: str) -> Iterator[Problem]:
    try:
        data = release.read(path, MAX_JSON_BYTES)
    except OSError:
        return  # a finding of its own
    if data is None or lfs_pointer(data) or path in release.partial:
        return
    try:
        strict_json(data)
        if wants_object(path):
            yield CHECK.problem(path, "holds null, not an object", MEND)
    except ValueError as error:
        severity = "warning" if is_lenient_json(data) else "error"
        yield CHECK.problem(path, f"is no strict JSON: {str(error)[:200]}", MEND, severity)


def is_lenient_json(data: bytes) -> bool:
    """True if Python's reader, which transformers uses, takes it."""
    try:
        json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return True


CHECK = Check("HR321", "json-invalid", "JSON that is none", run)
