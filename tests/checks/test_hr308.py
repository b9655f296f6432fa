from __future__ import annotations

from meaning import changed, judged, reshaped

MTP = reshaped({"mtp.fc.weight": [8, 16]})


def test_bad_the_config_denies_them(tmp_path):
    assert judged(tmp_path, MTP | changed("config.json", num_nextn_predict_layers=0)) == [("mtp-undeclared", "warning", "config.json")]


def test_good_a_config_that_never_had_the_key(tmp_path):
    assert judged(tmp_path, MTP) == []


def test_good_none_are_there(tmp_path):
    assert judged(tmp_path, changed("config.json", num_nextn_predict_layers=0, mtp_num_hidden_layers=0)) == []
