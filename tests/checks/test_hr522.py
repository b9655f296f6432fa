"""HR522 card-library: misspelt library names."""

import pytest
from cards import judged, kinds


@pytest.mark.parametrize(
    ("value", "near"),
    [
        ("transformer", "transformers"),
        ("Transformers", "transformers"),
        ("sentence_transformers", "sentence-transformers"),
        ("difusers", "diffusers"),
    ],
)
def test_bad_names(tmp_path, value, near):
    found = judged(tmp_path, front={"library_name": value})
    assert kinds(found) == {("card-library", "warning", "README.md")}
    assert near in found[0].mend


@pytest.mark.parametrize(
    "value", ["transformers", "vllm", "mlx", "gguf", "our-own-runtime", "yolov12", "stable-audio-4", "PaddleOCR", "qwen3_tts", None]
)
def test_good_names(tmp_path, value):
    assert not judged(tmp_path, front={"library_name": value})
