from __future__ import annotations

import pytest
from weight_files import one, problems, raw

ROW = '{"dtype":"F32","shape":[4],"data_offsets":[0,16]}'
OTHER = '{"dtype":"I32","shape":[4],"data_offsets":[0,16]}'
META = '"__metadata__":{"format":"pt"}'


@pytest.mark.parametrize(("header", "tensor"), [
    (f'{{{META},"a":{ROW},"a":{ROW}}}', "a"), (f'{{{META},"a":{ROW},"a":{OTHER}}}', "a"), (f'{{{META},"a":{ROW},"\\u0061":{OTHER}}}', "a"),
    ("{" + META + ',"a":{"dtype":"F32","dtype":"I32","shape":[4],"data_offsets":[0,16]}}', "a"),
    ("{" + META + ',"a":{"x":1,"x":2,"dtype":"F32","shape":[4],"data_offsets":[0,16]}}', "a"),
    (f'{{{META},{META},"a":{ROW}}}', "__metadata__"), (f'{{"__metadata__":{{"format":"pt","format":"tf"}},"a":{ROW}}}', None),
])  # fmt: skip
def test_bad_a_key_twice_at_any_level(tmp_path, header, tensor):
    found = one(tmp_path, {"model.safetensors": raw(header, bytes(16))})
    assert (found.kind, found.severity, found.where.file, found.where.tensor) == (
        "header-duplicate-key",
        "error",
        "model.safetensors",
        tensor,
    )


def test_bad_many(tmp_path):
    rows = ",".join(f'"t{n}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for n in range(100))
    found = [p for p in problems(tmp_path, {"model.safetensors": raw(f"{{{META},{rows},{rows}}}")}) if p.kind == "header-duplicate-key"]
    assert len(found) == 21


def test_good_the_same_key_in_two_objects(tmp_path):
    second = ROW.replace("[0,16]", "[16,32]")
    assert not problems(
        tmp_path, {"model.safetensors": raw(f'{{{META},"a":{ROW},"b":{second},"format":{ROW.replace("[0,16]", "[32,48]")}}}', bytes(48))}
    )
