"""HR511 card-empty: the Hub finds no metadata."""

import pytest
from cards import judged, kinds

CARD = ("card-empty", "warning", "README.md")


@pytest.mark.parametrize(
    ("card", "word"),
    [
        (b"", "empty"), (b" \n\n", "empty"), (b"# Title\n\nText.\n", "no metadata"), (b"---\n\n---\n# T\n", "empty metadata"), (b"---\n# note\n---\n", "empty metadata"),
        (b"--- \nlicense: mit\n---\n", "blanks"), (b"# Title\n\n---\nlicense: mit\n---\n", "line 3"), (b"---\n\n# Title\n", "no metadata"),
    ],
)  # fmt: skip
def test_bad_cards(tmp_path, card, word):
    found = judged(tmp_path, card=card)
    assert kinds(found) == {CARD}
    assert word in found[0].message


def test_good_cards(tmp_path):
    assert not judged(tmp_path / "a")
    assert not judged(tmp_path / "b", card=b"---\nlicense: apache-2.0\n---")
    assert not judged(tmp_path / "c", files={"README.md": None})
