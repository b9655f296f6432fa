"""HR512 card-license: ids that the Hub does not accept."""

import pytest
from cards import judged, kinds

CARD = ("card-license", "error", "README.md")
WARNING = ("card-license", "warning", "README.md")


@pytest.mark.parametrize(
    ("value", "near"),
    [
        ("gpl-2.0-or-later", "gpl-2.0"), ("agpl-3.0-only", "agpl-3.0"), ("Apache-2.0", "apache-2.0"), ("apache2.0", "apache-2.0"), ("Apache 2.0", "apache-2.0"),
        ("MIT", "mit"), ("MIT License", "mit"), ("bsd-3", "bsd-3-clause"), ("cc-by-nc", "cc-by-nc-4.0"), ("llama-3.1", "llama3.1"), ("lama3", "llama3"),
        ("GPLv3", "gpl-3.0"), ("cc0", "cc0-1.0"), ("proprietary", "other"), ("[mit, BSD-2-Clause]", "bsd-2-clause"), ("LGPL-2.1+", "lgpl-2.1"),
        ("", None), ("null", None), ("''", None), ("2", None), ("{id: mit}", None), ("tiny-community-1.0", None), ("[null]", None),
    ],
)  # fmt: skip
def test_bad_ids(tmp_path, value, near):
    found = judged(tmp_path, front={"license": value}, bare=True)
    assert kinds(found) == {CARD}
    assert near is None or near in found[0].mend


def test_bad_other_without_name_or_text(tmp_path):
    front = {"license": "other"}
    found = judged(tmp_path / "a", front=front, files={"LICENSE": None}, bare=True)
    assert kinds(found) == {WARNING}
    assert len(found) == 2
    assert len(judged(tmp_path / "b", front=front, bare=True)) == 1


@pytest.mark.parametrize("link", ["LICENSE.md", "./docs/LICENSE", "license"])
def test_bad_link_to_nothing(tmp_path, link):
    found = judged(tmp_path, front={"license": "other", "license_name": "tiny-1.0", "license_link": link}, bare=True)
    assert kinds(found) == {CARD}
    assert found[0].where.pointer == "/license_link"


@pytest.mark.parametrize(
    "value", ["apache-2.0", "mit", "[mit, apache-2.0]", "llama3.1", "gemma", "openrail++", "unknown", "openmdw-1.1", "'mit'", None]
)
def test_good_ids(tmp_path, value):
    assert not judged(tmp_path, front={"license": value}, bare=True)


@pytest.mark.parametrize("link", ["LICENSE", "./LICENSE", "LICENSE#terms", "https://example.org/licence", "www.example.org/licence"])
def test_good_other(tmp_path, link):
    assert not judged(tmp_path, front={"license": "other", "license_name": "tiny-1.0", "license_link": link}, bare=True)


def test_good_card_alone(tmp_path):
    """Where nothing but the card is looked at, what its link leads to is unknown."""
    import tiny
    from cards import card_text

    from hubrelease import verifier

    root = tiny.write(tmp_path / "r", {"README.md": card_text({"license": "other", "license_name": "x", "license_link": "LICENSE.md"})})
    assert {p.kind for p in verifier.verify(root).problems} == {"provenance-missing"}
