from __future__ import annotations

import gguf_bytes
import pytest
import tiny
from meaning import changed, judged, one, problems_of

from hubrelease import verify_release
from hubrelease.release import Release

CARD = tiny.CARD.replace("---\n\n#", "tags: [conversational]\n---\n\n#").encode()
GONE = {"chat_template.jinja": None}
LISTED = {"annotations": {"files": ["config.json", "chat_template.jinja", "model.safetensors"]}}


def test_bad_the_card_says_chat(tmp_path):
    found = one(tmp_path, GONE | {"README.md": CARD})
    assert (found.kind, found.severity, found.where.file) == ("chat-template-missing", "error", "tokenizer_config.json")


@pytest.mark.parametrize("name", ["chat_template.jinja", "chat_template.json", "additional_chat_templates/tool_use.jinja"])
def test_bad_the_base_has_one(tmp_path, name):
    found = one(tmp_path, GONE, base={"annotations": {"files": ["config.json", name]}})
    assert (found.kind, found.where.file) == ("chat-template-missing", "tokenizer_config.json")
    assert name in found.message


def test_bad_one_gguf_of_a_set(tmp_path):
    tokens, template = {"tokenizer.ggml.model": "gpt2"}, {"tokenizer.chat_template": "{{ messages }}"}
    files = {"m-Q4.gguf": gguf_bytes.write(tokens), "m-Q8.gguf": gguf_bytes.write(tokens | template)}
    assert judged(tmp_path, files) == [("chat-template-missing", "error", "m-Q4.gguf")]


HOMES = [
    {"chat_template.jinja": b"x"}, {"chat_template.json": b'{"chat_template": "x"}'}, {"additional_chat_templates/a.jinja": b"x"},
    changed("tokenizer_config.json", chat_template="x"), changed("tokenizer_config.json", chat_template=[{"name": "default", "template": "x"}]),
    {"processor_config.json": b'{"chat_template": "x"}'}, {"tekken.json": b"{}"}, {"encoding/encoding_v1.py": b""},
]  # fmt: skip


@pytest.mark.parametrize("home", HOMES)
def test_good_every_home(tmp_path, home):
    assert judged(tmp_path, GONE | {"README.md": CARD} | home) == []


def test_good_nobody_says_chat(tmp_path):
    assert judged(tmp_path, GONE) == []


def test_good_an_adapter_uses_its_bases(tmp_path):
    assert judged(tmp_path, GONE | {"README.md": CARD, "model.safetensors": None}, base=LISTED) == []


def test_good_not_fetched_yet(tmp_path):
    root = tiny.release(tmp_path / "release", {"README.md": CARD})
    (root / "chat_template.jinja").unlink()
    assert problems_of(Release(root, verify_release.check_folder(root))) == []
