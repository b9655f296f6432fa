"""Fidelity over what the reference itself answers: it answers prompts greedily, then both models are scored on those very tokens.

What a conversion does to the text that a model writes shows here, not only what it does to prose that others wrote.
A prompts file has one JSON object a line: {"prompt": text}, or {"messages": [{"role": …, "content": …}, …]} for the chat
template. Only tokens of the answers are predicted; the prompts are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hubrelease import canonical, fidelity
from hubrelease.decisions.records import LineFault, lines, reading, record_of
from hubrelease.digest import sha256
from hubrelease.errors import Problem, SpecError, Where, problem
from hubrelease.fidelity import Piece, told
from hubrelease.progress import SILENT, Progress
from hubrelease.telling import few

KIND = "spec-invalid"
MEND = 'write one JSON object a line: {"prompt": "…"} or {"messages": [{"role": "user", "content": "…"}]}'
Prompt = Mapping[str, Any]


def compare(
    candidate: Path, reference: Path, prompts: Path, device: str = "cpu", room: int = 128, progress: Progress = SILENT
) -> dict[str, Any]:
    """The receipt of a candidate against its reference over the reference's answers of at most `room` tokens.

    SpecError for a prompts file that is none, OutsideError where torch or transformers is missing, CheckFailed where a model
    can't be read.
    """
    asked = prompts_of(prompts)
    text = fidelity.text_of(prompts)
    fidelity.require(device)
    given = given_ids(reference, asked, prompts)
    with fidelity.loaded(reference, device) as (model, reader):
        pieces = list(answered(model, given, room, device, prompts, progress))
        before = fidelity.score(model, pieces, device, reader, progress)
    with fidelity.loaded(candidate, device) as (model, reader):
        after = fidelity.score(model, pieces, device, reader, progress)
    return fidelity.receipt(reference, candidate, text, (before, after), device, None, answers=answers_of(pieces, room))


def answers_of(pieces: Sequence[Piece], room: int) -> dict[str, Any]:
    """What was answered, by digest: anybody with the reference can make it again."""
    ids = [list(piece.ids[piece.start :]) for piece in pieces]
    return {"prompts": len(pieces), "maxTokens": room, "sha256": sha256(canonical.compact(ids))}


def prompts_of(path: Path) -> list[Prompt]:
    """Every prompt. SpecError with each bad line, OutsideError where the file can't be read."""
    found: list[Prompt] = []
    bad: list[Problem] = []
    with reading(path, "name the file of prompts") as stream:
        try:
            for place, line in lines(stream):
                try:
                    found.append(prompt_of(record_of(line, place.line), place.line))
                except LineFault as fault:
                    bad.append(problem(KIND, Where(path.name, fault.line), str(fault), MEND))
        except LineFault as fault:
            bad.append(problem(KIND, Where(path.name, fault.line), str(fault), MEND))
    if not found and not bad:
        bad.append(problem(KIND, path.name, "holds no prompt", MEND))
    if bad:
        raise SpecError(list(few(bad)))
    return found


def prompt_of(record: Prompt, line: int) -> Prompt:
    """LineFault for what is no prompt."""
    if ("prompt" in record) == ("messages" in record):
        raise LineFault(line, "has neither prompt nor messages" if "prompt" not in record else "has both prompt and messages")
    if "prompt" in record:
        if not isinstance(record["prompt"], str) or not record["prompt"].strip():
            raise LineFault(line, "prompt is no text")
        return record
    messages = record["messages"]
    if not isinstance(messages, list) or not messages or not all(map(is_message, messages)):
        raise LineFault(line, "messages is no list of objects with a role and a content of text")
    return record


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and isinstance(value.get("content"), str)


def given_ids(folder: Path, prompts: Sequence[Prompt], path: Path) -> list[list[int]]:
    """The prompts' tokens by the tokenizer in `folder`. CheckFailed where it has no chat template for messages."""
    from transformers import AutoTokenizer

    fidelity.method_of(folder)  # a folder that is not there would be looked for on the Hub
    with told(folder, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        found = [tokens_of(tokenizer, prompt) for prompt in prompts]
    bad = [problem(KIND, Where(path.name, n), "has no token", MEND) for n, ids in enumerate(found, 1) if not ids]
    if bad:
        raise SpecError(list(few(bad)))
    return found


def tokens_of(tokenizer: Any, prompt: Prompt) -> list[int]:
    if "prompt" in prompt:
        return list(tokenizer(prompt["prompt"])["input_ids"])
    made = tokenizer.apply_chat_template(prompt["messages"], add_generation_prompt=True, tokenize=True, return_dict=True)
    return list(made["input_ids"])


def answered(model: Any, given: Sequence[list[int]], room: int, device: str, path: Path, progress: Progress) -> Iterator[Piece]:
    """Each prompt with the answer behind it, its end included. SpecError for a prompt that leaves no room."""
    import torch
    from transformers import GenerationConfig

    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    long = [n for n, ids in enumerate(given, 1) if context is not None and len(ids) + room > context]
    if long:
        mend = "shorten the prompt, or give a smaller --answer-tokens"
        message = f"has {len(given[long[0] - 1])} tokens; with {room} of an answer that is more than the model's {context}"
        raise SpecError(list(few(problem(KIND, Where(path.name, n), message, mend) for n in long[:1])))
    ends = model.generation_config.eos_token_id
    pad = ends[0] if isinstance(ends, list) else ends
    greedy = GenerationConfig(max_new_tokens=room, do_sample=False, num_beams=1, eos_token_id=ends, pad_token_id=pad)
    progress.start_count("answering", len(given))
    for ids in given:
        tokens = torch.tensor([ids], device=device)
        with torch.no_grad(), told(Path(path.name), "answer"):
            whole = model.generate(input_ids=tokens, attention_mask=torch.ones_like(tokens), generation_config=greedy)[0].tolist()
        yield Piece(whole, len(ids))
        progress.advance(1)
    progress.finish()
