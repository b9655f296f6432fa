"""A PEFT adapter beside the weights: its tensors untouched, its config names the base as everybody can find it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
import tiny_upstream
from hub import Hub
from project import UPSTREAM, Project, project, tree

LORA = "upstream/lora"


@pytest.fixture
def with_lora(hub: Hub, author: Project) -> Project:
    hub.create(LORA, tiny_upstream.adapter())
    return author.spec(sources={"base_model": {"hf": UPSTREAM}, "lora": {"hf": LORA}}, adapter={"source": "lora"})


def test_a_local_training_path_becomes_the_base_s_name_and_commit(with_lora: Project) -> None:
    with_lora.build().good()
    built = tree(with_lora.out)
    files, before = tiny_upstream.adapter(), json.loads(tiny_upstream.adapter()["adapter_config.json"])
    config = json.loads(built["adapter/adapter_config.json"])
    assert config == {**before, "base_model_name_or_path": UPSTREAM, "revision": with_lora.locked()["gitCommit"]}
    assert built["adapter/adapter_model.safetensors"] == files["adapter_model.safetensors"]
    assert "adapter/README.md" not in built
    assert [path for path, data in built.items() if b"/home/trainer" in data] == []
    subjects = json.loads(built["MODEL_PROVENANCE.json"])["subject"]
    assert {s["annotations"]["role"] for s in subjects if s["name"].startswith("adapter/")} == {"adapter"}
    with_lora.near.run("verify", with_lora.out).good()


def test_an_adapter_may_lie_elsewhere_and_be_pinned_from_a_path(hub: Hub, with_lora: Project) -> None:
    hub.commit(LORA, {f"checkpoints/last/{path}": data for path, data in tiny_upstream.adapter().items()})
    with_lora.spec(
        sources={"base_model": {"hf": UPSTREAM}, "lora": {"hf": LORA, "path": "checkpoints/last"}},
        adapter={"source": "lora", "to": "lora/v1"},
    )
    with_lora.build().good()
    assert {path for path in tree(with_lora.out) if path.startswith("lora/")} == {
        "lora/v1/adapter_config.json",
        "lora/v1/adapter_model.safetensors",
    }


Spoil = Callable[[dict[str, bytes]], object]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda files: files.pop("adapter_config.json"), "has no adapter_config.json"),
        (lambda files: files.update({"adapter_config.json": b"{"}), "is not JSON"),
        (lambda files: files.update({"adapter_config.json": b'{"r": 1, "r": 2}'}), "stands twice"),
        (lambda files: files.update({"adapter_config.json": b"[]\n"}), "is not a JSON object"),
    ],
)
def test_an_adapter_without_a_readable_config_is_refused(tmp_path: Path, spoil: Spoil, says: str) -> None:
    author, files = local(tmp_path), tiny_upstream.adapter()
    spoil(files)
    tiny.write(tmp_path / "lora", files)
    refused = author.build()
    assert (refused.code, refused.only()["kind"]) == (1, "weights-unusable")
    assert says in refused.only()["message"]
    assert not author.out.exists()


def test_a_base_that_nobody_else_can_find_is_refused(tmp_path: Path) -> None:
    author = local(tmp_path)
    tiny.write(tmp_path / "lora", tiny_upstream.adapter())
    refused = author.build()
    assert (refused.code, refused.only()["kind"]) == (1, "source-invalid")
    assert "adapter.base_model" in refused.only()["mend"]


def local(home: Path) -> Project:
    tiny.write(home / "base", tiny_upstream.base())
    sources = {"base_model": {"folder": "../base", "license": "apache-2.0"}, "lora": {"folder": "../lora"}}
    return project(home, here=True).spec(sources=sources, adapter={"source": "lora"})
