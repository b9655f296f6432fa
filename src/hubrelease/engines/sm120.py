"""The decision runtime of a release, started as its Dockerfile starts it: the entry point with the verifier, engine and kernels beside it.

They are copied out of the release first, as the image has them: nothing is ever imported from the folder that is served.
Where a server already runs, `base` is its address.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

from hubrelease import canonical
from hubrelease.engines import Answer, EngineFault, Facts
from hubrelease.engines._http import Client
from hubrelease.engines._packages import installed
from hubrelease.engines._process import Process, free_port
from hubrelease.engines._ready import until_ready
from hubrelease.models import as_mapping
from hubrelease.release import Release
from hubrelease.suites import Request, Suite

TOLD = ("version", "payloadDigest", "profile", "max_tokens", "max_options", "calibration_version", "graphs")
OWN = frozenset(("server", "engine", "kernels", "verify_release", "entrypoint"))
PARTS = ("runtime/server/", "runtime/engine/", "runtime/kernels/")
ALONE = ("runtime/verify_release.py", "runtime/entrypoint.py")
MAX_PACKAGES, MAX_TOLD_BYTES = 40, 4096
MAX_CODE_BYTES, MAX_TOKENIZER_BYTES = 16 * 2**20, 64 * 2**20


class SM120:
    """`profile` is the server's: `fused`, or `reference` for transformers' own model under the same readout."""

    kinds = frozenset(("decision", "long"))

    def __init__(self, release: Release, device: str, profile: str = "fused", base: str | None = None) -> None:
        self.release, self.device, self.profile = release, device, profile
        port = free_port()
        self.client, self.port = Client(base or f"http://127.0.0.1:{port}"), port
        self.is_running = base is not None
        self.process: Process | None = None
        self.scratch: tempfile.TemporaryDirectory[str] | None = None
        self.pid: int | None = None
        self.timeout_s = 60.0
        self.told: dict[str, Any] = {}
        self.suite: Suite | None = None
        self.tokenizer: Any = None

    def start(self, suite: Suite) -> Mapping[str, Any]:
        self.suite, self.timeout_s = suite, suite.at_most("request_s")
        began = monotonic()
        if not self.is_running:
            self.scratch = tempfile.TemporaryDirectory(prefix="hubrelease-validate-")
            place = copied(self.release, Path(self.scratch.name))
            # --sizes-only: every byte was held against the provenance a moment ago
            words = [sys.executable, "-I", str(place / "entrypoint.py"), str(Path(self.release.root).resolve()), "--sizes-only"]
            words += ["--host", "127.0.0.1", "--port", str(self.port), "--device", self.device, "--profile", self.profile]
            self.process = Process(words, place, {"PYTHONDONTWRITEBYTECODE": "1"}, OWN)
            self.pid = self.process.pid
        self.told = until_ready(self.models, self.alive, suite.at_most("start_s"), is_ours=not self.is_running)
        return {"readyS": round(monotonic() - began, 1)}

    def models(self, timeout_s: float) -> dict[str, Any] | str:
        """/v1/models, or why it does not count yet."""
        value = self.client.call("/v1/models", None, timeout_s)
        if isinstance(value, dict) and isinstance(value.get("model"), str) and value.get("loaded") is True:
            return value
        return 'its /v1/models names no model that is "loaded": true'

    def alive(self) -> None:
        if self.process:
            self.process.alive()

    def facts(self) -> Facts:
        backend = as_mapping(self.told.get("backend"))
        linear = backend.get("linear")
        steps = linear.get("steps") if isinstance(linear, dict) else None
        named = (
            ", ".join(dict.fromkeys(str(s.get("backend")) for s in steps if isinstance(s, dict)))
            if isinstance(steps, list)
            else str(linear)
        )
        backends = {"linear": named[:300], **{k: str(v)[:80] for k, v in backend.items() if k in ("attention", "deltaRule")}}
        versions = as_mapping(self.told.get("versions"))
        told = {str(k)[:80]: v[:40] for k, v in islice(versions.items(), MAX_PACKAGES) if isinstance(v, str)}
        packages = {**({} if self.is_running else installed()), **told}
        kept: dict[str, Any] = {key: self.told[key] for key in TOLD if is_small(self.told.get(key))}
        self_test = linear.get("selfTest") if isinstance(linear, dict) and is_small(linear.get("selfTest")) else None
        return Facts("sm120", packages.pop("engine", None), packages, backends, {**kept, **({"selfTest": self_test} if self_test else {})})

    def count(self, text: str) -> int | None:
        """By the release's own tokenizer, where the library is installed: the server has no call for it."""
        try:
            from tokenizers import Tokenizer
        except ImportError:
            return None
        if self.tokenizer is None:
            data = self.release.read("tokenizer.json", MAX_TOKENIZER_BYTES)
            if data is None:
                return None
            try:
                self.tokenizer = Tokenizer.from_str(data.decode("utf-8", "replace"))
            except Exception as error:  # the library raises nothing narrower
                raise EngineFault(f"tokenizer.json can't be read: {str(error)[:200]}") from None
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def ask(self, request: Request, stream: bool = False) -> Answer:
        self.alive()
        assert self.suite is not None
        pictures = [base64.b64encode(self.suite.picture(name)).decode() for name in request.body.get("images", ())]
        body: dict[str, Any] = {"state": request.body.get("state", {}), "questions": request.body["questions"]}
        body |= {"images": [f"data:image/png;base64,{data}" for data in pictures]} if pictures else {}
        began = monotonic()
        try:
            value = self.client.call("/v1/systemone", body, self.timeout_s)
        except EngineFault:
            self.alive()
            raise
        answers = value.get("answers") if isinstance(value, dict) else None
        if not isinstance(answers, dict):
            raise EngineFault("answered 200 with an object that has no answers")
        usage = as_mapping(value.get("usage"))
        tokens = usage.get("input_tokens")
        return Answer(seconds=monotonic() - began, prompt_tokens=tokens if type(tokens) is int else None, decisions=answers)

    def close(self) -> None:
        if self.process:
            self.process.end()
            self.process = None
        if self.scratch:
            self.scratch.cleanup()
            self.scratch = None


def is_small(value: Any) -> bool:
    """Something that a report has room for, and that can be written down: no NaN, no half character."""
    try:
        return value is not None and len(canonical.compact(value)) <= MAX_TOLD_BYTES
    except ValueError:
        return False


def copied(release: Release, place: Path) -> Path:
    """The runtime's files in a folder of their own, laid out as in the image. EngineFault where the release has none."""
    wanted = [path for path in sorted(release.files) if path in ALONE or path.startswith(PARTS)]
    if not any(path.startswith("runtime/server/") for path in wanted):
        raise EngineFault("the release has no runtime/server: its release.yaml asks for no runtime of kind sm120", ended=True)
    for path in wanted:
        target = place / path.removeprefix("runtime/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(release.read(path, MAX_CODE_BYTES) or b"")
    return place
