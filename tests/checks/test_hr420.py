from __future__ import annotations

import pytest
import tiny
from meaning import kinds, problems_of
from reports import REPORT, judged_report, report, with_report

from hubrelease import verify_release
from hubrelease.release import Release

OTHER = {"payloadDigest": "ab" * 32}


def test_bad_of_another_build(tmp_path):
    assert judged_report(tmp_path, report(subject=OTHER)) == [("validation-stale", "error", REPORT)]


def test_bad_not_run_is_a_warning(tmp_path):
    assert judged_report(tmp_path, report(subject=OTHER, result="not-run")) == [("validation-stale", "warning", REPORT)]


def test_bad_any_receipt_that_names_a_payload(tmp_path):
    assert judged_report(tmp_path, {"subject": OTHER}, path="benchmarks/speed.json") == [
        ("validation-stale", "error", "benchmarks/speed.json")
    ]


def test_bad_a_payload_that_changed_after_the_validation(tmp_path):
    release = with_report(tmp_path, report())
    tiny.write(release.root, {"generation_config.json": b'{"bos_token_id": 1, "eos_token_id": 2, "max_length": 9}'})
    tiny.seal(release.root)
    assert kinds(problems_of(Release(release.root, verify_release.check_folder(release.root)))) == [("validation-stale", "error", REPORT)]


def test_bad_a_swapped_report(tmp_path):
    release = with_report(tmp_path, report())
    tiny.edit(release.root, lambda s: s["predicate"]["runDetails"].update(byproducts=[{"name": REPORT, "digest": {"sha256": "cd" * 32}}]))
    assert kinds(problems_of(Release(release.root, verify_release.check_folder(release.root)))) == [("validation-stale", "error", REPORT)]


def test_good_of_this_payload(tmp_path):
    assert judged_report(tmp_path, report()) == []


def test_good_a_card_edit_leaves_it_fresh(tmp_path):
    release = with_report(tmp_path, report())
    tiny.write(release.root, {"README.md": tiny.CARD.encode() + b"\nMore.\n"})
    tiny.seal(release.root)
    assert problems_of(Release(release.root, verify_release.check_folder(release.root))) == []


@pytest.mark.parametrize("rows", [None, 3, [None, {}, {"name": 1}, {"name": REPORT}]])
def test_good_other_byproducts(tmp_path, rows):
    release = with_report(tmp_path, report())
    tiny.edit(release.root, lambda s: s["predicate"]["runDetails"].update(byproducts=rows))
    assert problems_of(Release(release.root, verify_release.check_folder(release.root))) == []
