"""A decision server on loopback, as runtime/server answers, with the numbers that it is given. Standard library alone."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODELS = {
    "model": "owner/tiny", "loaded": True, "profile": "fused", "max_tokens": 4096, "versions": {"torch": "2.13.0", "engine": "1.2"},
    "backend": {"linear": {"steps": [{"rows": 0, "backend": "cutlass_sm120"}], "selfTest": {"shapes": 7}}, "attention": "torch"},
}  # fmt: skip
GOOD = {
    "open": {"type": "noul", "noul": 0.9, "unknown_probability": 0.1, "abstained": False},
    "day": {"type": "choice", "choice": "Tuesday", "probabilities": {"Tuesday": 0.8, "Sunday": 0.1, "Friday": 0.1}, "unknown_probability": 0.05, "abstained": False},
    "q": {"type": "noul", "noul": 0.7, "unknown_probability": 0.1, "abstained": False},
}  # fmt: skip


class FakeDecisions:
    def __init__(self, **answers: Any) -> None:
        self.answers, self.bodies = {**GOOD, **answers}, []  # type: dict[str, Any], list[dict[str, Any]]
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                self.say(MODELS)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                fake.bodies.append(body)
                self.say(
                    {
                        "model": "m",
                        "answers": {name: fake.answers[name] for name in body["questions"]},
                        "usage": {"input_tokens": max(99, len(str(body["state"]).split()))},
                    }
                )

            def say(self, value: Any) -> None:
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self) -> FakeDecisions:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()
