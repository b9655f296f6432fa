"""What a model thought before it answered, where it stands in the answer itself: <think>…</think>, as Qwen3, DeepSeek-R1 and others write.

A server with a reasoning parser tells the two apart; one without, and transformers, do not.
"""

from __future__ import annotations


def parted(text: str) -> tuple[str, str]:
    """(what was thought, what was answered). A template may have opened the thought itself; one without an end is no answer."""
    thought, mark, rest = text.partition("</think>")
    if mark:
        return opened(thought), rest.lstrip()
    return (opened(text), "") if text.lstrip().startswith("<think>") else ("", text)


def opened(thought: str) -> str:
    return thought.lstrip().removeprefix("<think>").strip()
