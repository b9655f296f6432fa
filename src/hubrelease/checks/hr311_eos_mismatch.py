"""config.json, generation_config.json and the tokenizer disagree on the token that ends a text.

Why it matters: generation runs on to the length limit, or a runtime that reads another file stops elsewhere.
Mend: Give the same id in all three; where a chat model ends its turns with another token, list both in generation_config.json.
Source: QwenLM/Qwen3 issue 1422; huggingface/open-r1 PR 663; unslothai/unsloth issue 2945.

Lists are compared as sets: files agree if they share an id. A generation config whose token ends the turns of the chat
template is meant so (Kimi K2 has [EOS] in the tokenizer and <|im_end|> in the generation config).
"""

from __future__ import annotations

from collections.abc import Iterator

from hubrelease.chat_templates import home, is_conversational, templates
from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.models import Model
from hubrelease.release import Release
from hubrelease.vocabulary import Vocabulary, ids

MEND = "give the same end token in all three files; a chat model may list several in generation_config.json"
TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>", "<|eot|>", "<|end_of_turn|>", "<|return|>")


def run(release: Release) -> Iterator[Problem]:
    for model in release.models:
        generation = release.config(model.path("generation_config.json"))
        vocabulary = Vocabulary(release, model.folder)
        said = {
            model.path("generation_config.json"): ids(generation.get("eos_token_id")),
            model.config_file: ids(model.config.get("eos_token_id")) or ids(model.text.get("eos_token_id")),
            vocabulary.config_file: of_tokenizer(vocabulary),
        }
        known = {file: found for file, found in said.items() if found}
        if (odd := odd_one(known)) and not ends_turns(release, model, vocabulary, said[model.path("generation_config.json")]):
            values = "; ".join(f"{file} says {shown(found, vocabulary)}" for file, found in known.items())
            pointer = "/eos_token" if odd == vocabulary.config_file else "/eos_token_id"
            yield CHECK.problem(Where(odd, pointer=pointer), f"names another end token than the rest: {values}", MEND, severity="warning")
        elif model.folder == "" and known and (end := unending(release, vocabulary, frozenset().union(*known.values()))):
            file = next(iter(known))
            message = f"does not name {end}, which ends each turn of the chat template: answers run on"
            yield CHECK.problem(Where(file, pointer="/eos_token_id"), message, MEND, severity="warning")


def of_tokenizer(vocabulary: Vocabulary) -> frozenset[int]:
    text = vocabulary.special("eos_token")
    number = None if text is None else vocabulary.id_of(text)
    return frozenset(() if number is None else (number,))


def odd_one(known: dict[str, frozenset[int]]) -> str | None:
    """The file that shares no id with the others; of two that disagree, the one that stands first."""
    for file, found in known.items():
        others = [other for name, other in known.items() if name != file]
        if others and all(found.isdisjoint(other) for other in others):
            return file
    return None


def ends_turns(release: Release, model: Model, vocabulary: Vocabulary, stops: frozenset[int]) -> bool:
    """True if a token of the generation config is one that the chat template writes at the end of a turn."""
    ends = [text for text in TURN_ENDS if vocabulary.id_of(text) in stops]
    return any(end in t.text for end in ends for t in templates(release) if t.text and home(t) == model.folder)


def unending(release: Release, vocabulary: Vocabulary, stops: frozenset[int]) -> str | None:
    """The token that ends the turns of a chat model's template and that no file stops at, or None.

    Gemma writes its end of text behind <end_of_turn>, and a template with eos_token ends turns with whatever that is.
    """
    texts = [t.text for t in templates(release) if t.text and home(t) == ""] if is_conversational(release) else []
    eos = vocabulary.special("eos_token") or "eos_token"
    if any("eos_token" in text or eos in text for text in texts):
        return None
    ends = [end for end in TURN_ENDS if end != "<end_of_turn>" and any(end in text for text in texts)]
    numbers = {end: vocabulary.id_of(end) for end in ends}
    if any(number in stops for number in numbers.values()):
        return None
    return next((end for end, number in numbers.items() if number is not None), None)


def shown(found: frozenset[int], vocabulary: Vocabulary) -> str:
    texts = {token.id: token.text for token in vocabulary.added}
    return ", ".join(f"{n} ({texts[n]})" if n in texts else str(n) for n in sorted(found)[:4])


CHECK = Check("HR311", "eos-mismatch", "end tokens that differ", run)
