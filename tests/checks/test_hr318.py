from __future__ import annotations

import pytest
from meaning import changed, judged, one

CODE = {"weights": {"remote_code": "the architecture is new"}}


@pytest.mark.parametrize(("file", "value"), [
    ("config.json", {"AutoModelForCausalLM": "modeling_tiny.TinyForCausalLM"}), ("tokenizer_config.json", {"AutoTokenizer": ["modeling_tiny.Tiny", None]}),
    ("preprocessor_config.json", {"AutoProcessor": "modeling_tiny.TinyProcessor"}),
])  # fmt: skip
def test_bad_not_copied(tmp_path, file, value):
    found = one(tmp_path, changed(file, auto_map=value))
    assert (found.kind, found.severity, found.where.file) == ("remote-code-missing", "error", file)
    assert "modeling_tiny.py" in found.message


def test_bad_what_the_code_imports(tmp_path):
    files = changed("config.json", auto_map={"AutoModel": "modeling_tiny.Tiny"}) | {
        "modeling_tiny.py": b"import os\nfrom .layers_tiny import Layer\nfrom . import x\n"
    }
    found = one(tmp_path, files, CODE)
    assert (found.kind, found.where.file) == ("remote-code-missing", "modeling_tiny.py")
    assert "layers_tiny.py" in found.message


def test_bad_a_custom_pipeline_and_a_module_of_sentence_transformers(tmp_path):
    files = changed("config.json", custom_pipelines={"x": {"impl": "pipe.MyPipeline"}}) | {
        "modules.json": b'[{"type": "custom_st.Transformer", "path": ""}]'
    }
    assert judged(tmp_path, files) == [("remote-code-missing", "error", "config.json"), ("remote-code-missing", "error", "modules.json")]


def test_good_all_is_there(tmp_path):
    files = changed("config.json", auto_map={"AutoModel": "modeling_tiny.Tiny", "AutoConfig": "modeling_tiny.C"}) | {
        "modeling_tiny.py": b"from .layers import L\n",
        "layers.py": b"",
    }
    assert judged(tmp_path, files, CODE) == []


def test_good_code_of_another_repository(tmp_path):
    assert judged(tmp_path, changed("config.json", auto_map={"AutoModel": "org/name--modeling_tiny.Tiny"}), CODE) == []


def test_good_nested_maps_are_not_followed(tmp_path):
    assert (
        judged(tmp_path, changed("config.json", text_config={"auto_map": {"AutoModel": "modeling_inner.X"}, "num_hidden_layers": 2})) == []
    )


@pytest.mark.parametrize("value", [None, [], "x.Y", {"AutoModel": 3}, {"AutoModel": "no dot"}, {"AutoModel": {"a": "b.C"}}])
def test_good_other_forms(tmp_path, value):
    assert judged(tmp_path, changed("config.json", auto_map=value)) == []
