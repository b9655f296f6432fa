from __future__ import annotations

import pytest
from reports import PASSED, REPORT, judged_report, report

FAILED = {"name": "generate", "status": "fail", "required": True}


def test_bad_pass_in_spite_of_a_failed_check(tmp_path):
    assert judged_report(tmp_path, report(checks=[PASSED, FAILED])) == [("validation-failed", "error", REPORT)]


def test_bad_output_that_is_not_what_was_expected(tmp_path):
    garbage = {**PASSED, "expect": "4", "output": "!!!!"}
    assert judged_report(tmp_path, report(checks=[garbage])) == [("validation-failed", "error", REPORT)]


def test_bad_an_honest_fail_is_a_warning(tmp_path):
    assert judged_report(tmp_path, report(result="fail", checks=[FAILED])) == [("validation-failed", "warning", REPORT)]


def test_good_passed(tmp_path):
    assert judged_report(tmp_path, report(checks=[{**PASSED, "expect": "4", "output": " 4."}])) == []


def test_good_an_optional_check_failed(tmp_path):
    assert judged_report(tmp_path, report(checks=[PASSED, {**FAILED, "required": False}])) == []


@pytest.mark.parametrize("row", [{"expect": 4, "output": "x"}, {"expect": "", "output": "x"}, {"expect": "x"}])
def test_good_other_forms(tmp_path, row):
    assert judged_report(tmp_path, report(checks=[{**PASSED, **row}])) == []
