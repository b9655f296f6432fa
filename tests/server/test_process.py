"""The server as a process: its address, its logs, its signals, its exit codes; and the example client against it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the environment of `make server`")
pytest.importorskip("PIL", reason="the environment of `make server`")

import pictures
from running import BODY

pytestmark = pytest.mark.heavy
HERE = Path(__file__).resolve().parent
CLIENT = HERE.parent.parent / "examples" / "client.py"


class Process:
    """`lines` are the log, parsed, as far as it has been read."""

    def __init__(self, *options: str, **environment: str) -> None:
        words = [sys.executable, str(HERE / "fake_server.py"), "--port", "0", *options]
        self.child = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environment})
        self.raw: list[bytes] = []
        self.reader = threading.Thread(target=lambda: self.raw.extend(self.child.stderr or ()))
        self.reader.start()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in list(self.raw)]

    def event(self, name: str, seconds: float = 20) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := [line for line in self.lines if line["event"] == name]:
                return found[-1]
            time.sleep(0.02)
        raise AssertionError(f"no event {name} in {self.raw}")

    @property
    def port(self) -> int:
        return int(self.event("listening")["addresses"][0][1])

    def post(self, body: Any) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("POST", "/v1/systemone", json.dumps(body), {"Content-Type": "application/json"})
        return connection.getresponse().status

    def end(self, sig: int = signal.SIGTERM) -> int:
        self.child.send_signal(sig)
        return self.ended()

    def ended(self) -> int:
        code = self.child.wait(30)
        self.reader.join(10)
        return code


@contextmanager
def process(*options: str, **environment: str) -> Iterator[Process]:
    made = Process(*options, **environment)
    try:
        yield made
    finally:
        made.child.kill()
        made.ended()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0(sig: int) -> None:
    with process() as found:
        found.event("ready")
        assert found.end(sig) == 0
        assert found.event("ended")["exitCode"] == 0


def test_a_running_request_is_answered_before_it_ends() -> None:
    with process(FAKE_SECONDS="1") as found:
        found.event("ready")
        said: list[int] = []
        asking = threading.Thread(target=lambda: said.append(found.post(BODY)))
        asking.start()
        time.sleep(0.5)
        assert found.end() == 0
        asking.join()
        assert said == [200]


def test_it_listens_on_loopback_unless_told_otherwise() -> None:
    with process() as found:
        assert [address for address, _ in found.event("listening")["addresses"]] == ["127.0.0.1"]


def test_a_port_that_is_taken_is_told_and_ends_it_with_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, process("--port", str(taken.getsockname()[1])) as found:
        assert found.ended() == 1
        assert found.event("listen_failed")


def test_a_release_that_can_not_be_loaded_ends_it_with_1_and_says_why() -> None:
    with process(FAKE_LOAD="fault") as found:
        assert found.ended() == 1
        assert found.event("load_failed")["reason"] == "3 shards are missing: a, b, c"


def test_a_lost_device_ends_it_with_3() -> None:
    with process() as found:
        found.event("ready")
        assert found.post({**BODY, "state": "raise lost"}) == 500
        assert found.ended() == 3


def test_every_line_of_log_is_json_and_none_holds_what_a_caller_sent() -> None:
    with process() as found:
        found.event("ready")
        for body in (
            {**BODY, "state": "PRIVATE"},
            {**BODY, "state": "raise fault PRIVATE"},
            {"PRIVATE": 1},
            {"questions": {"PRIVATE x": 1}},
        ):
            found.post(body)
        with socket.create_connection(("127.0.0.1", found.port)) as connection:
            connection.sendall(b"GET /PRIVATE?PRIVATE HTTP/1.1\r\nHost: PRIVATE\r\nPRIVATE\r\n\r\n")
            connection.recv(1000)
        found.end()
        assert all("time" in line and "event" in line for line in found.lines)
        assert not [line for line in found.raw if b"PRIVATE" in line]
        faults = [line for line in found.lines if line["event"] == "fault"]
        assert [line["exception"] for line in faults] == ["KeyError"]
        requests = [line for line in found.lines if line["event"] == "request"]
        assert [(line["status"], line.get("error")) for line in requests] == [
            (200, None),
            (500, "internal"),
            (422, "invalid_request"),
            (422, "invalid_request"),
        ]


# --------------------------------------------------------------------------------------------------- examples/client.py


def client(port: int, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(CLIENT), "--url", f"http://127.0.0.1:{port}", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(scope="module")
def served() -> Iterator[Process]:
    with process() as found:
        found.event("ready")
        yield found


@pytest.mark.parametrize("images", [0, 1, 2])
def test_the_client_asks_about_a_text_and_images(served: Process, tmp_path: Path, images: int) -> None:
    words: list[str | Path] = []
    for number in range(images):
        (tmp_path / f"{number}.png").write_bytes(pictures.saved("PNG"))
        words += ["--image", tmp_path / f"{number}.png"]
    done = client(served.port, *words, "The parcel arrived broken.")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [a["type"] for a in said["answers"].values()] == ["noul", "choice", "score"]
    assert len(said["usage"]["images"]) == images


def test_the_clients_exit_codes(served: Process, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"no image")
    (tmp_path / "request.json").write_text(json.dumps({**BODY, "state": "raise memory"}))
    with socket.create_server(("127.0.0.1", 0)) as gone:
        closed = gone.getsockname()[1]
    assert client(served.port, "--image", tmp_path / "bad.png", "x").returncode == 2
    assert client(served.port, "--image", tmp_path / "absent.png", "x").returncode == 2
    assert client(served.port).returncode == 2
    assert client(served.port, "--request", tmp_path / "request.json").returncode == 1
    assert client(closed, "x").returncode == 3
    for words in (["--retries", "-1"], ["--timeout", "0"], ["--timeout", "nan"], ["--url", "ftp://x"]):
        assert client(served.port, *words, "x").returncode == 2, words


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", 3),
        (b"SSH-2.0-x\r\n", 3),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", 3),
        (b"HTTP/1.1 200 OK\r\n\r\nnot JSON", 3),
        (b"HTTP/1.1 503 X\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n", 1),
    ],
)
def test_the_clients_exit_code_where_something_else_listens(answer: bytes, code: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection = listener.accept()[0]
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        done = client(listener.getsockname()[1], "--retries", "1", "x")
        listener.shutdown(socket.SHUT_RDWR)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_the_client_prints_json_that_any_terminal_takes(served: Process, tmp_path: Path) -> None:
    choice = {"type": "choice", "instructions": "?", "criteria": {"예": None, "아니요": None}}
    (tmp_path / "request.json").write_text(json.dumps({"questions": {"q": choice}}))
    words = [sys.executable, str(CLIENT), "--url", f"http://127.0.0.1:{served.port}", "--request", str(tmp_path / "request.json")]
    for encoding in ("ascii", "cp1252", "utf-8"):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(words, capture_output=True, check=False, timeout=60, env=environment)
        assert done.returncode == 0, done.stderr
        assert list(json.loads(done.stdout)["answers"]["q"]["probabilities"]) == ["예", "아니요"]


@pytest.mark.parametrize(
    "words",
    [("--port", "70000"), ("--port", "-1"), ("--queue", "-1"), ("--held-mib", "0"), ("--max-tokens", "0"), ("--queue", "x")],
)
def test_a_number_that_makes_no_sense_is_a_wrong_argument(words: tuple[str, str]) -> None:
    with process(*words) as found:
        assert found.ended() == 2
