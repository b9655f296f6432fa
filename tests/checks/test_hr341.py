from __future__ import annotations

import pytest
from meaning import judged, one

PINNED = '"revision": "' + "0123456789" * 4 + '"'


def serving(value, path="serve.sh"):
    return {path: f"#!/bin/sh\nvllm serve . \\\n  --speculative-config '{value}'\n".encode()}


@pytest.mark.parametrize(("value", "severity"), [
    ('{"method": "dflash", "model": "./draft", "num_speculative_tokens": 0}', "error"), ('{"num_speculative_tokens": "7"}', "error"),
    ('{"method": "dflash", "model": "org/draft", "num_speculative_tokens": 7}', "warning"), ('{"model": "org/draft", "revision": "main"}', "warning"),
    ('{"rejection_sample_method": "synthetic", "model": "./draft"}', "warning"), ('{"synthetic_acceptance_rate": 0.9}', "warning"),
])  # fmt: skip
def test_bad_settings(tmp_path, value, severity):
    found = one(tmp_path, serving(value))
    assert (found.kind, found.severity, found.where.file, found.where.line) == ("speculative-config", severity, "serve.sh", 3)


def test_bad_in_a_truss_configuration_and_in_json(tmp_path):
    value = '{"model": "org/draft", "num_speculative_tokens": 7}'
    yaml = f"args: --speculative-config {value!r}\n".encode()
    found = judged(tmp_path, {"serving.yaml": yaml, "speculative_config.json": value.encode()})
    assert found == [("speculative-config", "warning", "serving.yaml"), ("speculative-config", "warning", "speculative_config.json")]


def test_bad_more_tokens_than_the_draft_writes(tmp_path):
    from checks_drafts import files

    found = judged(tmp_path, files(block_size=8) | serving('{"method": "dflash", "model": "/models/draft", "num_speculative_tokens": 8}'))
    assert found == [("speculative-config", "warning", "serve.sh")]


def test_good_as_many_as_it_writes(tmp_path):
    from checks_drafts import files

    assert (
        judged(tmp_path, files(block_size=8) | serving('{"method": "dflash", "model": "/models/draft", "num_speculative_tokens": 7}')) == []
    )


@pytest.mark.parametrize(
    "value",
    [
        '{"model": "org/draft", ' + PINNED + ', "num_speculative_tokens": 7}',
        '{"method": "mtp", "num_speculative_tokens": 1}',
        "$SPEC",
        "{",
        '{"model": 3}',
    ],
)
def test_good_settings(tmp_path, value):
    assert judged(tmp_path, serving(value)) == []
