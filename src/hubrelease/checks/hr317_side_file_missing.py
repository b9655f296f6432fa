"""A config or tokenizer file of the base is not in the release, and nothing says that it was left out on purpose.

Why it matters: without the base's tokenizer nothing can be read in; without its generation config sampling and end tokens differ.
Mend: Copy the file from the base, or name it under side_files.omit with the reason.
Source: vllm-project/llm-compressor issue 1305; Tencent/AngelSlim PR 185.

Files that newer writers fold into others are not asked for: where tokenizer.json is there, none of its older siblings is.
Chat templates, processors and code have checks of their own. A lost tokenizer is an error, the rest are warnings.
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.base_files import lost_files
from hubrelease.checks import Check
from hubrelease.errors import Problem
from hubrelease.release import Release

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "vocab.txt", "vocab.json", "tekken.json")
OTHERS = ("config.json", "generation_config.json", "tokenizer_config.json", "modules.json", "config_sentence_transformers.json",
          "sentence_bert_config.json", "1_Pooling/config.json", "params.json")  # fmt: skip


def run(release: Release) -> Iterator[Problem]:
    if release.containers.main is None:  # an adapter, GGUF files: they do without
        return
    lost = lost_files(release)
    here = [name for name in TOKENIZERS if name in release.files or name in release.missing]
    for name in TOKENIZERS:
        if name in lost and not here:
            yield CHECK.problem(name, "the base has it, and the release has no tokenizer at all", "copy it from the base")
            break
    for name in OTHERS:
        if name in lost and not (name == "params.json" and "config.json" in release.files):
            message = "the base has it, the release has not, and side_files.omit does not say why"
            yield CHECK.problem(name, message, "copy it from the base, or give the reason under side_files.omit", severity="warning")


CHECK = Check("HR317", "side-file-missing", "lost side file", run)
