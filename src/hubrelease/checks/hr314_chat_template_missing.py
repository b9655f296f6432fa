"""A chat model comes without a chat template, though its card or its base says that it chats.

Why it matters: chat requests fail, or a runtime falls back to a template of another model: answers get worse without an error.
Mend: Copy chat_template.jinja (or the key chat_template of tokenizer_config.json) from the base.
Source: Tencent/AngelSlim PR 185; jundot/omlx issue 2005; unslothai/unsloth issue 2744.

Known homes: chat_template.jinja, chat_template.json, additional_chat_templates/, the key chat_template of the tokenizer's
and the processor's config, the key tokenizer.chat_template of a GGUF file; tekken.json and tokenizers with code of their own
bring theirs. Of a set of GGUF files, one without a template while others have one is told by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.base_files import lost_files
from hubrelease.chat_templates import FILES, home, is_conversational, templates
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import as_mapping
from hubrelease.release import Release

MEND = "copy the base's chat template"


def run(release: Release) -> Iterator[Problem]:
    yield from in_gguf_sets(release)
    found = [t for t in templates(release) if home(t) == ""]
    absent = [path for path in release.missing if FILES.fullmatch(path)]
    if found or absent or "tokenizer_config.json" in release.missing or not is_language_model(release):
        return
    lost = sorted(name for name in lost_files(release) if FILES.fullmatch(name) or name == "chat_template.json")
    if lost:
        message = f"has no chat_template, and {lost[0]}, which the base has, is not in the release"
    elif is_conversational(release) and not has_own_way(release):
        message = "has no chat_template, no chat_template.jinja is there, and the card says conversational"
    else:
        return
    yield CHECK.problem(Where("tokenizer_config.json", pointer="/chat_template"), message, MEND)


def in_gguf_sets(release: Release) -> Iterator[Problem]:
    """GGUF files with a tokenizer and no template beside others that have both."""
    with_tokens = {p: f for p, f in release.containers.ggufs.items() if "tokenizer.ggml.model" in f.keys and not f.faults}
    without = [path for path, file in with_tokens.items() if "tokenizer.chat_template" not in file.keys]
    if without and len(without) < len(with_tokens):
        example = next(path for path in with_tokens if path not in without)
        for path in without:
            yield CHECK.problem(
                path, f"has no tokenizer.chat_template, and {example} has one", "convert it again from a folder with the chat template"
            )


def is_language_model(release: Release) -> bool:
    """True for weights with a tokenizer. An adapter uses its base's template, and GGUF files carry their own."""
    names = ("tokenizer_config.json", "tokenizer.json", "tokenizer.model", "vocab.json")
    return release.containers.main is not None and any(name in release.files for name in names)


def has_own_way(release: Release) -> bool:
    """True where the tokenizer is code, Mistral's tekken, or DeepSeek's encoding/ scripts: templates of their own."""
    config = release.config("tokenizer_config.json")
    scripts = any(path.startswith("encoding/") for path in release.files)
    return bool(as_mapping(config.get("auto_map"))) or "tekken.json" in release.files or scripts


CHECK = Check("HR314", "chat-template-missing", "no chat template", run)
