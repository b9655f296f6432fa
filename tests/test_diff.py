"""diff and verify --against: what differs between two releases, down to tensors, values and lines."""

from __future__ import annotations

import json

import pytest
import tiny

import hubrelease
from hubrelease.against import opened
from hubrelease.compare import differences
from hubrelease.errors import Exit


def found(one, other) -> list[tuple[str, str, str]]:
    return [(d.file, d.change, d.part) for d in differences(opened(one), opened(other))]


def with_weights(change) -> bytes:
    tensors = tiny.weights()
    change(tensors)
    return tiny.safetensors(tensors)


@pytest.fixture
def one(tmp_path):
    return tiny.release(tmp_path / "one")


def test_equal_releases_do_not_differ(one, tmp_path):
    assert found(one, tiny.release(tmp_path / "two")) == []


def test_a_changed_tensor_is_named(one, tmp_path):
    name = next(iter(tiny.weights()))

    def change(tensors):
        dtype, shape, data = tensors[name]
        tensors[name] = (dtype, shape, bytes([data[0] ^ 1]) + data[1:])

    two = tiny.release(tmp_path / "two", {"model.safetensors": with_weights(change)})
    (difference,) = differences(opened(one), opened(two))
    assert (difference.part, difference.detail) == ("tensor", f"{name}: other values")


def test_added_removed_and_reshaped_tensors_are_named(one, tmp_path):
    names = list(tiny.weights())

    def change(tensors):
        del tensors[names[0]]
        tensors["new.weight"] = ("F32", [1], bytes(4))
        tensors[names[1]] = ("BF16", [1], bytes(2))

    two = tiny.release(tmp_path / "two", {"model.safetensors": with_weights(change)})
    details = {d.detail.split(":")[0]: d.change for d in differences(opened(one), opened(two))}
    assert details == {names[0]: "removed", "new.weight": "added", names[1]: "changed"}


def test_json_values_are_named_by_pointer(one, tmp_path):
    config = json.loads(tiny.model()["config.json"])
    config["hidden_size"] = 4096
    two = tiny.release(tmp_path / "two", {"config.json": json.dumps(config).encode()})
    (difference,) = differences(opened(one), opened(two))
    assert difference.detail.startswith("/hidden_size: 8 → 4096")


def test_template_lines_are_shown(one, tmp_path):
    two = tiny.release(tmp_path / "two", {"chat_template.jinja": tiny.CHAT_TEMPLATE.replace("assistant", "bot").encode()})
    assert {d.part for d in differences(opened(one), opened(two))} == {"lines"}


def test_files_only_on_one_side_are_named(one, tmp_path):
    two = tiny.release(tmp_path / "two", {"extra.txt": b"x", "generation_config.json": None})
    assert found(one, two) == [("extra.txt", "added", "file"), ("generation_config.json", "removed", "file")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("model.safetensors", tiny.safetensors(dict(reversed(tiny.weights().items())))),
        ("config.json", json.dumps(json.loads(tiny.model()["config.json"])).encode()),
        ("chat_template.jinja", tiny.CHAT_TEMPLATE.replace("\n", "\r\n").encode()),
    ],
)
def test_other_bytes_of_the_same_meaning_are_a_warning(one, tmp_path, name, data):
    two = tiny.release(tmp_path / "two", {name: data})
    verdict = hubrelease.verify(one, against=two)
    assert [(p.kind, p.severity, p.where.file) for p in verdict.problems] == [("not-reproducible", "warning", name)]
    assert verdict.exit == Exit.GOOD


def test_other_content_is_an_error(one, tmp_path):
    two = tiny.release(tmp_path / "two", {"LICENSE": b"Another licence.\n"})
    verdict = hubrelease.verify(one, against=two)
    assert {(p.kind, p.severity) for p in verdict.problems} == {("not-reproducible", "error")}


def test_a_folder_that_is_not_there_is_said(one, tmp_path):
    with pytest.raises(hubrelease.errors.OutsideError):
        hubrelease.verify(one, against=tmp_path / "nowhere")
