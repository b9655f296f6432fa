from __future__ import annotations

import enum
import functools
import os
import pickle
import subprocess

import pytest
from weight_files import judged, problems


class Call:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


class Colour(enum.Enum):
    RED = 1


EVIL = [Call(os.system, "true"), Call(eval, "1"), Call(exec, ""), Call(subprocess.Popen, "x"), Call(__import__, "os"), Call(open, "x"),
        Call(functools.partial, os.system, "true"), {"a": [1, (Call(os.popen, "x"),)]}]  # fmt: skip


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("value", EVIL, ids=range(len(EVIL)))
def test_bad_imports(tmp_path, value, protocol):
    found = [p for p in problems(tmp_path, {"model.bin": pickle.dumps(value, protocol)}) if p.kind == "pickle-import"]
    assert [(p.severity, p.where.file) for p in found] == [("error", "model.bin")]


@pytest.mark.parametrize("data", [
    b"cos\nsystem\n(S'true'\ntR.", b"cos\nsystem\n(S'true'\ntR.trailing text", b"cos\nsystem\n(S'true'\ntR",  # without an end: it has run by then
    b"(S'true'\nios\nsystem\n.", b"\x80\x04\x8c\x02os\x94\x8c\x06system\x94h\0h\1\x93\x8c\x01x\x85R.", b"\x80\x04S'o\\x73'\nS'system'\n\x93)R.",
    b"\x80\x04Vo\\u0073\nVsystem\n\x93)R.", b"\x80\x02c__builtin__\neval\n)R.", b"\x80\x04\x8c\x13torch.serialization\x8c\x09os.system\x93)R.",
    b"\x80\x04cbuiltins\nstr\n)R\x8c\x06system\x93)R.",  # the module's name is computed
    b"\x80\x02cwebbrowser\nopen\n)R.", b"\x80\x02cnumpy.testing._private.utils\nrunstring\n)R.", b"\x80\x02crunpy\nrun_path\n)R.", b"\x80\x02cpip._internal\nmain\n)R.",
], ids=range(14))  # fmt: skip
def test_bad_streams_made_by_hand(tmp_path, data):
    assert ("pickle-import", "error", "x.pkl") in judged(tmp_path, {"x.pkl": data})


def test_bad_behind_an_array_that_joblib_wrote(tmp_path):
    """joblib puts raw arrays into the stream: what comes behind is found by its form."""
    start = b"\x80\x04cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}b"
    assert ("pickle-import", "error", "x") in judged(tmp_path, {"x": start + b"\xff" * 999 + pickle.dumps(Call(os.system, "true"), 4)[11:]})


@pytest.mark.parametrize(
    "value",
    [Colour.RED, {"a": Colour.RED}, functools.partial(int, 2), [1, 2], frozenset((1,)), b"os.system", "cos\nsystem\n", ("os", "system")],
)
def test_good_imports(tmp_path, value):
    found = problems(tmp_path, {f"{n}.pkl": pickle.dumps(value, n) for n in range(6)})
    assert {p.kind for p in found} <= {"pickle"}


@pytest.mark.parametrize("name", ["torch._utils\n_rebuild_tensor_v2", "collections\nOrderedDict", "torch\nFloatStorage", "numpy.core.multiarray\n_reconstruct",
                                  "transformers.training_args\nTrainingArguments", "__builtin__\nset", "copy_reg\n_reconstructor", "builtins\ngetattr", "pathlib\nPosixPath",
                                  "code.model\nNet", "trace.utils\nFoo", "uuid\nUUID", "mypackage.eval.metrics\nScore", "torch.storage\n_load_from_bytes"])  # fmt: skip
def test_good_imports_of_models(tmp_path, name):
    data = b"\x80\x02c" + name.encode().replace(b"\\n", b"\n") + b"\n)R."
    assert {p.kind for p in problems(tmp_path, {"m.bin": data})} == {"pickle"}
