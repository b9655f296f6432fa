"""An OpenAI-compatible server on loopback, streamed and not, that fails as real ones do. Standard library alone.

    with FakeOpenAI(fault="dies") as server: ... server.base ...

Faults: `loading` (never lists a model), `dies` (breaks off in the middle of the first answer and listens no more), `nonsense` (200 with
what is no JSON), `empty` (200 with no choices), `slow` (a byte now and then), `gibberish` (one word again and again),
`differs` (streams another text), `chance` (another answer each time), `nan` (log probabilities that are none), `cut` (a stream without its end).
`odd` are answers of one's own: {path: what is called with the handler, and the body where there is one}.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STORY = (
    "Every night the keeper climbed the narrow stairs and lit the lamp. One morning a green bottle lay between the rocks, "
    "and inside it was a letter from a girl who had lived on the far shore forty years before."
)
ANSWERS = {
    "password": "heron",
    "capital of France": "Paris.",
    "2 + 2": "4",
    "from one to five": "one two three four five",
    "lighthouse": STORY,
}


class FakeOpenAI:
    def __init__(self, fault: str = "") -> None:
        self.fault, self.requests, self.count = fault, [], 0
        self.odd: dict[str, Callable[..., None]] = {}
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self) -> FakeOpenAI:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()

    def text_for(self, body: dict[str, Any]) -> str:
        asked = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
        asked = asked if isinstance(asked, str) else asked[-1]["text"]
        self.count += 1
        if self.fault == "gibberish":
            return "the " * 60
        text = next((answer for words, answer in ANSWERS.items() if words in asked), "I can't say.")
        return f"{text} {self.count}" if self.fault == "chance" else text


def handler(server: FakeOpenAI) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            if self.path in server.odd:
                return server.odd[self.path](self)
            if self.path == "/version":
                return self.answer({"version": "0.9.9"})
            rows = (
                []
                if server.fault == "loading"
                else [{"id": "tiny", "object": "model", "owned_by": "vllm", "root": "/home/me/tiny", "max_model_len": 4096}]
            )
            return self.answer({"object": "list", "data": rows})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            server.requests.append((self.path, body))
            if self.path in server.odd:
                return server.odd[self.path](self, body)
            if self.path == "/tokenize":
                return self.answer({"count": len(body["prompt"].split())})
            text = server.text_for(body)
            if body.get("stream"):
                return self.stream(f"{text}!" if server.fault == "differs" else text)
            return self.whole(body, text)

        def whole(self, body: dict[str, Any], text: str) -> None:
            fault = server.fault
            if fault == "nonsense":
                return self.send(b"<html>It works!</html>")
            if fault == "empty":
                return self.answer({"choices": []})
            words = text.split()
            logprob = float("nan") if fault == "nan" else -0.5
            rows = [{"token": w, "logprob": logprob} for w in words]
            message = {"role": "assistant", "content": text}
            if "tools" in body:
                message["tool_calls"] = [{"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}]
            prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
            usage = {"prompt_tokens": len(str(prompt).split()), "completion_tokens": len(words)}
            data = json.dumps({"choices": [{"message": message, "text": text, "logprobs": {"content": rows}}], "usage": usage}).encode()
            if fault == "dies":
                threading.Thread(target=server.http.shutdown).start()
                server.http.socket.close()
                return self.broken(data)
            return self.drip(data) if fault == "slow" else self.send(data)

        def stream(self, text: str) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for number, word in enumerate(text.split(" ")):
                piece = word if number == 0 else f" {word}"
                self.wfile.write(b"data: " + json.dumps({"choices": [{"delta": {"content": piece}}]}).encode() + b"\n\n")
            if server.fault != "cut":
                self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def answer(self, value: Any) -> None:
            self.send(json.dumps(value).encode())

        def send(self, data: bytes) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def broken(self, data: bytes) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.close_connection = True

        def drip(self, data: bytes) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            for byte in data:
                time.sleep(0.05)
                try:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                except OSError:
                    return

    return Handler
