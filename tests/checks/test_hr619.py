"""HR619 published-differs: a figure that was published as another value than the release's own data gives."""

import json

import pytest
from cards import RECEIPT, judged, kinds

SUM = {"compute": "sum", "of": [{"receipt": RECEIPT, "pointer": "/text"}, {"receipt": RECEIPT, "pointer": "/image"}]}
VALUE = {"text": 40, "image": 59, "total": 100, "rate": 0.8925}
PLACE = "/predicate/buildDefinition/externalParameters/spec/card/figures/x/published"


def found(root, *figures):
    spec = {"card": {"figures": dict(zip("xyz", figures, strict=False))}}
    return judged(root, receipts={RECEIPT: json.dumps(VALUE).encode()}, spec=spec)


@pytest.mark.parametrize("published", ["100", "98", {"receipt": RECEIPT, "pointer": "/total"}], ids=str)
def test_bad_figures(tmp_path, published):
    told = found(tmp_path, {**SUM, "published": published})
    assert kinds(told) == {("published-differs", "warning", "MODEL_PROVENANCE.json")}
    assert told[0].where.pointer == PLACE
    assert "99" in told[0].message


@pytest.mark.parametrize(
    "published",
    ["99", "99.0", {"receipt": RECEIPT, "pointer": "/absent"}, "many", 3, None, [], {"spec": True}, {"compute": "sum"}],
    ids=str,
)
def test_good_figures(tmp_path, published):
    """What can't be found or held against is no finding here: `check` refuses it before a release is made."""
    assert found(tmp_path, {**SUM, "published": published}) == []


@pytest.mark.parametrize("card", [{"figures": [{"published": 1}]}, {"published": "1"}, {"tables": [{"each": 3, "published": "1"}]}, {"plots": {"published": {}}},
                                  {"figures": {"x": {"figure": "x", "published": "1"}}}, {"tables": [{"rows": [[{**SUM, "published": "1", "decimals": 10**9}]]}]}], ids=str)  # fmt: skip
def test_any_other_document_is_left_alone(tmp_path, card):
    assert judged(tmp_path, receipts={RECEIPT: json.dumps(VALUE).encode()}, spec={"card": card}) == []


def test_of_very_many_some_are_told(tmp_path):
    spec = {"card": {"figures": {f"x{n}": {**SUM, "published": "100"} for n in range(500)}}}
    assert len(judged(tmp_path, receipts={RECEIPT: json.dumps(VALUE).encode()}, spec=spec)) == 21
