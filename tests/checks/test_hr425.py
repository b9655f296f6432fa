"""HR425: a validation that was asked for, and no report."""

from __future__ import annotations

import pytest
import tiny
from meaning import kinds, problems_of
from reports import REPORT, report, with_report

from hubrelease import verify_release
from hubrelease.release import Release

ASKED = {"validation": {"takes": ["chat"]}}


def without(tmp_path, spec):
    root = tiny.release(tmp_path / "release", None, spec)
    return kinds(problems_of(Release(root, verify_release.check_folder(root))))


def test_bad_no_report_where_one_was_asked_for(tmp_path):
    assert without(tmp_path, ASKED) == [("validation-missing", "error", REPORT)]


@pytest.mark.parametrize("spec", [None, {"validation": 3}])
def test_good_none_was_asked_for(tmp_path, spec):
    assert without(tmp_path, spec) == []


def test_good_a_report(tmp_path):
    assert kinds(problems_of(with_report(tmp_path, report(result="not-run", reason="no GPU", checks=[]), ASKED))) == []


def test_good_a_download_that_is_not_whole(tmp_path):
    """A file that is listed and not here yet is another finding."""
    root = with_report(tmp_path, report(), ASKED).root
    (root / REPORT).unlink()
    assert not any(kind == "validation-missing" for kind, *_ in kinds(problems_of(Release(root, verify_release.check_folder(root)))))
