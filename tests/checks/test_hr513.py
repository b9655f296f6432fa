"""HR513 license-conflict: the card against provenance and against the LICENSE file."""

import pytest
from cards import judged, kinds

CARD = ("license-conflict", "error", "README.md")
MIT = b"""MIT License

Copyright (c) 2026 Example

Permission is hereby granted, free of charge, to any person obtaining a copy of this software ...

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED ...
"""


def base(license_id, name="base_model"):
    return [
        {
            "name": name,
            "uri": "hf://example-org/tiny-base",
            "digest": {"gitCommit": "0123456789" * 4},
            "annotations": {"license": license_id},
        }
    ]


@pytest.mark.parametrize("license_id", ["mit", "gemma", "cc-by-nc-4.0", "other"])
def test_bad_base_has_another(tmp_path, license_id):
    assert kinds(judged(tmp_path, dependencies=base(license_id))) == {CARD}


def test_bad_spec_has_another(tmp_path):
    assert kinds(judged(tmp_path, spec={"license": "mit"}, dependencies=base("mit"))) == {CARD}


def test_bad_source_that_the_weights_come_from(tmp_path):
    assert kinds(judged(tmp_path, spec={"weights": {"format": "as-is", "source": "ours"}}, dependencies=base("mit", "ours"))) == {CARD}


def test_bad_license_text(tmp_path):
    assert kinds(judged(tmp_path, files={"LICENSE": MIT})) == {("license-conflict", "warning", "README.md")}


@pytest.mark.parametrize("license_id", ["apache-2.0", "Apache-2.0", "unknown", None, 7, ["mit"]])
def test_good_bases(tmp_path, license_id):
    assert not judged(tmp_path, dependencies=base(license_id))


def test_good_with_a_reason(tmp_path):
    spec = {"license": "apache-2.0", "license_reason": "the base's owner agreed"}
    assert not judged(tmp_path, spec=spec, dependencies=base("mit"))


def test_good_texts(tmp_path):
    assert not judged(tmp_path / "a", front={"license": "mit"}, files={"LICENSE": MIT}, bare=True)
    assert not judged(tmp_path / "b", files={"LICENSE": MIT, "LICENSE.md": b"Apache License"})
    assert not judged(tmp_path / "c", front={"license": "[apache-2.0, mit]"}, files={"LICENSE": MIT})
    assert not judged(tmp_path / "d", front={"license": None}, dependencies=base("mit"))
    assert not judged(tmp_path / "e", dependencies=base("mit", "draft_model"))
