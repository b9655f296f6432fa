"""init: a release.yaml for whatever model folder is there, which `check` accepts and `seal` seals."""

from __future__ import annotations

import json
import re

import pytest
import tiny

import hubrelease
from hubrelease.checker import check
from hubrelease.errors import CheckFailed, Exit
from hubrelease.starter import init

FOLDERS = {
    "a whole model": tiny.model(),
    "no card": {p: d for p, d in tiny.model().items() if p != "README.md"},
    "no licence text": {p: d for p, d in tiny.model().items() if p != "LICENSE"},
    "a quantised model": {**tiny.model(), "config.json": json.dumps({**json.loads(tiny.model()["config.json"]), "quantization_config": {"quant_method": "awq"}}).encode()},
    "an adapter": {"adapter_config.json": b'{"base_model_name_or_path": "org/base", "peft_type": "LORA"}', "LICENSE": b"x\n"},
    "an empty folder": {},
    "hostile values": {"config.json": b'{"torch_dtype": {"a": [1]}, "_name_or_path": 7, "quantization_config": "x"}', "README.md": b"---\nlicense: [1, {a: b}]\nbase_model: {x: y}\ntags: 3\n---\n"},
    "a broken card": {"README.md": b"---\na: b: c\n---\n", "config.json": b"{"},
    "receipts": {**tiny.model(), "results.json": b'{"results": {}}', "benchmarks/run 1.json": b"{}", "results/nan.json": b'{"a": NaN}'},
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_check_accepts_what_init_writes(tmp_path, name):
    folder = tmp_path / "my model (v1)"
    folder.mkdir()
    tiny.write(folder, FOLDERS[name])
    init(folder)
    assert check(folder) == []


@pytest.mark.parametrize("name", ["a whole model", "no card", "an adapter"])
def test_the_example_in_it_is_good_once_the_marks_are_taken_away(tmp_path, name):
    file, _ = init(tiny.write(tmp_path / "m", FOLDERS[name]))
    head, tail = file.read_text().split("card:", 1)
    mark = "# " if head.endswith("# ") else ""
    lines = [re.sub(r"^( *)# ", r"\1", line) for line in f"{mark}card:{tail}".splitlines()]
    file.write_text(head.removesuffix("# ") + "\n".join(lines) + "\nbenchmarks: [{receipt: benchmarks/results.json}]\n")
    tiny.write(tmp_path / "m", {"benchmarks/results.json": b'{"results": {"gsm8k": {"exact_match,strict-match": 0.5}}}'})
    assert [p for p in check(tmp_path / "m") if p.severity == "error"] == []
    assert hubrelease.load_spec(tmp_path / "m").card["tables"]


def test_a_folder_that_tells_no_licence_can_be_checked_and_sealed(tmp_path):
    folder = tiny.write(tmp_path / "m", {p: d for p, d in tiny.model().items() if p not in ("README.md", "LICENSE")})
    init(folder)
    assert check(folder) == []
    hubrelease.seal(folder)
    assert hubrelease.verify(folder).exit == Exit.GOOD


def test_the_next_step_depends_on_whether_there_are_weights_and_can_be_pasted(tmp_path, cli):
    folder = tiny.write(tmp_path / "my model", tiny.model())
    assert f"hubrelease seal '{folder}'" in cli("init", folder).out
    (tmp_path / "empty").mkdir()
    said = cli("init", tmp_path / "empty").out
    assert "no weights found" in said
    assert f"hubrelease pin {tmp_path / 'empty'}" in said


def test_what_the_folder_tells_is_filled_in(tmp_path):
    folder = tiny.write(tmp_path / "m", tiny.model())
    _, seen = init(folder)
    assert (seen.license, seen.base_model) == ("apache-2.0", "example-org/tiny-base")
    assert hubrelease.load_spec(folder).license == "apache-2.0"


def test_receipts_are_found_and_those_that_are_not_json_are_not(tmp_path):
    _, seen = init(tiny.write(tmp_path / "m", FOLDERS["receipts"]))
    assert seen.receipts == ("benchmarks/run 1.json", "results.json")


def test_a_release_yaml_that_is_there_is_never_replaced(tmp_path):
    folder = tiny.write(tmp_path / "m", {"release.yaml": b"mine"})
    with pytest.raises(CheckFailed):
        init(folder)
    assert (folder / "release.yaml").read_bytes() == b"mine"


def test_the_folder_can_then_be_sealed(tmp_path):
    folder = tiny.write(tmp_path / "m", tiny.model())
    init(folder)
    hubrelease.seal(folder)
    assert hubrelease.verify(folder).exit == Exit.GOOD
