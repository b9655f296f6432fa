"""The OpenAPI description is sound, and schemathesis finds no answer that it does not describe."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("starlette", reason="the environment of `make server`")
pytest.importorskip("PIL", reason="the environment of `make server`")
pytest.importorskip("schemathesis", reason="the environment of `make server`")

import jsonschema
from running import BODY, Running, running
from test_socket import ALL

pytestmark = pytest.mark.heavy
EXAMPLES = 150


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as found:
        yield found


def validator(server: Running, name: str) -> jsonschema.Draft202012Validator:
    document = server.get("/openapi.json").json
    return jsonschema.Draft202012Validator({**document, "$ref": f"#/components/schemas/{name}"})


@pytest.mark.parametrize("body", [BODY, ALL])
def test_a_request_and_its_answer_fit_the_description(server: Running, body: object) -> None:
    validator(server, "Request").validate(body)
    validator(server, "Response").validate(server.post(body).json)
    validator(server, "Models").validate(server.get("/v1/models").json)


@pytest.mark.parametrize(
    "body", [{}, {"questions": {}}, {"questions": {"1": BODY["questions"]["q"]}}, {**BODY, "more": 1}, {**BODY, "state": 1}]
)
def test_the_description_refuses_what_the_server_refuses(server: Running, body: object) -> None:
    assert not validator(server, "Request").is_valid(body)
    assert server.post(body).status == 422


def test_no_answer_is_outside_of_the_description(server: Running) -> None:
    """All checks but one: a body that fits the schema may still be refused, for base64 in a data URL need be no image."""
    words = [sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.port}/openapi.json", "--checks", "all"]
    words += ["--exclude-checks", "positive_data_acceptance", "--max-examples", str(EXAMPLES), "--seed", "1", "--no-color"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=900, env={**os.environ, "PYTHONUTF8": "1"})
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert server.alive()
