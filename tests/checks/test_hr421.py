from __future__ import annotations

import pytest
from reports import PASSED, REPORT, judged_report, report

WANTED = [("validation-skipped", "error", REPORT)]


@pytest.mark.parametrize("status", ["skipped", "SKIPPED", "not-run", "pending", ""])
def test_bad_a_required_check_did_not_run(tmp_path, status):
    assert judged_report(tmp_path, report(checks=[PASSED, {"name": "generate", "status": status, "required": True}])) == WANTED


@pytest.mark.parametrize("checks", [[], [{"name": "http", "status": "pass", "required": False}]])
def test_bad_nothing_is_required(tmp_path, checks):
    assert judged_report(tmp_path, report(checks=checks)) == WANTED


def test_good_an_optional_check_was_skipped(tmp_path):
    assert judged_report(tmp_path, report(checks=[PASSED, {"name": "vision", "status": "skipped", "required": False}])) == []


def test_good_not_run_claims_nothing(tmp_path):
    assert judged_report(tmp_path, report(result="not-run", checks=[{"name": "generate", "status": "skipped", "required": True}])) == []
