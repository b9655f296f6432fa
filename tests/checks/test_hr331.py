from __future__ import annotations

import pytest
from meaning import adapter, folder, judged, one, problems_of


def revision(value):
    return adapter("plain", lambda config, tensors: config.update(revision=value)) | {
        "model.safetensors": None,
        "config.json": None,
        "generation_config.json": None,
    }


@pytest.mark.parametrize("value", ["main", "v1.0", "0123abc", None, ""])
def test_bad_no_commit(tmp_path, value):
    found = one(tmp_path, revision(value))
    assert (found.kind, found.severity, found.where.file, found.where.pointer) == (
        "adapter-revision",
        "warning",
        "adapter_config.json",
        "/revision",
    )


def test_bad_another_commit_than_provenance(tmp_path):
    assert judged(tmp_path, revision("f" * 40)) == [("adapter-revision", "warning", "adapter_config.json")]


def test_good_the_pinned_commit(tmp_path):
    assert judged(tmp_path, revision("0123456789" * 4)) == []


def test_good_without_provenance_an_empty_one_is_usual(tmp_path):
    files = {path: data for path, data in revision(None).items() if data is not None}
    assert problems_of(folder(tmp_path, files)) == []
