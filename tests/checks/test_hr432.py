from __future__ import annotations

import pytest
from meaning import changed, judged, one, reshaped

MAIL = "ann.smith" + "@" + "lab.university.edu"


def test_bad_in_a_config(tmp_path):
    found = one(tmp_path, changed("config.json", author=MAIL))
    assert (found.kind, found.severity, found.where.file) == ("private-mail", "warning", "config.json")
    assert "ann" not in found.message


def test_bad_in_yaml_and_metadata(tmp_path):
    files = {"training.yaml": f"user: {MAIL}\n".encode()} | reshaped({}, {"format": "pt", "by": MAIL})
    assert judged(tmp_path, files) == [("private-mail", "warning", "training.yaml"), ("private-mail", "warning", "model.safetensors")]


@pytest.mark.parametrize(
    "value",
    [
        "git@github.com:a/b",
        "person@example.org",
        "123+me@users.noreply.github.com",
        "no-reply@lab.dev",
        "hf://owner/name@main",
        "image@sha256:abc",
        "torch@2.9.1.dev0",
        "a@b",
        "@org/name",
        "x@localhost",
    ],
)
def test_good_no_person(tmp_path, value):
    assert judged(tmp_path, changed("config.json", note=value)) == []


@pytest.mark.parametrize(
    "path", ["README.md", "LICENSE", "CITATION.cff", "package.json", "docs/people.json", "benchmarks/r.json", "run.py"]
)
def test_good_where_people_are_named_on_purpose(tmp_path, path):
    from tiny import CARD

    text = CARD + MAIL if path == "README.md" else f'{{"author": "{MAIL}"}}'
    assert judged(tmp_path, {path: text.encode()}) == []
