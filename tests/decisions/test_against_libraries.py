"""The report's figures against scikit-learn's and scipy's, to 1e-9, over generated runs. Both live in an environment of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from decision_rows import two_runs

from hubrelease.decisions.report import compare

pytestmark = [pytest.mark.heavy, pytest.mark.xdist_group("decision-libraries")]
PACKAGES = ("scipy==1.17.1", "scikit-learn==1.9.1")
NEAR = {"abs": 1e-9, "rel": 1e-9}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("libraries") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"scipy and scikit-learn can't be installed here: {done.stderr.strip().splitlines()[-1]}")
    return folder / "bin" / "python"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_figures_are_theirs(python: Path, tmp_path: Path, seed: int) -> None:
    files = two_runs(tmp_path, 3000, seed)
    done = subprocess.run([python, Path(__file__).with_name("their_figures.py"), *files], capture_output=True, text=True, check=True)
    theirs: dict[str, Any] = json.loads(done.stdout)
    ours = compare(*files)
    for side in ("baseline", "candidate"):
        flat = {**ours[side], **ours[side]["latency"]}
        assert {key: flat[key] for key in theirs[side]} == pytest.approx(theirs[side], **NEAR)
    assert ours["comparison"]["mcnemarP"] == pytest.approx(theirs["mcnemarP"], rel=1e-9, abs=0)
    assert {key: ours["probabilityDifferences"][key] for key in theirs["apart"]} == pytest.approx(theirs["apart"], **NEAR)
    low_and_high = ours["comparison"]["intervals"]["latencyMs"]["difference"]  # other random numbers: equal within their noise
    assert low_and_high == pytest.approx(theirs["interval"], abs=0.3 * theirs["standardError"])
