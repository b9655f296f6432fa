"""docs/formats.md is what the formats say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from hubrelease import format_pages
from hubrelease.formats import formats
from hubrelease.spec import PASS_THROUGH

FILE = Path(__file__).parent.parent.parent / "docs" / "formats.md"


def test_the_file_is_not_stale():
    assert FILE.read_text("utf-8") == format_pages.markdown(), "run make docs"


@pytest.mark.parametrize("form", formats(), ids=lambda form: form.name)
def test_each_format_says_its_rounding_its_layout_and_its_reader(form):
    page = "\n".join(format_pages.page(form))
    assert form.readers in page
    if form.name in PASS_THROUGH:  # carried over: there is neither
        assert "nothing is rounded" in page
        return
    assert form.arithmetic in page
    assert all(f"`NAME{part.suffix}`" in page for part in form.parts(256, 512, "BF16"))
    assert len(page) > 500
