"""A decision server on loopback that answers by arithmetic, and on request badly."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FACTS = {
    "model": "example-org/tiny",
    "adapter": None,
    "backend": "fake",
    "loaded": True,
    "load_seconds": 1.5,
    "readout_codes": 256,
    "prompt_layout": "plain",
    "max_options": 255,
    "device": {"name": "cpu", "computeCapability": None},
    "versions": {"torch": "2.13.0", "triton": None},
}
Fault = Callable[["Handler", dict[str, Any]], None]


class DecisionServer:
    """`faults[state]` are what happens to the first requests with that state, one each; then it answers well."""

    def __init__(self, **facts: Any) -> None:
        self.facts: dict[str, Any] = {**FACTS, **facts}
        self.faults: dict[str, list[Fault]] = {}
        self.asked: Counter[str] = Counter()
        self.seen: Callable[[], None] = lambda: None  # called at each question
        self.together = self.most_together = 0
        self.lock = threading.Lock()
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listens, on the same port as before."""
        self.http = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.http.daemon_threads, self.http.block_on_close = True, False
        self.http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that were killed
        self.http.owner = self  # type: ignore[attr-defined]
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, args=(0.005,), daemon=True).start()

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()

    def __enter__(self) -> DecisionServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        pass

    @property
    def owner(self) -> DecisionServer:
        return self.server.owner  # type: ignore[attr-defined, no-any-return]

    def do_GET(self) -> None:
        self.send(200, {**self.owner.facts, "load_seconds": time.monotonic()})

    def do_POST(self) -> None:
        owner, body = self.owner, json.loads(self.rfile.read(int(self.headers["content-length"])))
        state = body["state"] if isinstance(body["state"], str) else json.dumps(body["state"])
        with owner.lock:
            owner.asked[state] += 1
            owner.together += 1
            owner.most_together = max(owner.together, owner.most_together)
            fault = owner.faults[state].pop(0) if owner.faults.get(state) else None
        owner.seen()
        try:
            (fault or well)(self, body)
        finally:
            with owner.lock:
                owner.together -= 1

    def send(self, status: int, value: Any, **headers: str) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"content-length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(data)


def decided(body: dict[str, Any]) -> dict[str, Any]:
    """A good answer, made from the request's bytes."""
    [(name, asked)] = body["questions"].items()
    values = hashlib.sha256(json.dumps(body).encode()).digest()
    answer: dict[str, Any] = {"type": asked["type"], "unknown_probability": 0.01, "abstained": False}
    if asked["type"] == "noul":
        answer["noul"] = values[0] / 255
    else:
        names = list(asked["criteria"]) if asked["type"] == "choice" else [str(n) for n in range(len(asked["criteria"]))]
        weights = [1 + values[n] for n in range(len(names))]
        answer["probabilities"] = {n: w / sum(weights) for n, w in zip(names, weights, strict=True)}
        best = max(answer["probabilities"].values())
        answer["choice"] = next(n for n in names if answer["probabilities"][n] == best)
        if asked["type"] == "score":
            answer["score"] = sum(n * p for n, p in enumerate(answer["probabilities"].values()))
            del answer["choice"]
    usage = {"input_tokens": len(json.dumps(body)) // 4, "rotations": 3 if asked["type"] == "noul" else 4}
    return {"model": FACTS["model"], "answers": {name: answer}, "usage": usage}


def well(handler: Handler, body: dict[str, Any]) -> None:
    handler.send(200, decided(body) | {"model": handler.owner.facts["model"]})


# -------------------------------------------------------------------------------------------------------------- faults


def says(status: int, value: Any, **headers: str) -> Fault:
    return lambda handler, body: handler.send(status, value, **headers)


def changed(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> Fault:
    """A good answer that `change(answer, whole body)` spoils."""

    def fault(handler: Handler, body: dict[str, Any]) -> None:
        value = decided(body)
        change(value["answers"]["decision"], value)
        handler.send(200, value)

    return fault


def slow(seconds: float) -> Fault:
    def fault(handler: Handler, body: dict[str, Any]) -> None:
        time.sleep(seconds)
        well(handler, body)

    return fault


def drips(handler: Handler, body: dict[str, Any]) -> None:
    """Sends a byte now and then, and never the last one."""
    handler.send_response(200)
    handler.send_header("content-length", "1000000")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        time.sleep(0.02)


def hangs_up(handler: Handler, body: dict[str, Any]) -> None:
    handler.close_connection = True


def stops_in_the_middle(handler: Handler, body: dict[str, Any]) -> None:
    data = json.dumps(decided(body)).encode()
    handler.send_response(200)
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data[: len(data) // 2])
    handler.close_connection = True


def dies(handler: Handler, body: dict[str, Any]) -> None:
    """The whole server goes away with the request in its hand."""
    handler.owner.stop()
    handler.close_connection = True


# ------------------------------------------------------------------------------------------------------ questions and rows


def question(number: int) -> dict[str, Any]:
    kind = ("choice", "noul", "score")[number % 3]
    criteria: Any = ({"zebra": None, "ant": "a small one", "mule": None}, {"true": "it is"}, ["none", "some", "much"])[number % 3]
    label = ("ant", "true", "2")[number % 3]
    asked = {"instructions": "Which is it?", "criteria": criteria}
    return {
        "id": f"row {number}",
        "task": f"task {number % 2}",
        "type": kind,
        "label": label,
        "state": f"state {number}",
        "question": asked,
    }


def questions(folder: Path, count: int, **changes: dict[str, Any]) -> Path:
    """A questions file; `row_3={"label": …}` changes the row 3."""
    rows = [question(number) | changes.get(f"row_{number}", {}) for number in range(count)]
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [record for record in records(path) if "kind" not in record]


def sessions(path: Path) -> list[str]:
    return [record["event"] for record in records(path) if record.get("kind") == "decision-session"]


def without_time(path: Path) -> list[dict[str, Any]]:
    """The run's header and its rows, but for what takes another value each time: what docs/benchmark.md promises to be equal."""
    kept = [record for record in records(path) if record.get("kind") != "decision-session"]
    return [{key: value for key, value in record.items() if key not in ("latencyMs", "attempts")} for record in kept]
