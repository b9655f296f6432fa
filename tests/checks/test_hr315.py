from __future__ import annotations

import tiny
from meaning import changed, judged, one


def test_bad_two_templates(tmp_path):
    found = one(tmp_path, changed("tokenizer_config.json", chat_template="{{ messages }}"))
    assert (found.kind, found.severity, found.where.file, found.where.pointer) == (
        "chat-template-conflict",
        "warning",
        "tokenizer_config.json",
        "/chat_template",
    )


def test_bad_the_default_of_a_list(tmp_path):
    rows = [{"name": "default", "template": "{{ messages }}"}, {"name": "rag", "template": "x"}]
    assert judged(tmp_path, changed("tokenizer_config.json", chat_template=rows)) == [
        ("chat-template-conflict", "warning", "tokenizer_config.json")
    ]


def test_good_the_same_but_for_blanks_at_line_ends(tmp_path):
    assert judged(tmp_path, changed("tokenizer_config.json", chat_template=tiny.CHAT_TEMPLATE.replace("\n", " \n").strip())) == []


def test_good_a_processors_own(tmp_path):
    assert judged(tmp_path, {"chat_template.json": b'{"chat_template": "for images"}'}) == []


def test_good_a_named_one(tmp_path):
    assert judged(tmp_path, changed("tokenizer_config.json", chat_template=[{"name": "tool_use", "template": "x"}])) == []
