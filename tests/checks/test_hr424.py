from __future__ import annotations

import pytest
from reports import REPORT, judged_report, report


def ran_on(*capabilities):
    return report(environment={"gpus": [{"name": "x", "computeCapability": c} for c in capabilities]})


def promise(*capabilities, **more):
    return {"runtime": {"compute_capabilities": list(capabilities), **more}}


def test_bad_on_another_gpu(tmp_path):
    assert judged_report(tmp_path, ran_on("9.0"), promise("12.0")) == [("validation-capability", "error", REPORT)]


def test_bad_on_one_of_two(tmp_path):
    assert judged_report(tmp_path, ran_on("9.0"), promise("9.0", "12.0")) == [("validation-capability", "warning", REPORT)]


def test_good_on_what_is_promised(tmp_path):
    assert judged_report(tmp_path, ran_on("12.0", "9.0"), promise("9.0", "12.0")) == []


def test_good_expected_is_not_promised(tmp_path):
    assert judged_report(tmp_path, ran_on("12.0"), promise("12.0", expected_capabilities=["12.1"])) == []


def test_good_what_was_not_compiled_is_another_finding(tmp_path):
    found = judged_report(tmp_path, ran_on("9.0"), promise("9.0", "12.0", cuda_archs=["9.0"]))
    assert {kind for kind, _, _ in found} == {"arch-mismatch"}


@pytest.mark.parametrize("environment", [None, 3, {"gpus": 3}, {"gpus": [None, {"computeCapability": 9.0}]}, {"computeCapability": "9.0"}])
def test_good_other_forms(tmp_path, environment):
    assert judged_report(tmp_path, report(environment=environment), promise("9.0")) == []
