from __future__ import annotations

from meaning import changed, judged, one

FILES = changed("config.json", auto_map={"AutoModel": "modeling_tiny.Tiny"}) | {
    "modeling_tiny.py": b"from .layers import L\n",
    "layers.py": b"",
}


def test_bad_code_that_a_config_reaches(tmp_path):
    assert judged(tmp_path, FILES) == [("remote-code", "warning", "layers.py"), ("remote-code", "warning", "modeling_tiny.py")]


def test_bad_code_of_another_repository(tmp_path):
    found = one(tmp_path, changed("config.json", auto_map={"AutoModel": "org/name--modeling_tiny.Tiny"}))
    assert (found.kind, found.severity, found.where.file) == ("remote-code", "warning", "config.json")
    assert "org/name" in found.message


def test_bad_custom_generation(tmp_path):
    assert judged(tmp_path, {"custom_generate/generate.py": b""}) == [("remote-code", "warning", "custom_generate/generate.py")]


def test_good_declared(tmp_path):
    assert judged(tmp_path, FILES, {"weights": {"remote_code": "the architecture is new"}}) == []


def test_good_code_that_nothing_reaches(tmp_path):
    assert judged(tmp_path, {"examples/client.py": b"print()\n", "run.py": b""}) == []
