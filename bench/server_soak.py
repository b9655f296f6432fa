"""Many requests by several clients against a served release on the CPU: failures, latency, and whether memory stays flat.

python tests/server/tiny_served.py DIR 2
python bench/server_soak.py --release DIR/release [--requests 2000] [--clients 8] [--at-most 600] [--out soak.json]
python bench/server_soak.py --fake          the server alone, over an engine that computes nothing

Every tenth request is a bad one that must be refused, every seventh has images, every fiftieth leaves before its answer.
Memory is the server's resident size, looked at four times a second; flat means that its median over the last tenth of the
requests is at most 3 % or 16 MiB above that over the third tenth (before, the allocator's arenas grow to what the largest
requests need). A 503 of a full queue is asked again, as a client should.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import platform
import random
import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FAKE = ROOT / "tests" / "server" / "fake_server.py"
FLAT_SHARE, FLAT_MIB = 1.03, 16.0


def png(seed: int, side: int = 64) -> bytes:
    """A noisy picture, so that every request's is another one."""
    pixels = random.Random(seed).randbytes(side * side * 3)
    rows = b"".join(b"\0" + pixels[y * side * 3 : (y + 1) * side * 3] for y in range(side))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def body(number: int) -> tuple[bytes, int]:
    """A request and the status that it must get."""
    if number % 10 == 9:
        return BAD[number // 10 % len(BAD)], 422
    chance = random.Random(number)
    questions = {
        "noul": {"type": "noul", "instructions": f"Is {number} large?"},
        "choice": {"type": "choice", "instructions": "Which?", "criteria": {f"option {n}": None for n in range(chance.randint(2, 6))}},
        "score": {"type": "score", "instructions": "How much?", "criteria": ["little", "some", "much"]},
    }
    asked = dict(chance.sample(sorted(questions.items()), 1 + (number % 5 == 0)))
    value: dict[str, Any] = {"state": {"number": number, "text": "word " * chance.randint(1, 20)}, "questions": asked}
    if number % 7 == 3:
        value["images"] = ["data:image/png;base64," + base64.b64encode(png(number + n)).decode() for n in range(1 + number % 2)]
    return json.dumps(value).encode(), 200


BAD = (
    b"{",
    b"[" * 500,
    b'{"questions":{}}',
    b'{"questions":{"q":{"type":"noul","instructions":"x"}},"images":["data:image/png;base64,aaaa"]}',
    b'{"a":1,"a":2}',
)


class Soak:
    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid
        self.statuses: Counter[str] = Counter()
        self.seconds: list[float] = []
        self.wrong: list[str] = []
        self.done = 0
        self.memory: list[tuple[int, float]] = []  # (requests done, MiB)
        self.stop = threading.Event()

    def ask(self, number: int) -> None:
        self.asked(number)
        self.done += 1  # a few of them lost by two threads at once would not matter

    def asked(self, number: int) -> None:
        data, wanted = body(number)
        if number % 50 == 24:
            self.leave(data)
            return
        while True:
            started = time.perf_counter()
            try:
                status = self.post(data)
            except OSError as error:
                self.wrong.append(f"request {number}: {error!r}")
                return
            self.statuses[str(status)] += 1
            if status != 503:
                break
            time.sleep(0.2)
        if status != wanted:
            self.wrong.append(f"request {number}: {status}, not {wanted}")
        elif status == 200:
            self.seconds.append(time.perf_counter() - started)

    def post(self, data: bytes) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", "/v1/systemone", data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            json.loads(response.read())
            return response.status
        finally:
            connection.close()

    def leave(self, data: bytes) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            head = f"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
            connection.sendall(head.encode() + data)
        self.statuses["left"] += 1

    def watch(self) -> None:
        while not self.stop.wait(0.25):
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            self.memory.append((self.done, pages * 4096 / 2**20))

    def tenth(self, number: int, requests: int) -> float:
        """The median of the samples in a tenth of the requests, the first being 0."""
        inside = [mib for done, mib in self.memory if number <= 10 * done / requests < number + 1]
        return statistics.median(inside or [mib for _, mib in self.memory])


def start(asked: argparse.Namespace, log: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The server's process and port, once it is ready."""
    if asked.fake:
        words = [sys.executable, str(FAKE), "--port", "0"]
    else:
        words = [sys.executable, "-m", "server", str(asked.release.resolve()), "--device", "cpu", "--port", "0"]
    environment = {
        "OMP_NUM_THREADS": "1",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "runtime"), os.environ.get("PYTHONPATH")])),
    }
    with log.open("wb") as out:
        child = subprocess.Popen(words, stdout=out, stderr=out, env=environment, cwd=ROOT / "runtime")
    end = time.monotonic() + 300
    while b'"event":"ready"' not in log.read_bytes():
        if child.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"the server did not become ready:\n{log.read_text()}")
        time.sleep(0.1)
    return child, int(re.search(rb'"addresses":\[\["127.0.0.1",(\d+)\]', log.read_bytes())[1])  # type: ignore[index]


def judged(soak: Soak, asked: argparse.Namespace, seconds: float, code: int) -> dict[str, Any]:
    tenths = [soak.tenth(number, asked.requests) for number in range(10)]
    early, late = tenths[2], tenths[9]
    ordered = sorted(soak.seconds)
    return {
        "engine": "fake" if asked.fake else "release on the CPU",
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()},
        "requests": asked.requests,
        "clients": asked.clients,
        "seconds": round(seconds, 1),
        "statuses": dict(sorted(soak.statuses.items())),
        "failures": soak.wrong[:20],
        "failureCount": len(soak.wrong),
        "latencyMs": {"median": round(1000 * statistics.median(ordered), 1), "p99": round(1000 * ordered[int(0.99 * len(ordered))], 1)},
        "residentMiB": {
            "start": round(soak.memory[0][1], 1),
            "byTenth": [round(mib, 1) for mib in tenths],
            "peak": round(max(mib for _, mib in soak.memory), 1),
            "samples": len(soak.memory),
        },
        "inTime": asked.at_most is None or seconds <= asked.at_most,
        "flat": late <= max(early * FLAT_SHARE, early + FLAT_MIB),
        "serverExitCode": code,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", type=Path)
    parser.add_argument("--fake", action="store_true")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--at-most", type=float, metavar="SECONDS", help="a run that takes longer has failed")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.fake == (asked.release is not None):
        parser.error("give --release or --fake")
    with tempfile.TemporaryDirectory() as folder:
        child, port = start(asked, Path(folder) / "log")
        soak = Soak(port, child.pid)
        started = time.perf_counter()
        watching = threading.Thread(target=soak.watch)
        watching.start()
        with ThreadPoolExecutor(asked.clients) as pool:
            list(pool.map(soak.ask, range(asked.requests)))
        seconds = time.perf_counter() - started
        soak.stop.set()
        watching.join()
        child.terminate()
        found = judged(soak, asked, seconds, child.wait(60))
    text = json.dumps(found, indent=2, sort_keys=True)
    print(text)
    if asked.out:
        asked.out.write_text(text + "\n")
    return 0 if found["flat"] and found["inTime"] and not soak.wrong and found["serverExitCode"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
