"""Stands in for vLLM's server: the same command line and protocol. FAKE_VLLM: a fault of FakeOpenAI, or `crash`, `core`, `kernel`, `engine` (dies at the first request, as vLLM does), `cpu` or `child`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fake_openai import FakeOpenAI, handler

FRAME = """(VllmWorker-0 pid=7) ERROR 11-30 20:21:46 [multiproc_executor.py:953]   File "vllm/tracing/otel.py", line 175, in sync_wrapper
(VllmWorker-0 pid=7) ERROR 11-30 20:21:46 [multiproc_executor.py:953]     return func(*args, **kwargs)
"""
CORE_FAILED = f"""(Worker pid=6) WARNING 11-30 20:21:40 [utils.py:597] Failed to create oneDNN linear, fallback to torch linear. Exception: no descriptor
(VllmWorker-0 pid=7) ERROR 11-30 20:21:46 [multiproc_executor.py:953] WorkerProc failed to start.
(VllmWorker-0 pid=7) ERROR 11-30 20:21:46 [multiproc_executor.py:953] Traceback (most recent call last):
{FRAME * 60}(VllmWorker-0 pid=7) ERROR 11-30 20:21:46 [multiproc_executor.py:953] ValueError: Available memory on node 0 (20.83/23.54 GiB) on \
startup is less than desired CPU memory utilization (0.92, 21.66 GiB).
(EngineCore pid=8) ERROR 11-30 20:21:50 [core.py:1510] EngineCore failed to start.
Traceback (most recent call last):
  File "vllm/v1/engine/utils.py", line 1431, in wait_for_engine_startup
    raise RuntimeError(
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{'EngineCore': 1}}"""  # of vLLM 0.32.0

NO_KERNEL = """(Worker pid=7) ERROR 11-30 20:56:01 [multiproc_executor.py:953] ValueError: Failed to find a kernel that can implement the \
WNA16 linear layer. Reasons:
(Worker pid=7) ERROR 11-30 20:56:01 [multiproc_executor.py:953]  CPUWNA16LinearKernel cannot implement due to: Quant type uint8b128 not supported
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}"""


def engine_dead(asked: Any, body: Any) -> None:
    """A 500 that says to look above, and half a second later the end."""
    print("(EngineCore pid=8) ERROR 11-30 20:57:12 [core.py:1510] RuntimeError: weight and scale do not fit", file=sys.stderr, flush=True)
    data = b'{"error": {"message": "EngineCore encountered an issue. See stack trace (above) for the root cause.", "code": 500}}'
    asked.send_response(500)
    asked.send_header("content-length", str(len(data)))
    asked.end_headers()
    asked.wfile.write(data)
    threading.Timer(0.5, os._exit, (1,)).start()


if __name__ == "__main__":
    words = dict(zip(sys.argv[1:], sys.argv[2:], strict=False))
    fault = os.environ.get("FAKE_VLLM", "")
    assert (Path(words["--model"]) / "config.json").is_file()
    if fault == "crash":
        print("RuntimeError: the NVIDIA driver on your system is too old (found version 11040)", file=sys.stderr)
        sys.exit(1)
    if fault == "core" or (fault == "cpu" and "VLLM_CPU_KVCACHE_SPACE" not in os.environ):
        print(CORE_FAILED, file=sys.stderr)
        sys.exit(1)
    if fault == "absent":
        sys.exit("ModuleNotFoundError: No module named 'torch'")
    if fault == "kernel":
        print(NO_KERNEL, file=sys.stderr)
        sys.exit(1)
    if fault == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        Path(os.environ["FAKE_VLLM_CHILD"]).write_text(str(child.pid))
        fault = ""
    fake = FakeOpenAI("" if fault == "cpu" else fault)
    fake.http.server_close()
    fake.http = ThreadingHTTPServer(("127.0.0.1", int(words["--port"])), handler(fake))
    if "FAKE_VLLM_PID" in os.environ:
        Path(os.environ["FAKE_VLLM_PID"]).write_text(str(os.getpid()))
    if fault == "engine":
        fake.odd["/v1/chat/completions"] = engine_dead
    print("ready", flush=True)
    fake.http.serve_forever(0.02)
    time.sleep(0.5)  # a server that is told to stop goes a little later
