from __future__ import annotations

import pytest
from meaning import judged, one

DIGEST = "registry.example/runtime@sha256:" + "a1" * 32
DOCKERFILE = ("floating-image", "error", "Dockerfile")
REQUIREMENTS = ("floating-image", "error", "requirements.txt")


@pytest.mark.parametrize("text", [
    "FROM registry.example/runtime:nightly\n", "FROM python\n", "from ubuntu:22.04 AS build\n", "FROM --platform=linux/amd64 nvidia/cuda:12.8.0-runtime\n", "ARG TAG=latest\nFROM vllm/vllm:${TAG}\n",
    "ARG BASE\nFROM $BASE\n", "FROM \\\n  python:3.12\n", "# syntax=docker/dockerfile:1\nFROM a:1\n", f"FROM {DIGEST}\nCOPY --from=ghcr.io/astral-sh/uv:latest /uv /bin/\n",
    f"FROM {DIGEST} AS a\nFROM b:1\nCOPY --from=a /x /y\n", "FROM python@sha256:abc\n",
])  # fmt: skip
def test_bad_images(tmp_path, text):
    assert judged(tmp_path, {"Dockerfile": text.encode()}) == [DOCKERFILE]


@pytest.mark.parametrize("text", [
    "torch\n", "transformers>=4.57\n", "torch~=2.9\n", "torch==2.*\n", "numpy<2,>=1.26\n", "git+https://github.com/vllm-project/vllm.git@main\n", "vllm @ git+https://github.com/vllm-project/vllm\n",
    "torch[cuda] ; python_version > '3.10'\n", "--extra-index-url https://x.example\ntorch\n", "transformers >= 4.57 \\\n   # comment\n",
])  # fmt: skip
def test_bad_packages(tmp_path, text):
    found = one(tmp_path, {"requirements.txt": text.encode()})
    assert (found.kind, found.severity, found.where.file) == REQUIREMENTS


@pytest.mark.parametrize(
    "command",
    [
        "pip install vllm",
        "pip3 install -U 'vllm>=0.10'",
        "python3 -m pip install --no-cache-dir vllm",
        "uv pip install --system vllm",
        "apt-get update && pip install vllm && rm -rf /x",
    ],
)
def test_bad_in_a_dockerfile(tmp_path, command):
    found = one(tmp_path, {"Dockerfile": f"FROM {DIGEST}\nRUN {command}\n".encode()})
    assert (found.kind, found.severity, found.where.file, found.where.line) == (*DOCKERFILE, 2)


@pytest.mark.parametrize("path", ["examples/requirements.txt", "docs/Dockerfile", "requirements-dev.txt", "training/requirements.txt"])
def test_bad_beside_the_runtime_is_a_warning(tmp_path, path):
    data = b"torch\n" if path.endswith(".txt") else b"FROM python:3.12\n"
    assert judged(tmp_path, {path: data}) == [("floating-image", "warning", path)]


def test_bad_what_the_dockerfile_names(tmp_path):
    files = {
        "Dockerfile": f"FROM {DIGEST}\nCOPY . .\nRUN pip install -r serving/reqs-requirements.txt\n".encode(),
        "serving/reqs-requirements.txt": b"torch\n",
    }
    assert judged(tmp_path, files) == [("floating-image", "error", "serving/reqs-requirements.txt")]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docker-compose.yml", "services:\n  llm:\n    image: vllm/vllm-openai:latest\n"),
        ("config.yaml", "base_image: {image: vllm/vllm-openai:v0.29.0}\n"),
    ],
)
def test_bad_serving_files_are_warnings(tmp_path, path, text):
    assert judged(tmp_path, {path: text.encode()}) == [("floating-image", "warning", path)]


@pytest.mark.parametrize("text", [
    f"FROM {DIGEST}\n", f"FROM --platform=linux/amd64 {DIGEST} AS base\nFROM base\n", f"ARG IMAGE={DIGEST}\nFROM ${{IMAGE}}\n", f"FROM {DIGEST} AS a\nFROM scratch\nCOPY --from=a /x /\nCOPY --from=0 /y /\n",
    f"FROM python:3.12@sha256:{'b' * 64}\nRUN pip install torch==2.9.1 'transformers[torch]==4.57.6'\n", f"FROM {DIGEST}\nRUN pip install -r requirements.txt --index-url https://x.example/simple\n",
    f"FROM {DIGEST}\nRUN pip install --no-deps . /wheels/a-1.0-py3-none-any.whl\n", f"FROM {DIGEST}\nRUN <<EOF\npip install torch==2.9.1\nEOF\n", "", "# nothing\n", f"FROM {DIGEST}\nRUN pip install --upgrade pip setuptools\n",
    f"FROM {DIGEST}\nRUN pip install git+https://github.com/o/r@{'c' * 40}\n", f"FROM {DIGEST}\nARG V=2.9.1\nRUN pip install torch==$V\n",
])  # fmt: skip
def test_good_pinned(tmp_path, text):
    assert judged(tmp_path, {"Dockerfile": text.encode()}) == []


@pytest.mark.parametrize("text", [
    "torch==2.9.1\n", "torch==2.9.1+cu128 --hash=sha256:abc \\\n  --hash=sha256:def\n", "# torch\n\n-r other.txt\n--index-url https://x\n", "torch===2.9.1 ; sys_platform == 'linux'\n",
    f"flash-attn @ https://x.example/flash_attn-2.8.0+cu12-cp312-cp312-linux_x86_64.whl#sha256={'d' * 64}\n", "https://x.example/flash_attn-2.8.0-py3-none-any.whl\n", "./local\n", "\ufefftorch==2.9.1\r\n",
])  # fmt: skip
def test_good_requirements(tmp_path, text):
    assert judged(tmp_path, {"requirements.txt": text.encode()}) == []


def test_good_a_library_gives_ranges(tmp_path):
    assert judged(tmp_path, {"pyproject.toml": b'[project]\nname = "x"\ndependencies = ["torch>=2.7"]\n'}) == []


def test_good_images_that_are_pictures(tmp_path):
    assert judged(tmp_path, {"config.yaml": b"image: assets/cat.png\nsize: 3\n"}) == []


def test_bad_a_variable_without_a_value(tmp_path):
    found = one(tmp_path, {"Dockerfile": f"FROM {DIGEST}\nARG V\nRUN pip install torch==$V\n".encode()})
    assert (found.kind, found.severity, found.where.file) == DOCKERFILE
