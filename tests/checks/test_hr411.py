from __future__ import annotations

import pytest
from meaning import judged, one

FROM = "FROM registry.example/runtime@sha256:" + "a1" * 32 + "\n"
PINS = b"torch==2.9.1\nhuggingface_hub==0.36.0\n"


def dockerfile(*lines):
    return {"Dockerfile": (FROM + "\n".join(lines) + "\n").encode(), "requirements.txt": PINS}


@pytest.mark.parametrize("lines", [
    ["RUN pip install -r requirements.txt", 'RUN pip install "huggingface_hub==0.23.5"'], ["COPY requirements.txt /app/", "RUN pip install -r /app/requirements.txt && pip install Huggingface-Hub==0.23.5"],
    ["ARG HUB=0.23.5", "RUN pip install -r requirements.txt", "RUN pip install huggingface.hub==${HUB}"], ["COPY . .", "RUN uv pip install huggingface_hub==0.23.5"],
])  # fmt: skip
def test_bad_a_later_line_installs_another_version(tmp_path, lines):
    found = one(tmp_path, dockerfile(*lines))
    assert (found.kind, found.severity, found.where.file) == ("pins-conflict", "error", "Dockerfile")
    assert "0.23.5" in found.message
    assert "0.36.0" in found.message


def test_bad_twice_in_one_file(tmp_path):
    assert judged(tmp_path, {"requirements.txt": b"torch==2.9.1\nTorch==2.8.0\n"}) == [("pins-conflict", "error", "requirements.txt")]


def test_bad_two_lines_of_one_dockerfile(tmp_path):
    files = dockerfile("RUN pip install numpy==1.26.4", "RUN pip install numpy==2.1.0")
    assert judged(tmp_path, files) == [("pins-conflict", "error", "Dockerfile")]


def test_bad_pyproject_beside_requirements(tmp_path):
    files = {"pyproject.toml": b'[project]\nname = "x"\ndependencies = ["torch==2.8.0"]\n', "requirements.txt": PINS}
    assert [kind for kind, _, _ in judged(tmp_path, files)] == ["pins-conflict"]


@pytest.mark.parametrize("lines", [
    ["RUN pip install -r requirements.txt", "RUN pip install huggingface_hub==0.36.0"], ["RUN pip install -r requirements.txt", "RUN pip install torch==2.9.1+cu128"],
    ["RUN pip install -r requirements.txt", "RUN pip install huggingface-hub==0.36"], ["RUN pip install -r requirements.txt && pip install 'xformers==0.0.33'"],
])  # fmt: skip
def test_good_the_same_version(tmp_path, lines):
    assert judged(tmp_path, dockerfile(*lines)) == []


def test_good_under_different_markers(tmp_path):
    text = b"torch==2.9.1 ; python_version >= '3.10'\ntorch==2.4.0 ; python_version < '3.10'\n"
    assert judged(tmp_path, {"requirements.txt": text}) == []


def test_good_files_that_do_not_meet(tmp_path):
    assert (
        judged(
            tmp_path, {"requirements.txt": PINS, "docs/requirements.txt": b"torch==2.0.0\n", "runtime/requirements.lock": b"torch==2.8.0\n"}
        )
        == []
    )
