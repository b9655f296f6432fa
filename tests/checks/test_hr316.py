from __future__ import annotations

import time

import gguf_bytes
import pytest
from meaning import changed, judged, one

ATTACKS = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{% for c in x.__class__.__base__.__subclasses__() %}{% endfor %}", "{{ self['__globals__'] }}", "{{ x|attr('__class__') }}",
    "{{ lipsum.__globals__ }}", "{{ cycler.__init__.__globals__.os.popen('id') }}", "a\n{{- x.\n__builtins__ -}}",
]  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_bad_in_a_file(tmp_path, attack):
    found = one(tmp_path, {"chat_template.jinja": f"{{{{ messages }}}}\n{attack}\n".encode()})
    assert (found.kind, found.severity, found.where.file) == ("unsafe-template", "error", "chat_template.jinja")
    assert found.where.line in (2, 3)


def test_bad_in_a_key(tmp_path):
    kinds = judged(tmp_path, {"chat_template.jinja": None} | changed("tokenizer_config.json", chat_template=ATTACKS[0]))
    assert kinds == [("unsafe-template", "error", "tokenizer_config.json")]


def test_bad_in_a_gguf(tmp_path):
    assert judged(tmp_path, {"m.gguf": gguf_bytes.write({"tokenizer.chat_template": ATTACKS[0]})}) == [
        ("unsafe-template", "error", "m.gguf")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def __init__(self): self.__class__\n",
        "{{ '' }} text .__class__ {{ '' }}",
        "{{ 'call super().__init__() first' }}",
        "{{ messages[0]['class'] }}",
    ],
)
def test_good_text_about_python(tmp_path, text):
    assert judged(tmp_path, {"chat_template.jinja": text.encode()}) == []


def test_good_it_ends(tmp_path):
    start = time.monotonic()
    assert judged(tmp_path, {"chat_template.jinja": b"{{" * 2**19}) == []
    assert judged(tmp_path / "x", {"chat_template.jinja": (b".__class__" * 100_000)}) == []
    assert time.monotonic() - start < 20
