"""`hubrelease check`: what the Hub would refuse in the card's metadata, found in release.yaml before anything is built."""

import pytest
import specs

from hubrelease.checker import check


def found(tmp_path, **changes):
    spec = {**specs.LOCAL, **changes}
    return [p for p in check(specs.folder(tmp_path / "r", spec)) if p.code.startswith("HR5")]


@pytest.mark.parametrize(
    ("changes", "kind", "pointer"),
    [
        ({"license": "gpl-2.0-or-later"}, "card-license", "/license"),
        ({"license": "Apache-2.0"}, "card-license", "/license"),
        ({"card": {"base_model": "/home/builder/tiny"}}, "card-base-model", "/card/base_model"),
        ({"card": {"base_model": ["org/good", "./bad"]}}, "card-base-model", "/card/base_model/1"),
        ({"card": {"datasets": ["/var/data"]}}, "card-base-model", "/card/datasets/0"),
        ({"card": {"pipeline_tag": "text-gen"}}, "card-pipeline-tag", "/card/pipeline_tag"),
        ({"card": {"language": "english"}}, "card-language", "/card/language"),
        ({"card": {"tags": ["a", ""]}}, "card-metadata-type", "/card/tags/1"),
        ({"card": {"library_name": "transformer"}}, "card-library", "/card/library_name"),
    ],
)
def test_what_the_hub_refuses_is_found_in_the_spec(tmp_path, changes, kind, pointer):
    (problem,) = found(tmp_path, **changes)
    assert (problem.kind, problem.where.file.endswith("release.yaml"), problem.where.pointer) == (kind, True, pointer)
    assert problem.where.line


def test_a_good_spec_has_none(tmp_path):
    card = {
        "language": ["en", "no"],
        "tags": ["a"],
        "pipeline_tag": "text-generation",
        "library_name": "transformers",
        "base_model": "org/base",
        "base_model_relation": "quantized",
    }
    assert found(tmp_path, card=card) == []


def test_a_waiver_makes_it_a_warning(tmp_path):
    waive = [{"code": "HR512", "reason": "the mirror that we publish to takes any licence"}]
    (problem,) = found(tmp_path, license="our-licence-1.0", waive=waive)
    assert (problem.severity, problem.waived is not None) == ("warning", True)
