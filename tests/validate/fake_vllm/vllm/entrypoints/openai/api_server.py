"""Stands in for vLLM's server: the same command line and protocol. FAKE_VLLM: a fault of FakeOpenAI, or `crash` or `child`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from fake_openai import FakeOpenAI, handler

if __name__ == "__main__":
    words = dict(zip(sys.argv[1:], sys.argv[2:], strict=False))
    fault = os.environ.get("FAKE_VLLM", "")
    assert (Path(words["--model"]) / "config.json").is_file()
    if fault == "crash":
        print("RuntimeError: the NVIDIA driver on your system is too old (found version 11040)", file=sys.stderr)
        sys.exit(1)
    if fault == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        Path(os.environ["FAKE_VLLM_CHILD"]).write_text(str(child.pid))
        fault = ""
    fake = FakeOpenAI(fault)
    fake.http.server_close()
    fake.http = ThreadingHTTPServer(("127.0.0.1", int(words["--port"])), handler(fake))
    if "FAKE_VLLM_PID" in os.environ:
        Path(os.environ["FAKE_VLLM_PID"]).write_text(str(os.getpid()))
    print("ready", flush=True)
    fake.http.serve_forever(0.02)
    time.sleep(0.5)  # a server that is told to stop goes a little later
