"""The PNGs themselves, drawn in an environment with matplotlib: equal bytes, no metadata, transparent, hostile labels."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from decision_rows import two_runs
from specs import MINIMAL, folder, local
from test_plots import LATENCY, RECOVERY, RELIABILITY, SCORES, THROUGHPUT

from hubrelease.decisions.report import compare

pytestmark = [pytest.mark.heavy, pytest.mark.xdist_group("plots")]
SOURCE = Path(__file__).parents[2] / "src"
PROGRAM = """
import hashlib, json, sys
from pathlib import Path
import hubrelease
from hubrelease.errors import ReleaseError
from hubrelease.facts import Facts
from hubrelease.lock import Lock
from hubrelease.plots import pictures
root = Path(sys.argv[1])
receipts = {f"benchmarks/{name}": json.loads((root / name).read_text()) for name in ("s.json", "d.json")}
try:
    made = pictures(Facts(hubrelease.load_spec(root), Lock(), receipts, None))
except ReleaseError as error:
    print(json.dumps({"refused": [p.code + " " + p.message for p in error.problems]}))
else:
    for path, data in made.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(data)
    print(json.dumps({path: hashlib.sha256(data).hexdigest() for path, data in made.items()}))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plots") / "venv"
    subprocess.run([sys.executable, "-m", "venv", root], check=True)
    command = [root / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "matplotlib>=3.10,<3.12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"matplotlib can't be installed here: {done.stderr.strip().splitlines()[-1]}")
    return root / "bin" / "python"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return compare(*two_runs(tmp_path_factory.mktemp("runs"), 300))


def drawn(python: Path, root: Path, plots: list[Any], report: dict[str, Any], **env: str) -> dict[str, Any]:
    """{path: digest} of what another process drew, or what it refused."""
    asked = {**MINIMAL, "benchmarks": [{"receipt": "s.json"}, {"receipt": "d.json"}], "card": {"plots": plots}}
    folder(root, asked, s__json=SCORES, d__json=report)
    path = os.pathsep.join((str(SOURCE), sysconfig.get_paths()["purelib"]))
    words = [python, "-W", "error", "-c", PROGRAM, root]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_build_makes_them_and_the_provenance_lists_them(python: Path, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "s.json").write_text(json.dumps(SCORES))
    root = local(tmp_path / "p", benchmarks=[{"receipt": "s.json", "kind": "plain"}], card={"plots": [RECOVERY]})
    path = os.pathsep.join((str(SOURCE), sysconfig.get_paths()["purelib"]))
    words = [python, "-m", "hubrelease", "build", root, "--out", tmp_path / "out", "--json"]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = {s["name"]: s for s in json.loads((tmp_path / "out" / "MODEL_PROVENANCE.json").read_bytes())["subject"]}
    data = (tmp_path / "out" / RECOVERY["file"]).read_bytes()
    assert listed[RECOVERY["file"]]["digest"]["sha256"] == hashlib.sha256(data).hexdigest()


def chunks(data: bytes) -> Iterator[tuple[str, bytes]]:
    at = 8
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind.decode(), data[at + 8 : at + 8 + size]
        at += 12 + size


def test_the_same_bytes_whoever_draws_them_and_when(python: Path, tmp_path: Path, report: dict[str, Any]) -> None:
    plots = [RECOVERY, THROUGHPUT, LATENCY, RELIABILITY]
    rc = tmp_path / "rc"
    rc.mkdir()
    (rc / "matplotlibrc").write_text("font.family: serif\nlines.linewidth: 9\nsavefig.facecolor: red\nbackend: svg\ntext.usetex: True\n")
    first = drawn(python, tmp_path / "a", plots, report)
    second = drawn(
        python, tmp_path / "b", plots, report, MPLCONFIGDIR=str(rc), SOURCE_DATE_EPOCH="1", TZ="Asia/Seoul", LC_ALL="C", PYTHONHASHSEED="7"
    )
    assert first == second
    assert len(set(first.values())) == 4


def test_no_words_in_the_bytes_and_a_transparent_background(python: Path, tmp_path: Path, report: dict[str, Any]) -> None:
    drawn(python, tmp_path, [LATENCY], report)
    found = list(chunks((tmp_path / "assets" / "latency.png").read_bytes()))
    assert {kind for kind, _ in found} == {"IHDR", "pHYs", "IDAT", "IEND"}
    width, height, depth, colours = struct.unpack_from(">IIBB", found[0][1])
    assert (width, depth, colours) == (1600, 8, 6)  # with an alpha channel
    assert 800 < height < 1600


@pytest.mark.parametrize(
    "label",
    [
        "$\\frac{1}{",
        "$x$ $",
        "\\includegraphics{x}",
        "<script>alert(1)</script>",
        "_no legend",
        "{}%s%",
        "a" * 120,
        "Long words of a title or a label " * 3,
    ],
)
def test_a_label_is_text_whatever_it_holds(python: Path, tmp_path: Path, report: dict[str, Any], label: str) -> None:
    odd = [
        RECOVERY | {"title": label, "bars": [RECOVERY["bars"][0] | {"label": label}]},
        THROUGHPUT | {"series": [THROUGHPUT["series"][0] | {"label": label}]},
    ]
    assert len(drawn(python, tmp_path, odd, report)) == 2


def test_letters_that_the_font_lacks_are_refused(python: Path, tmp_path: Path, report: dict[str, Any]) -> None:
    (found,) = drawn(python, tmp_path, [RECOVERY | {"title": "회복률"}], report)["refused"]
    assert found.startswith("HR606 the font of plots has no 률, 복, 회")


LETTERS = """
from matplotlib.font_manager import get_font
from hubrelease.plots import letters, style
print([hex(code) for code in get_font(style.font()).get_charmap() if letters.NEVER.match(chr(code))])
"""


def test_the_font_has_none_of_the_letters_that_check_refuses_without_it(python: Path) -> None:
    path = os.pathsep.join((str(SOURCE), sysconfig.get_paths()["purelib"]))
    done = subprocess.run([python, "-c", LETTERS], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
