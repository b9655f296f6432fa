"""HR618 card-size: sizes and counts in the card's text."""

import json

import pytest
import tiny
from cards import judged, kinds, table

TENSORS = len(tiny.weights())
ELEMENTS = sum(len(data) // 2 for _, _, data in tiny.weights().values())
SIZE = len(tiny.model()["model.safetensors"])
OWN = "{t} tensors with {p:,} parameters in {f} weight file, {s} in all."
WARNING, ERROR = {("card-size", "warning", "README.md")}, {("card-size", "error", "README.md")}


def shards():
    """The tiny model in two shards."""
    names = list(tiny.weights())
    parts = {
        f"model-0000{n}-of-00002.safetensors": dict(list(tiny.weights().items())[(n - 1) * 10 : n * 10 if n == 1 else None]) for n in (1, 2)
    }
    where = {name: file for file, tensors in parts.items() for name in tensors}
    assert set(where) == set(names)
    index = json.dumps({"metadata": {"total_size": 2 * ELEMENTS}, "weight_map": where}).encode()
    return {
        **{file: tiny.safetensors(tensors) for file, tensors in parts.items()},
        "model.safetensors.index.json": index,
        "model.safetensors": None,
    }


@pytest.mark.parametrize(
    "sentence",
    [
        OWN.format(t=TENSORS + 1, p=ELEMENTS, f=1, s="{}"), OWN.format(t=TENSORS, p=ELEMENTS + 1, f=1, s="{}"), OWN.format(t=TENSORS, p=ELEMENTS, f=2, s="{}"),
        OWN.format(t=TENSORS, p=ELEMENTS, f=1, s="9.99 kB"),
    ],
)  # fmt: skip
def test_bad_own_sentence(tmp_path, sentence):
    assert kinds(judged(tmp_path, body=sentence.format(f"{SIZE / 1000:.2f} kB"))) == ERROR


@pytest.mark.parametrize(
    "body",
    [
        "- **Model size:** 5.6 GB", table("Property | Value", "Checkpoint size | 12 MB"), table("File | Size", "model.safetensors | 4 GB"),
        "The model has 4,659,865,088 parameters.", "It holds 812 tensors.", "Split into 7 shards.",
    ],
)  # fmt: skip
def test_bad_claims(tmp_path, body):
    files = shards() if "shards" in body else {}
    assert kinds(judged(tmp_path, body=body, files=files)) == WARNING


def test_bad_number_of_quantised_weights(tmp_path):
    tensors = {f"model.layers.{n}.mlp.up_proj.weight": ("F8_E4M3", [8, 8], bytes(64)) for n in range(12)}
    files = {"model.safetensors": tiny.safetensors(tensors)}
    assert kinds(judged(tmp_path / "a", body="36,288 quantised expert weights.", files=files)) == WARNING
    assert not judged(tmp_path / "b", body="12 quantized weights.", files=files)


@pytest.mark.parametrize(
    "body",
    [
        OWN.format(t=TENSORS, p=ELEMENTS, f=1, s=f"{SIZE / 1000:.2f} kB"), f"- Model size: {SIZE / 1000:.1f} kB", f"Weights size: {SIZE / 1024:.1f} KiB",
        table("File | Size", f"model.safetensors | {SIZE / 1000:.0f} kB", "other.bin | 4 GB"), f"The model has {ELEMENTS:,} parameters.", f"{TENSORS} tensors.",
        "The base model has 4,659,865,088 parameters.", "It was trained on 1,234,567,890 parameters of data", "Only 12,582,912 trainable parameters.",
        "The original has 7 shards.", "Model size: 7B", "It needs 24 GB of VRAM.", "Model size: 7 billion", "- Size: 5.6 GB", "2 tensors", "split in 7 shards",
        "4,659,865,088 parameters here, 4,539,265,536 parameters there.", "```\nModel size: 5.6 GB\n```",
    ],
)  # fmt: skip
def test_good_claims(tmp_path, body):
    assert not judged(tmp_path, body=body)


def test_good_shards(tmp_path):
    assert not judged(tmp_path, body="Split into 2 shards.", files=shards())


def test_good_where_weights_are_missing(tmp_path):
    """A partial download: nothing is known of the whole."""
    from cards import card_text

    import hubrelease

    root = tiny.release(tmp_path / "r", {"README.md": card_text(body="It holds 812 tensors.")})
    (root / "model.safetensors").unlink()
    assert {p.kind for p in hubrelease.verify(root).problems} == {"partial-download"}
