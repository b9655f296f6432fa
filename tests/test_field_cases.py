"""Every case from the field: the fault is found with its kind, severity and file, and nothing else is called a fault."""

from __future__ import annotations

import pytest
from field_cases import HERE, judge, make


def identities() -> list[str]:
    import re

    return re.findall(r'^@case\("(B\d+)"', (HERE / "make_cases.py").read_text(), re.M)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    whole = make(tmp_path_factory.mktemp("cases"), "--slow")
    bare = make(tmp_path_factory.mktemp("bare"), "--bare")
    return {"whole": {c.name.split("-")[0]: c for c in whole}, "bare": {c.name.split("-")[0]: c for c in bare}}


@pytest.mark.parametrize("ident", identities())
def test_the_case_is_judged_as_its_author_would(cases, ident):
    judged = judge(cases["whole"][ident])
    assert judged.found, f"missed: {judged.expected}"
    assert not judged.alarms


def test_a_release_without_provenance_is_judged_by_all_other_checks(cases):
    """With --bare most cases have no provenance: that is reported, and the fault is still found."""
    missed = []
    for ident, case in cases["bare"].items():
        judged = judge(case)
        alarms = [a for a in judged.alarms if "provenance-missing" not in a]
        if not judged.found or alarms:
            missed.append((ident, judged.expected["kind"], alarms))
    assert not missed
