"""explain and docs/findings.md: every code has a page, and the pages are those of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from hubrelease import explain
from hubrelease.errors import SpecError

FINDINGS = Path(__file__).parent.parent / "docs" / "findings.md"


def test_every_page_says_what_why_and_how_to_mend():
    for page in explain.pages():
        assert page.means, page.code
        assert page.why, page.code
        assert page.mend, page.code


def test_the_page_of_all_findings_is_not_stale():
    assert FINDINGS.read_text() == explain.markdown(), "run `make docs`"


@pytest.mark.parametrize("name", ["HR216", "hr216", "hash-mismatch"])
def test_a_page_is_found_by_code_and_by_kind(name):
    (page,) = explain.page(name)
    assert (page.code, page.kind) == ("HR216", "hash-mismatch")
    assert page.source


def test_an_unknown_code_names_the_nearest():
    with pytest.raises(SpecError) as error:
        explain.page("hash-mismatsh")
    assert "hash-mismatch" in error.value.problems[0].mend
