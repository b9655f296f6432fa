"""A server with OpenAI's interface: /v1/models, /v1/chat/completions and /v1/completions, streamed and not.

Greedy (temperature 0), so that two answers can be compared. What vLLM adds is used where it is there: log probabilities,
chat_template_kwargs for reasoning, video_url for frames, /version.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any

from hubrelease.engines import Answer, EngineFault, Facts
from hubrelease.engines._http import Client
from hubrelease.engines._ready import until_ready
from hubrelease.engines._thought import parted
from hubrelease.models import as_mapping
from hubrelease.suites import Request, Suite

TOLD = ("owned_by", "max_model_len")  # vLLM's `root` is a path of its machine
MAX_NAME, MAX_VIDEO_BYTES = 1000, 256 * 2**20
MOST = 2**53


class OpenAI:
    """`base` is the address with or without /v1."""

    kinds = frozenset(("chat", "completion", "image", "images", "long", "reasoning", "streaming", "tool", "video"))

    def __init__(self, base: str, name: str = "openai") -> None:
        self.client, self.name = Client(base), name
        self.pid: int | None = None
        self.model, self.timeout_s = "", 60.0
        self.told: dict[str, Any] = {}
        self.suite: Suite | None = None

    def start(self, suite: Suite) -> Mapping[str, Any]:
        self.suite, self.timeout_s = suite, suite.at_most("request_s")
        began = monotonic()
        rows = until_ready(self.rows, self.alive, suite.at_most("start_s"), is_ours=self.pid is not None)
        self.model = str(rows[0]["id"])
        self.told = {"model": self.model[:200], **{key: rows[0][key] for key in TOLD if is_plain(rows[0].get(key))}}
        try:
            version = self.client.call("/version", None, 10)
            if isinstance(version, dict) and isinstance(version.get("version"), str):
                self.told["version"] = version["version"][:80]
        except EngineFault:
            pass  # only vLLM has it
        return {"readyS": round(monotonic() - began, 1)}

    def rows(self, timeout_s: float) -> list[dict[str, Any]] | str:
        """/v1/models's rows, or why there are none yet."""
        value = self.client.call("/v1/models", None, timeout_s)
        rows = value.get("data") if isinstance(value, dict) else None
        if isinstance(rows, list) and rows and isinstance(rows[0], dict) and is_name(rows[0].get("id")):
            return rows
        return "its /v1/models lists no model" if not rows else "its /v1/models names a model that can't be asked for"

    def alive(self) -> None:
        """Raises EngineFault where the server's process has ended; one that others started can't be looked at."""

    def facts(self) -> Facts:
        version = self.told.get("version")
        return Facts(
            self.name if self.name != "openai" or version is None else str(self.told.get("owned_by", self.name)), version, server=self.told
        )

    def count(self, text: str) -> int | None:
        try:
            value = self.client.call("/tokenize", {"model": self.model, "prompt": text}, self.timeout_s)
        except EngineFault:
            return None
        return whole(value.get("count")) if isinstance(value, dict) else None

    def close(self) -> None:
        """Nothing was started."""

    def ask(self, request: Request, stream: bool = False) -> Answer:
        self.alive()
        path, body = self.call_of(request)
        began = monotonic()
        try:
            if stream:
                return streamed(self.client.stream(path, {**body, "stream": True}, self.timeout_s), began)
            value = self.client.call(path, {**body, **self.logprobs(path)}, self.timeout_s)
            return answer_of(value, monotonic() - began)
        except EngineFault as fault:
            self.look(fault)
            raise

    def look(self, fault: EngineFault) -> None:
        """Raises EngineFault where the fault was the server's end."""
        self.alive()

    def logprobs(self, path: str) -> dict[str, Any]:
        return {"logprobs": True} if path.endswith("chat/completions") else {"logprobs": 1}

    def call_of(self, request: Request) -> tuple[str, dict[str, Any]]:
        body = request.body
        shared: dict[str, Any] = {"model": self.model, "temperature": 0, "max_tokens": body.get("maxTokens", 32), "seed": 0}
        if request.kind == "completion":
            return "/v1/completions", {**shared, "prompt": body["prompt"]}
        messages = [dict(message) for message in body["messages"]]
        if parts := self.pictures(request):
            messages[-1]["content"] = [*parts, {"type": "text", "text": messages[-1]["content"]}]
        more: dict[str, Any] = {"tools": body["tools"], "tool_choice": "auto"} if "tools" in body else {}
        if "reasoning" in body:
            more["chat_template_kwargs"] = {"enable_thinking": body["reasoning"]}
        return "/v1/chat/completions", {**shared, "messages": messages, **more}

    def pictures(self, request: Request) -> list[dict[str, Any]]:
        assert self.suite is not None
        coded = [base64.b64encode(self.suite.picture(name)).decode() for name in request.body.get("images", ())]
        if request.kind == "video":
            times = int(request.body.get("frames", len(coded))) // max(1, len(coded))
            if times * sum(map(len, coded)) > MAX_VIDEO_BYTES:
                raise EngineFault(f"the frames of the video are more than {MAX_VIDEO_BYTES >> 20} MiB")
            frames = ",".join(coded * times)
            return [{"type": "video_url", "video_url": {"url": f"data:video/jpeg;base64,{frames}"}}]
        return [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}} for data in coded]


# ------------------------------------------------------------------------------------------------------- reading answers


def first_choice(value: Any) -> dict[str, Any]:
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise EngineFault("answered 200 with an object that has no choices")
    found: dict[str, Any] = choices[0]
    return found


def is_plain(value: object) -> bool:
    return whole(value) is not None or (isinstance(value, str) and len(value) <= 200)


def is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def answer_of(value: Any, seconds: float) -> Answer:
    choice = first_choice(value)
    message = as_mapping(choice.get("message")) or {"content": choice.get("text")}
    content = message.get("content")
    tool = tool_of(message.get("tool_calls"))
    if not isinstance(content, str) and tool is None:
        raise EngineFault("answered 200 with a choice that has no text")
    usage = as_mapping(value.get("usage"))
    chosen = logprobs_of(choice.get("logprobs"))
    thought, text = told_apart(text_of(message.get("reasoning_content")) or text_of(message.get("reasoning")), text_of(content))
    return Answer(
        text,
        seconds,
        whole(usage.get("prompt_tokens")),
        whole(usage.get("completion_tokens")),
        thought,
        tool,
        chosen,
    )


def told_apart(thought: str, text: str) -> tuple[str, str]:
    """(thought, answer): the server's own, or what the text itself holds."""
    return (thought, text) if thought.strip() else parted(text)


def whole(value: object) -> int | None:
    """A count, where it is one."""
    return value if type(value) is int and 0 <= value < MOST else None


def tool_of(calls: object) -> Mapping[str, Any] | None:
    """{name, arguments} of the first tool call; arguments that are no JSON object are None."""
    row = calls[0] if isinstance(calls, list) and calls else None
    function = row.get("function") if isinstance(row, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    try:
        arguments = json.loads(text_of(function.get("arguments")))
    except (ValueError, RecursionError):
        arguments = None
    return {"name": function["name"], "arguments": arguments if isinstance(arguments, dict) else None}


def logprobs_of(value: object) -> tuple[float, ...] | None:
    """Of the chosen tokens, of a chat or a completion; NaN for what is no number. None where the server tells none."""
    told = as_mapping(value)
    rows = told.get("content") or told.get("token_logprobs")
    if not isinstance(rows, list) or not rows:
        return None
    found = [row.get("logprob") if isinstance(row, dict) else row for row in rows]
    return tuple(float(one) if isinstance(one, (int, float)) and abs(one) < MOST else math.nan for one in found)


def streamed(events: Iterator[Any], began: float) -> Answer:
    text, thought, chunks = [], [], 0
    for event in events:
        if isinstance(event, dict) and event.get("choices") == []:
            continue  # usage comes in a chunk of its own
        choice = first_choice(event)
        delta = as_mapping(choice.get("delta")) or {"content": choice.get("text")}
        text.append(text_of(delta.get("content")))
        thought.append(text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning")))
        chunks += 1
    if not chunks:
        raise EngineFault("the stream has no chunk")
    reasoning, answer = told_apart("".join(thought), "".join(text))
    return Answer(answer, monotonic() - began, reasoning=reasoning, chunks=chunks)
