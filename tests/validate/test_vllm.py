"""validate with the real vLLM on the CPU (`make vllm`): SmolLM2 is started, asked, and judged; then the same server is asked as a running one.

Formats that vLLM has no CPU kernel for fail with vLLM's own reason. test_processes.py has the same paths with a stand-in.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import models_env
import pytest
from jsonschema import Draft202012Validator
from project import project
from specs import LOCAL
from validating import REPORT, report, row

from hubrelease import resources
from hubrelease.engines.vllm import VLLM
from hubrelease.suites import document_for, suite_of
from hubrelease.verifier import verify

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.xdist_group("vllm"),
    pytest.mark.skipif(find_spec("vllm") is None, reason="the environment of `make vllm`"),
]
FILE = "runtime_validation.json"
ASKED = {"takes": ["chat", "completion", "streaming", "long"], "long_prompts": [500], "latency_tokens": [32], "soak_s": 2}


def built(folder, form):
    made = project(folder, here=True)
    made.spec(**{**LOCAL, "weights": {"format": form}, "validation": ASKED})
    shutil.copytree(models_env.checkpoint("smollm2"), made.folder / "base")
    made.build().good()
    return made.out


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    return built(tmp_path_factory.mktemp("bf16"), "bf16")


def ran(root, *words):
    """`hubrelease validate`: (exit code, its JSON object)."""
    env = {**os.environ, "PYTHONPATH": str(models_env.SOURCE), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "hubrelease", "validate", str(root), "--device", "cpu", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=1500)
    assert done.stdout, done.stderr[-3000:]
    return done.returncode, json.loads(done.stdout)


def test_smollm2_passes(smollm2):
    code, said = ran(smollm2, "--runtime", "vllm")
    assert (code, said["result"], said["file"]) == (0, "pass", FILE), said
    found = report(smollm2, FILE)
    assert list(Draft202012Validator(resources.schema("validation")).iter_errors(found)) == []
    assert found["environment"]["engine"]["name"] == "vllm"
    assert found["environment"]["packages"]["vllm"] == found["environment"]["engine"]["version"]
    assert "Paris" in row(found, "request:capital")["measured"]["output"]
    assert row(found, "request:long-500")["measured"]["promptTokens"] >= 500
    streamed = row(found, "streaming:streamed")["measured"]
    assert (streamed["same"], streamed["chunks"] > 5) == (True, True)
    assert row(found, "logits:finite")["measured"]["values"] > 20
    assert verify(smollm2).word == "good", verify(smollm2).problems


def test_a_server_that_runs_is_asked_by_its_address(smollm2):
    engine = VLLM(smollm2, "cpu", False)
    try:
        engine.start(suite_of(document_for(("chat",), {}, None), lambda name: b""))
        code, said = ran(smollm2, "--base-url", f"http://127.0.0.1:{engine.port}/v1")
    finally:
        engine.close()
    assert (code, said["result"], said["file"]) == (0, "pass", REPORT), said
    assert report(smollm2)["environment"]["engine"]["name"] == "vllm"


def test_a_format_without_a_kernel_on_this_device_fails_with_vllms_own_reason(tmp_path):
    root = built(tmp_path, "w8a16")
    code, said = ran(root, "--runtime", "vllm", "--suite", "functional")
    assert (code, said["result"]) == (1, "fail")
    (start,) = [check for check in said["report"]["checks"] if check["name"] == "start"]
    assert "Failed to find a kernel that can implement the WNA16 linear layer" in start["reason"]
