from __future__ import annotations

import pytest
from meaning import problems_of
from reports import PASSED, REPORT, judged_report, report, with_report

WANTED = ("validation-malformed", "error", REPORT)


@pytest.mark.parametrize("value", [
    [], b"{", b"null", report(schemaVersion="1"), report(result="ok"), report(result=None), report(subject={}), report(subject={"payloadDigest": "abc"}), report(checks={}),
    report(checks=[PASSED, 3]), report(checks=[{"status": "pass", "required": True}]), report(checks=[{"name": "a", "status": "pass", "required": "yes"}]),
])  # fmt: skip
def test_bad_what_is_no_report(tmp_path, value):
    found = judged_report(tmp_path, value)
    assert WANTED in found
    assert {kind for kind, _, _ in found} <= {"validation-malformed", "validation-stale"}


def test_bad_from_the_future(tmp_path):
    found = problems_of(with_report(tmp_path, report(schemaVersion=2, checks="other")))
    assert [(p.kind, p.severity, p.undecided) for p in found] == [("validation-malformed", "error", True)]


def test_good_a_whole_one(tmp_path):
    value = report(environment={"gpus": [{"name": "x", "computeCapability": "12.0"}]}, memory={"peakMiB": 1}, extra=3)
    assert judged_report(tmp_path, value) == []


def test_good_not_run_has_no_checks(tmp_path):
    value = report(result="not-run", reason="no GPU")
    del value["checks"]
    assert judged_report(tmp_path, value) == []
