from __future__ import annotations

import pytest
from meaning import judged

COMMIT = "0123456789" * 4
GOOD = f"""model_name: tiny
base_image: {{image: registry.example/vllm@sha256:{"a" * 64}}}
docker_server:
  start_command: vllm serve /models/target --port 8000 --served-model-name tiny-llama --speculative-config '{{"model":"/models/draft","num_speculative_tokens":7}}'
  server_port: 8000
  predict_endpoint: /v1/chat/completions
  readiness_endpoint: /health
  liveness_endpoint: /health
weights:
  - source: hf://owner/target@{COMMIT}
    mount_location: /models/target
    auth_secret_name: hf_access_token
  - source: hf://owner/draft@{COMMIT}
    mount_location: /models/draft
secrets: {{hf_access_token: null}}
resources: {{accelerator: H100, use_gpu: true}}
"""
WANTED = ("truss-config", "error", "config.yaml")


@pytest.mark.parametrize(("old", "new"), [
    ("  server_port: 8000\n", ""), ("  liveness_endpoint: /health\n", ""), ("server_port: 8000", "server_port: 8080"), ("--port 8000", "--port 8001"), (f"target@{COMMIT}", "target"),
    (f"target@{COMMIT}", "target@main"), ("mount_location: /models/draft", "mount_location: /models/target"), ("mount_location: /models/draft", "mount_location: models/draft"),
    ("serve /models/target", "serve /models/other"), ('"/models/draft"', '"/models/elsewhere"'), ("hf_access_token: null}", "hf_access_token: abc}"),
    ("    auth_secret_name", "    auth: {x: y}\n    auth_secret_name"),
])  # fmt: skip
def test_bad_one_fault(tmp_path, old, new):
    assert old in GOOD
    assert WANTED in judged(tmp_path, {"config.yaml": GOOD.replace(old, new).encode()})
    assert set(judged(tmp_path / "b", {"config.yaml": GOOD.replace(old, new).encode()})) == {WANTED}


def test_bad_a_name_that_the_card_does_not_tell(tmp_path):
    assert judged(tmp_path, {"config.yaml": GOOD.replace("tiny-llama", "other-name").encode()}) == [
        ("truss-config", "warning", "config.yaml")
    ]


def test_bad_model_cache(tmp_path):
    cache = (
        GOOD[: GOOD.index("weights:")] + "model_cache:\n  - repo_id: owner/target\n    use_volume: true\n" + GOOD[GOOD.index("secrets:") :]
    )
    assert judged(tmp_path, {"config.yaml": cache.encode()}) == [WANTED] * 2


def test_good_the_whole(tmp_path):
    assert judged(tmp_path, {"config.yaml": GOOD.encode()}) == []


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n",
        "base_image: x\nresources: y\n",
        "docker_server: []\n",
        "- 1\n",
        "a: &x 1\nb: *x\n",
        'docker_server: {start_command: "\'"}\n',
        "",
    ],
)
def test_good_other_yaml_raises_nothing(tmp_path, text):
    assert {kind for kind, _, _ in judged(tmp_path, {"config.yaml": text.encode()})} <= {"truss-config"}
