"""generation_config.json holds settings that contradict each other.

Why it matters: most transformers versions load such a file with a remark and refuse to save it: a fine-tune of the release
ends in an exception at its first checkpoint. A few values are refused at loading already: those are errors.
Mend: Set do_sample (or num_beams) to what the other settings need, or take those out.
Source: QwenLM/Qwen3-ASR issue 210; huggingface/transformers issue 29988; GenerationConfig.validate of transformers 4.57.6 and 5.24.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from hubrelease.checks import Check
from hubrelease.errors import Problem, Where
from hubrelease.release import Release

# setting → the value that is no setting: what validate() lets pass without sampling
SAMPLING = {
    "temperature": 1.0,
    "top_p": 1.0,
    "min_p": None,
    "top_h": None,
    "typical_p": 1.0,
    "top_k": 50,
    "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0,
}
OUTPUTS = ("output_attentions", "output_hidden_states", "output_scores", "output_logits")
GENERATE_ARGUMENTS = (
    "logits_processor", "stopping_criteria", "prefix_allowed_tokens_fn", "synced_gpus", "assistant_model", "streamer",
    "negative_prompt_ids", "negative_prompt_attention_mask",
)  # fmt: skip


def run(release: Release) -> Iterator[Problem]:
    for path in sorted(release.files):
        if path.rpartition("/")[2] == "generation_config.json" and (config := release.config(path)):
            found = [*unsaved(config), *beams(config)]
            if found:
                key, value, why = found[0]
                more = "".join(f", {k} {v!r}" for k, v, _ in found[1:])[:200]
                message = f"{why}, and yet {key} is {value!r}{more}: transformers refuses to save it again"
                yield CHECK.problem(Where(path, pointer=f"/{key}"), message, mend(why), severity="warning")
            for key, message in refused(config):
                yield CHECK.problem(
                    Where(path, pointer=f"/{key}"), f"{message}: transformers refuses to load it", "correct the value, or take it out"
                )


def mend(why: str) -> str:
    return "set do_sample to true, or take the sampling settings out" if "do_sample" in why else "take out the settings that have no effect"


def unsaved(config: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    """(setting, value, why it has no effect) of what validate() holds against the whole."""
    if config.get("do_sample") is not True:
        why = "do_sample is false" if config.get("do_sample") is False else "do_sample is not set"
        for key, idle in SAMPLING.items():
            value = config.get(key)
            if value is not None and value != idle and is_number(value):
                yield key, value, why
    pad = config.get("pad_token_id")
    if is_number(pad) and pad < 0:
        yield "pad_token_id", pad, "ids are not negative"
    if config.get("return_dict_in_generate") is not True:
        yield from ((key, True, "return_dict_in_generate is not true") for key in OUTPUTS if config.get(key) is True)


def beams(config: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    if config.get("num_beams") in (None, 1):
        early, penalty = config.get("early_stopping"), config.get("length_penalty")
        if early is True or early == "never":
            yield "early_stopping", early, "num_beams is 1"
        if is_number(penalty) and penalty != 1.0:
            yield "length_penalty", penalty, "num_beams is 1"


def refused(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, what is wrong) of what raises as soon as the file is read."""
    early, most, count = config.get("early_stopping"), config.get("max_new_tokens"), config.get("num_return_sequences")
    if early is not None and not isinstance(early, bool) and early != "never":
        yield "early_stopping", f"early_stopping is {str(early)[:40]!r}, not true, false or 'never'"
    if is_number(most) and most <= 0:
        yield "max_new_tokens", f"max_new_tokens is {most}"
    if is_number(count) and count > 1:
        width = config.get("num_beams") or 1
        if width == 1 and config.get("do_sample") is not True:
            yield "num_return_sequences", f"num_return_sequences is {count} without sampling or beams"
        elif is_number(width) and 1 < width < count:
            yield "num_return_sequences", f"num_return_sequences is {count}, more than num_beams ({width})"
    yield from ((key, f"{key} is an argument of generate(), not a setting") for key in GENERATE_ARGUMENTS if config.get(key) is not None)


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


CHECK = Check("HR312", "generation-config", "settings that contradict each other", run)
