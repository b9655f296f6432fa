from __future__ import annotations

import pytest
import tiny
from weight_files import problems_of

from hubrelease import verify_release
from hubrelease.release import Release
from hubrelease.verify_release import Entry


def with_entries(tmp_path, paths):
    """A release whose listing is made up: a hundred thousand files take a minute to write."""
    root = tiny.release(tmp_path / "release")
    result = verify_release.check_folder(root)
    release = Release(root, result._replace(entries={**result.entries, **dict.fromkeys(paths, Entry("link", 0))}))
    return [(p.kind, p.severity, p.where.file) for p in problems_of(release)]


@pytest.mark.parametrize("folder", ["samples", "a/b/c", "."])
def test_bad_more_than_ten_thousand_in_a_folder(tmp_path, folder):
    prefix = "" if folder == "." else f"{folder}/"
    assert with_entries(tmp_path, [f"{prefix}{n}.txt" for n in range(10_001)]) == [("too-many-files", "error", folder)]


def test_bad_folders_count(tmp_path):
    assert with_entries(tmp_path, [f"samples/{n}/x.txt" for n in range(10_001)]) == [("too-many-files", "error", "samples")]


def test_bad_a_hundred_thousand_in_all(tmp_path):
    assert with_entries(tmp_path, [f"s/{n % 50}/{n}.txt" for n in range(100_001)]) == [("too-many-files", "warning", ".")]


def test_good_ten_thousand(tmp_path):
    assert not with_entries(tmp_path, [f"samples/{n}.txt" for n in range(10_000)] + [f"more/{n}.txt" for n in range(10_000)])


def test_good_the_download_s_own_files(tmp_path):
    assert not with_entries(tmp_path, [f".cache/huggingface/download/{n}.txt.metadata" for n in range(10_001)])
