from __future__ import annotations

import base64
import random
import string
import time

import gguf_bytes
import pytest
import tiny
from meaning import judged, one, reshaped

from hubrelease.secrets_known import FORMS, secrets

LETTERS = string.ascii_letters + string.digits


def made(count: int, alphabet: str = LETTERS, seed: int = 1) -> str:
    """Letters that look like a secret; nothing of the kind stands in this file."""
    return "".join(random.Random(seed).choices(alphabet, k=count))


HEX = "0123456789abcdef"
TOKENS = {
    "Hugging Face": "hf_" + made(34), "GitHub": "ghp_" + made(36), "GitHub fine": "github_" + "pat_" + made(22) + "_" + made(59), "GitLab": "glpat-" + made(20), "Anthropic": "sk-" + "ant-api03-" + made(90) + "AA",
    "OpenAI project": "sk-" + "proj-" + made(100), "OpenAI": "sk-" + made(48), "AWS": "AKIA" + made(16, string.ascii_uppercase + "234567"), "Google": "AIza" + made(35), "Slack": "xoxb-" + made(12, string.digits) + "-" + made(24),
    "Stripe": "sk_" + "live_" + made(24), "npm": "npm_" + made(36), "PyPI": "pypi-" + "AgEIcHlwaS5vcmc" + made(80), "Replicate": "r8_" + made(37), "Groq": "gsk_" + made(52), "NVIDIA": "nvapi-" + made(64),
    "Databricks": "dapi" + made(32, HEX), "SendGrid": "SG." + made(22) + "." + made(43), "DigitalOcean": "dop_v1_" + made(64, HEX), "OpenRouter": "sk-" + "or-v1-" + made(64, HEX),
    "JWT": "eyJ" + made(30) + ".eyJ" + made(60) + "." + made(43), "age": "AGE-SECRET-KEY-1" + made(58, string.ascii_uppercase + string.digits),
}  # fmt: skip
PEM = "-----BEGIN {}PRIVATE KEY-----\n" + base64.b64encode(bytes(range(200))).decode() + "\n-----END {}PRIVATE KEY-----\n"


@pytest.mark.parametrize("name", sorted(TOKENS))
def test_bad_tokens_of_services(tmp_path, name):
    found = one(tmp_path, {"run.sh": f"#!/bin/sh\nexport T='{TOKENS[name]}'\n".encode()})
    assert (found.kind, found.severity, found.where.file, found.where.line) == ("secret", "error", "run.sh", 2)
    assert TOKENS[name][:4] in found.message
    assert TOKENS[name][:5] not in found.message


@pytest.mark.parametrize("text", [
    "WANDB_API_KEY=" + made(40, HEX), "wandb.login(key='" + made(40, HEX) + "')", "aws_secret_access_key = " + made(39) + "/", "DefaultEndpointsProtocol=https;AccountKey=" + made(86) + "==",
    "https://hooks.slack.com/services/T0ABCDEFG/B0ABCDEFG/" + made(24), "987654321:AA" + made(33), "machine api.example.net login me password " + made(20), "//registry.npmjs.org/:_authToken=" + made(30),
    "OPENAI_API_KEY: '" + made(32) + "1a'", "git clone https://me:" + made(12) + "@git.example.dev/x", "postgres://app:" + made(10) + "@db.internal.dev:5432/x", PEM.format("", ""), PEM.format("RSA ", "RSA "),
    PEM.format("OPENSSH ", "OPENSSH "), "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n",
])  # fmt: skip
def test_bad_keys_and_passwords(tmp_path, text):
    found = one(tmp_path, {"notes.txt": f"first line\n{text}\n".encode()})
    assert (found.kind, found.where.file, found.where.line) == ("secret", "notes.txt", 2)


@pytest.mark.parametrize(
    "path",
    [
        "config.json",
        "README.md",
        "benchmarks/r.json",
        "a.ipynb",
        "Dockerfile",
        "x.yaml",
        "LICENSE",
        "chat_template.jinja",
        "tokenizer.json",
    ],
)
def test_bad_in_any_file(tmp_path, path):
    data = tiny.model().get(path, b'{"a": 1}')
    text = (
        data.rstrip()[:-1] + b', "note": "' + TOKENS["Hugging Face"].encode() + b'"}\n'
        if path.endswith((".json", ".ipynb"))
        else data + TOKENS["Hugging Face"].encode()
    )
    assert ("secret", "error", path) in judged(tmp_path, {path: text})


def test_bad_in_header_metadata(tmp_path):
    metadata = {"format": "pt", "uploaded_with": TOKENS["Hugging Face"]}
    found = one(tmp_path, reshaped({}, metadata))
    assert (found.kind, found.where.file, found.where.pointer) == ("secret", "model.safetensors", "/__metadata__/uploaded_with")


def test_bad_in_a_gguf_and_in_utf16(tmp_path):
    files = {
        "m.gguf": gguf_bytes.write({"general.url": "https://x/?t=" + TOKENS["Hugging Face"]}),
        "a.txt": ("\ufeff" + TOKENS["GitHub"]).encode("utf-16-le"),
    }
    assert judged(tmp_path, files) == [("secret", "error", "a.txt"), ("secret", "error", "m.gguf")]


def test_bad_files_made_to_hold_secrets(tmp_path):
    files = {
        ".env": b"DB_PASSWORD=" + made(12).encode() + b"\n",
        "kaggle.json": b'{"username": "me", "key": "' + made(32, HEX).encode() + b'"}',
    }
    assert {file for kind, _, file in judged(tmp_path, files) if kind == "secret"} == {".env", "kaggle.json"}


@pytest.mark.parametrize("text", [
    "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "hf_...", "<token>", "HF_TOKEN=$HF_TOKEN", "HF_TOKEN=${{ secrets.HF_TOKEN }}", "token = os.environ['HF_TOKEN']", "sk-your-openai-api-key-goes-here-please", "hf_YourTokenYourTokenYourTokenYourTok",
    "AKIAIOSFODNN7EXAMPLE", "https://user:password@proxy.example.com", "http://localhost:8000", "https://user:pass@host/x", "git@github.com:org/name", "registry.example/a:1@sha256:" + "a" * 64,
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", "commit 0123456789abcdef0123456789abcdef01234567", "wandb: Run data is saved locally", "wandb @ git+https://github.com/wandb/wandb@" + made(40, HEX), '{"wandb": "0.17", "commit": "' + made(40, HEX) + '"}', "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijk",
    "disk-" + made(40), "task-" + made(40), "hf_model_name_of_some_very_long_function_name()", "sha256:" + made(64, HEX), "OPENAI_API_KEY=EMPTY", "WANDB_API_KEY=<your key>", "api_key: ''", "pypi-publish.yml", "//localhost:4873/:_authToken=" + made(24),
])  # fmt: skip
def test_good_what_stands_for_a_secret(tmp_path, text):
    assert judged(tmp_path, {"notes.txt": text.encode()}) == []


def test_good_binary_files_are_not_read(tmp_path):
    assert judged(tmp_path, {"a.bin": b"\0\1\2" + TOKENS["Hugging Face"].encode()}) == []


def test_good_every_rule_is_named_and_begins_as_it_says():
    assert all(service and begin for service, forms in FORMS.items() for begin in forms)


@pytest.mark.parametrize("pattern", [b"hf_", b"sk-", b"eyJ", b".eyJ", b"wandb", b"machine a login b password ", b"_key=", b"://a:b", b"://a:", b"0" * 39 + b"g", b"-----BEGIN PRIVATE KEY-----\nA: \n", b"pypi-", b":AA1", b"xapp-1-",
                                     b"secretaccesskey=A", b"aws_secret_access_key", b"\n" * 64])  # fmt: skip
def test_good_no_text_takes_long(pattern):
    start = time.monotonic()
    list(secrets(pattern * (2**21 // len(pattern)), "x"))
    assert time.monotonic() - start < 8
