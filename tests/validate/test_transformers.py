"""validate with real engines on the CPU: transformers over SmolLM2, and the decision runtime over a tiny release, whole reports each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import models_env
import parity
import pytest
import tiny
from jsonschema import Draft202012Validator
from project import project
from specs import LOCAL
from validating import CPU, REPORT, report, row

from hubrelease import resources
from hubrelease.verifier import verify

pytestmark = pytest.mark.heavy
HERE = Path(__file__).parent


def ran(python, root, *words):
    """`hubrelease validate` in an environment with torch: (exit code, its JSON object)."""
    env = {**os.environ, "PYTHONPATH": str(models_env.SOURCE), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "2"}
    command = [str(python), "-m", "hubrelease", "validate", str(root), "--device", "cpu", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=1500)
    assert done.stdout, done.stderr[-3000:]
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    """SmolLM2 in BF16 as a release that promises a GPU."""
    made = project(tmp_path_factory.mktemp("smollm2"), here=True)
    runtime = {"kind": "verify", "image": "i@sha256:" + "0" * 64, "compute_capabilities": ["9.0"]}
    made.spec(**{**LOCAL, "weights": {"format": "bf16"}, "runtime": runtime, "validation": {"latency_tokens": [32]}})
    shutil.copytree(models_env.checkpoint("smollm2"), made.folder / "base")
    made.build().good()
    return made.out


def test_smollm2_on_the_cpu_passes_and_says_that_it_was_the_cpu(smollm2):
    python = parity.environment(models_env.ENVIRONMENT)
    code, said = ran(python, smollm2, "--runtime", "transformers")
    assert (code, said["result"], said["file"]) == (0, "pass", CPU), said
    found = report(smollm2, CPU)
    assert list(Draft202012Validator(resources.schema("validation")).iter_errors(found)) == []
    assert row(found, "load")["measured"] == {"shards": 3, "tensors": 272, "missing": 0, "unexpected": 0, "mismatched": 0}
    assert "Paris" in row(found, "request:capital")["measured"]["output"]
    assert row(found, "canary:entropy")["measured"]["shareOfUniform"] < 0.5
    assert (found["environment"]["device"], row(found, "promise")["status"]) == ("cpu", "skipped")
    assert report(smollm2)["result"] == "not-run"
    assert verify(smollm2).word == "good", verify(smollm2).problems


def test_weights_that_are_noise_fail_by_what_they_say(smollm2, tmp_path):
    """They load, and answer with status 200, as it were."""
    root = shutil.copytree(smollm2, tmp_path / "noise")
    for shard in root.glob("*.safetensors"):
        data = bytearray(shard.read_bytes())
        begin = 8 + int.from_bytes(data[:8], "little")
        noise = bytes((n * 2654435761 >> 7) & 0xFF for n in range(1 << 16))
        noise = bytes(b if n % 2 == 0 else 0x3C | (b & 0x80) for n, b in enumerate(noise))  # BF16 of about 0.01
        data[begin:] = (noise * (len(data) // len(noise) + 1))[: len(data) - begin]
        shard.write_bytes(bytes(data))
    (root / CPU).unlink(missing_ok=True)
    tiny.seal(root, json.loads((root / tiny.PROVENANCE).read_bytes())["predicate"]["buildDefinition"]["externalParameters"]["spec"])
    code, said = ran(parity.environment(models_env.ENVIRONMENT), root, "--runtime", "transformers")
    found = report(root, CPU)
    assert (code, said["result"], row(found, "load")["status"]) == (1, "fail", "pass")
    assert "lacks 'Paris'" in row(found, "request:capital")["reason"]


# -------------------------------------------------------------------------------------------- the decision runtime


@pytest.fixture(scope="module")
def decisions(tmp_path_factory):
    """A tiny random decision release, where this environment can serve it (that of `make server`)."""
    for name in ("torch", "transformers", "starlette", "PIL"):
        pytest.importorskip(name, reason="the environment of `make server`")
    sys.path[:0] = [str(HERE.parent / "server")]
    import tiny_served

    plain = tiny_served.spec
    asked = {
        "limits": {"start_s": 400},
        "latency_tokens": [32],
        "soak_s": 3,
        "not_required": [{"check": "request:facts", "reason": "the weights are random"}],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny_served, "spec", lambda weights: plain(weights) | {"validation": asked})
        return tiny_served.build(tmp_path_factory.mktemp("decisions"))


@pytest.mark.parametrize(("runtime", "file", "code"), [("transformers", CPU, 0), ("sm120", REPORT, 0)])
def test_a_decision_release_on_the_cpu_gives_a_whole_report(decisions, runtime, file, code):
    ended, said = ran(sys.executable, decisions, "--runtime", runtime)
    found = report(decisions, file)
    assert (ended, said["file"]) == (code, file), said
    assert found["environment"]["engine"]["name"] == runtime
    assert found["environment"]["device"] == "cpu"
    assert {
        row(found, name)["status"]
        for name in ("start", "load", "logits:finite", "canary:entropy", "determinism", "latency:32", "soak", "memory")
    } == {"pass"}
    assert row(found, "soak")["measured"]["requests"] > 0
    assert "the weights are random" in row(found, "request:facts")["reason"]
    assert verify(decisions).word == "good", verify(decisions).problems


def test_the_kernel_check_runs_over_a_releases_own_runtime(decisions, tmp_path):
    """On the CPU the reference is held against itself: what is seen here is that the pieces find each other."""
    from hubrelease import verify_release
    from hubrelease.engines.sm120 import copied
    from hubrelease.probes.kernels import CHECK
    from hubrelease.release import Release

    place = copied(Release(decisions, verify_release.check_folder(decisions)), tmp_path)
    done = subprocess.run([sys.executable, "-I", CHECK, place, "[[128,256],[100,256]]"], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout.splitlines()[-1])
    assert "error" not in found, found
    assert [row["n"] for row in found["backends"]["torch_reference"]] == [128, 100]
    assert found["backends"]["torch_reference"][0]["relativeError"] <= 5e-3
