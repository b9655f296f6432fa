"""HR518 card-language."""

import pytest
from cards import judged, kinds

CARD = ("card-language", "error", "README.md")


@pytest.mark.parametrize(
    ("value", "near"),
    [
        ("english", "en"), ("[en, bulgarian]", "bg"), ("galician", "gl"), ("noinfo", None), ("zh-CN", "zh"), ("es_ES", "es"), ("EN", "en"), ("'en, fr'", "list"),
        ("jp", None), ("", None), ("null", None), ("[en, null]", None), ("true", None), ("{en: yes}", None), ("en_unnorm", None), ("[[en]]", None), ("englsh", "en"),
    ],
)  # fmt: skip
def test_bad_languages(tmp_path, value, near):
    found = judged(tmp_path, front={"language": value})
    assert kinds(found) == {CARD}
    assert near is None or near in found[0].mend


def test_bad_unknown_code_is_a_warning(tmp_path):
    assert kinds(judged(tmp_path, front={"language": "xqx"})) == {("card-language", "warning", "README.md")}


@pytest.mark.parametrize(
    "value", ["en", "no", "[en, fr, zh]", "multilingual", "code", "eng", "deu", "ger", "lut", "mul", "'en'", "ber", None, "[]", "yo"]
)
def test_good_languages(tmp_path, value):
    assert not judged(tmp_path, front={"language": value})
