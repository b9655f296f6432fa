from __future__ import annotations

import pytest
import tiny
from meaning import changed, judged, one, reshaped

PATHS = [
    "/home/builder/models/x",
    "/Users/ann.smith/x",
    "C:\\Users\\ann\\x",
    "/root/work/model",
    "/mnt/data/ann/model",
    "/scratch/project_1/ann/x",
    "/data/home/ann/x",
    "file:///srv/models/x",
    "/content/drive/MyDrive/x",
]


@pytest.mark.parametrize("path", PATHS)
def test_bad_in_data(tmp_path, path):
    found = one(tmp_path, changed("config.json", _name_or_path=path))
    assert (found.kind, found.severity, found.where.file) == ("private-path", "warning", "config.json")


@pytest.mark.parametrize("file", ["benchmarks/r.json", "trainer.yaml", "a.ipynb", "benchmarks/log.jsonl", "mergekit_config.yml"])
def test_bad_in_other_data(tmp_path, file):
    assert judged(tmp_path, {file: b'{"model_args": "pretrained=/home/builder/m,cache_dir=/home/builder/c"}\n'}) == [
        ("private-path", "warning", file)
    ]


@pytest.mark.parametrize("file", ["README.md", "run.py", "Dockerfile.dev", "notes.txt"])
def test_bad_in_prose_and_code(tmp_path, file):
    text = tiny.CARD if file == "README.md" else ""
    assert judged(tmp_path, {file: (text + "\nold: /home/zhangwei/models/x\n").encode()}) == [("private-path", "warning", file)]


def test_bad_in_header_metadata(tmp_path):
    found = one(tmp_path, reshaped({}, {"format": "pt", "source": "/home/builder/x"}))
    assert (found.kind, found.where.file, found.where.pointer) == ("private-path", "model.safetensors", "/__metadata__/source")


def test_bad_with_escaped_slashes(tmp_path):
    assert judged(tmp_path, {"benchmarks/r.json": b'{"m": "\\/home\\/builder\\/x"}'}) == [("private-path", "warning", "benchmarks/r.json")]


@pytest.mark.parametrize("text", [
    "docker run -v $PWD:/models -v cache:/root/.cache image", "cd /home/ubuntu && ls", "/home/user/app", "/home/<you>/x", "/home/$USER/x", "https://site.org/home/page", "see /Users/you/x", "WORKDIR /home/appuser", "/homework/a", "x/home/y",
    "COPY --from=a /root/.local /root/.local", "/mnt/models/a/b", "file:///path/to",
])  # fmt: skip
def test_good_in_prose(tmp_path, text):
    assert judged(tmp_path, {"notes.md": text.encode()}) == []


@pytest.mark.parametrize(
    "value",
    [
        "org/name",
        "/models/x",
        "./x",
        "https://site.org/home/page",
        "s3://bucket/x",
        "/workspace/x",
        "/mnt/models",
        "/home",
        "data/home/x",
        "${HOME}/x",
    ],
)
def test_good_in_data(tmp_path, value):
    assert judged(tmp_path, changed("config.json", _name_or_path=value)) == []


def test_good_vocabularies_and_samples_are_other_peoples_texts(tmp_path):
    vocabulary = changed("tokenizer.json", model={"type": "BPE", "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "/home/ann": 3}})
    assert judged(tmp_path, vocabulary | {"benchmarks/samples_humaneval.jsonl": b'{"doc": "open(\'/home/ann/x\')"}\n'}) == []


def test_good_paths_of_a_container_in_a_serving_config(tmp_path):
    text = b"services:\n  llm:\n    volumes: ['/mnt/disk/models/x:/root/models/x']\n"
    assert judged(tmp_path, {"compose.yaml": text, "deploy/k8s.yaml": b"apiVersion: v1\nspec: {path: /mnt/a/b/c}\n"}) == []


def test_good_a_release_speaks_of_commands_in_its_spec(tmp_path):
    assert judged(tmp_path, spec={"card": {"text": {"usage": "docker run -v cache:/root/.cache/x image"}}}) == []
